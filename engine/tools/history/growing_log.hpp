// The jobs of a log that is being written.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/tools/history/log_follower.hpp"
#include "engine/tools/history/past_jobs.hpp"

namespace weft::history {

/// Reads on at each call. What cannot be read is an error of job(); the other functions return what was read before.
class GrowingLog final : public LoggedJobs {
 public:
  explicit GrowingLog(std::string log) : follower_(std::move(log), EventHistory()) {}

  bool grows() const override { return true; }
  Time now() const override;
  std::vector<master::JobStatus> statuses() const override;
  EventHistory::Workers workers() const override;
  Result<std::shared_ptr<const EventHistory>> job(std::uint64_t id) const override;

 private:
  mutable std::mutex mutex_;  // of what follows
  mutable LogFollower follower_;
  mutable std::shared_ptr<const EventHistory> copy_;  // as it was when it was last asked for
};

}  // namespace weft::history
