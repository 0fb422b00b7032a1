#include "engine/tools/history/growing_log.hpp"

#include <fmt/core.h>

#include "engine/tools/history/status.hpp"

namespace weft::history {

Time GrowingLog::now() const {
  const std::lock_guard lock(mutex_);
  (void)follower_.read();
  return follower_.history().now();
}

std::vector<master::JobStatus> GrowingLog::statuses() const {
  const std::lock_guard lock(mutex_);
  (void)follower_.read();
  std::vector<master::JobStatus> statuses;
  for (const auto& [id, job] : follower_.history().jobs()) {
    statuses.push_back(status_of(job));
    statuses.back().stages.clear();
  }
  return statuses;
}

EventHistory::Workers GrowingLog::workers() const {
  const std::lock_guard lock(mutex_);
  (void)follower_.read();
  return follower_.history().workers();
}

Result<std::shared_ptr<const EventHistory>> GrowingLog::job(std::uint64_t id) const {
  const std::lock_guard lock(mutex_);
  WEFT_TRY(follower_.read());
  const EventHistory& history = follower_.history();
  if (history.job(id) == nullptr) return fail(Code::not_found, fmt::format("the event log has no job {}", id));
  // Every event has a later time, so the same time means the same history.
  if (!copy_ || copy_->now() != history.now()) copy_ = std::make_shared<const EventHistory>(history);
  return copy_;
}

}  // namespace weft::history
