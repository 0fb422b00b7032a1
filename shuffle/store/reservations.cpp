#include "shuffle/store/reservations.hpp"

namespace weft::shuffle {

void Reservations::add(JobId job, std::uint64_t bytes, bool overdrawn) {
  bytes_ += bytes;
  by_job_[job] += bytes;
  if (overdrawn) overdrawn_ += bytes;
}

void Reservations::remove(JobId job, std::uint64_t bytes, bool overdrawn) {
  bytes_ -= bytes;
  if (overdrawn) overdrawn_ -= bytes;
  std::uint64_t& of_job = by_job_[job];
  of_job -= bytes;
  if (of_job == 0) by_job_.erase(job);
}

std::uint64_t Reservations::bytes_of(JobId job) const {
  const auto found = by_job_.find(job);
  return found == by_job_.end() ? 0 : found->second;
}

void Reservations::segment_came(JobId job, ShuffleId shuffle, std::uint64_t bytes) {
  Segments& segments = segments_[{job, shuffle}];
  segments.bytes += bytes;
  ++segments.count;
}

void Reservations::segment_went(JobId job, ShuffleId shuffle, std::uint64_t bytes) {
  const auto segments = segments_.find({job, shuffle});
  segments->second.bytes -= bytes;
  if (--segments->second.count == 0) segments_.erase(segments);
}

std::uint64_t Reservations::likely_segment(JobId job, ShuffleId shuffle) const {
  const auto known = segments_.find({job, shuffle});
  if (known == segments_.end()) return 0;
  const std::uint64_t usual = known->second.bytes / known->second.count;
  return usual + usual / 4;
}

}  // namespace weft::shuffle
