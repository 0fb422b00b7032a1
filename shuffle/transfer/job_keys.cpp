#include "shuffle/transfer/job_keys.hpp"

#include <fmt/core.h>

namespace weft::shuffle {

std::shared_ptr<const JobKeys> JobKeys::none() {
  auto keys = std::make_shared<JobKeys>();
  keys->demands_ = false;
  return keys;
}

std::uint64_t JobKeys::of(JobId job) const {
  const auto found = keys_.find(job);
  return found == keys_.end() ? 0 : found->second;
}

Result<void> JobKeys::check(const rpc::Connection& peer, JobId job, std::uint64_t shown) const {
  if (!demands_) return {};
  const auto found = keys_.find(job);
  if (found == keys_.end()) return fail(Code::not_found, fmt::format("the worker has nothing of job {}", job.value()));
  const std::uint64_t key = found->second;
  if (key == 0 || shown == key || (shown == 0 && lowest_ < kKeysSince)) return {};
  const std::string why = fmt::format("map outputs of job {} are for workers that know its key", job.value());
  on_refused_(fmt::format("{} is refused: {}", peer.peer(), why));
  if (shown == 0 && peer.protocol().value_or(0) < kKeysSince)
    return fail(Code::unavailable, why + ", and the master has not said that workers of an earlier release are there");
  return fail(Code::permission_denied, why);
}

}  // namespace weft::shuffle
