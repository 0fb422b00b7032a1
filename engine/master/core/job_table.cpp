#include "engine/master/core/job_table.hpp"

#include <fmt/format.h>

namespace weft::master {

std::string_view name_of(JobState state) {
  switch (state) {
    case JobState::running:
      return "running";
    case JobState::finished:
      return "finished";
    case JobState::failed:
      return "failed";
    case JobState::killed:
      return "killed";
  }
  return "unknown";
}

std::string StageRecord::title() const {
  return plan.name.empty() ? fmt::format("stage {}", plan.id.value()) : fmt::format("stage {} ({})", plan.id.value(), plan.name);
}

Result<JobRecord*> JobTable::find(JobId id) {
  if (auto found = running_.find(id); found != running_.end()) return &found->second;
  if (auto ended = ended_.find(id); ended != ended_.end())
    return fail(Code::cancelled, fmt::format("job {} is over ({})", id.value(), name_of(ended->second.state)));
  return fail(Code::not_found, fmt::format("there is no job {}", id.value()));
}

void JobTable::remember(JobStatus ended) {
  ended_order_.push_back(ended.id);
  ended_.emplace(ended.id, std::move(ended));
  if (ended_order_.size() <= kept_) return;
  ended_.erase(ended_order_.front());
  ended_order_.pop_front();
}

std::optional<std::pair<JobId, Error>> JobTable::take_failing() {
  if (failing_.empty()) return std::nullopt;
  std::pair<JobId, Error> first = std::move(*failing_.begin());
  failing_.erase(failing_.begin());
  return first;
}

void JobTable::record_reason(JobId job_id, std::optional<StageId> stage_id, std::string_view reason, Time now) {
  const auto job = running_.find(job_id);
  if (job == running_.end()) return;
  std::optional<schedulers::Reason>* held = &job->second.info->held;
  if (stage_id) {
    const auto stage = job->second.stages.find(*stage_id);
    if (stage == job->second.stages.end()) return;
    held = &stage->second.info->held;
  }
  if (!*held) *held = schedulers::Reason{};
  (*held)->at = now;
  if ((*held)->text != reason) (*held)->text = reason;
}

}  // namespace weft::master
