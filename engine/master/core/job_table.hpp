// The jobs that the core knows: those that run, with all its records of them, and the latest that have ended.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "engine/master/core/records.hpp"

namespace weft::master {

class JobTable {
 public:
  /// `kept`: how many jobs are remembered after their end.
  explicit JobTable(std::size_t kept) : kept_(kept) {}

  std::map<JobId, JobRecord>& running() { return running_; }
  const std::map<JobId, JobRecord>& running() const { return running_; }
  JobRecord& at(JobId id) { return running_.at(id); }
  /// cancelled for a job that has ended, not_found for one that never was or is forgotten.
  Result<JobRecord*> find(JobId id);

  /// Of a job that is running no more.
  void remember(JobStatus ended);
  const std::map<JobId, JobStatus>& ended() const { return ended_; }

  /// The job fails when the current event has been applied. The first reason counts.
  void fail_later(const JobRecord& job, Error error) { failing_.try_emplace(job.spec.job, std::move(error)); }
  bool failing(JobId id) const { return failing_.contains(id); }
  std::optional<std::pair<JobId, Error>> take_failing();

  /// The job has stages that read what is made again: Rollback looks at it when the current event has been applied.
  void roll_back_later(const JobRecord& job) { rolling_back_.insert(job.spec.job); }
  std::set<JobId> take_rolling_back() { return std::exchange(rolling_back_, {}); }

  /// Why something of the job, or of the stage, does not run, for explain(). No effect on a job or stage that is not there.
  void record_reason(JobId job, std::optional<StageId> stage, std::string_view reason, Time now);

 private:
  const std::size_t kept_;
  std::map<JobId, JobRecord> running_;
  std::map<JobId, JobStatus> ended_;
  std::deque<JobId> ended_order_;
  std::map<JobId, Error> failing_;
  std::set<JobId> rolling_back_;
};

}  // namespace weft::master
