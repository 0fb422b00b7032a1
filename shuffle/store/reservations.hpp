// Memory of a store that is set aside for segments being written, and what segments of a shuffle usually take. Private to the
// store.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "base/ids.hpp"

namespace weft::shuffle {

/// One thread at a time.
class Reservations {
 public:
  /// `overdrawn`: it was given before there was room, since segments of other jobs make way.
  void add(JobId job, std::uint64_t bytes, bool overdrawn);
  void remove(JobId job, std::uint64_t bytes, bool overdrawn);
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t bytes_of(JobId job) const;
  std::uint64_t overdrawn() const { return overdrawn_; }

  /// A segment of the shuffle came or went.
  void segment_came(JobId job, ShuffleId shuffle, std::uint64_t bytes);
  void segment_went(JobId job, ShuffleId shuffle, std::uint64_t bytes);
  /// What the next segment of the shuffle may take: a quarter more than the mean of those that are there; 0: not known.
  std::uint64_t likely_segment(JobId job, ShuffleId shuffle) const;

 private:
  struct Segments {
    std::uint64_t bytes = 0;
    std::uint64_t count = 0;
  };

  std::uint64_t bytes_ = 0, overdrawn_ = 0;
  std::map<JobId, std::uint64_t> by_job_;
  std::map<std::pair<JobId, ShuffleId>, Segments> segments_;
};

}  // namespace weft::shuffle
