#include "engine/master/core.hpp"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "engine/master/core_impl.hpp"
#include "schedulers/prediction/size_prediction.hpp"

namespace weft::master {

Core::Core(std::unique_ptr<schedulers::Scheduler> scheduler, CoreOptions options, SchedulerFactory factory)
    : impl_(std::make_unique<Impl>(std::move(scheduler), options, std::move(factory))) {}
Core::~Core() = default;

void Core::restore(Time now, std::vector<JobStatus> ended) { impl_->restore(now, std::move(ended)); }
Result<void> Core::apply(Time now, Event event, std::vector<Command>& commands) {
  return impl_->apply(now, std::move(event), commands);
}
Result<JobStatus> Core::job(JobId id, bool predict) const { return impl_->job(id, predict); }
std::vector<JobStatus> Core::jobs() const { return impl_->jobs(); }
Result<JobExplanation> Core::explain(JobId id) const { return impl_->explain(id); }
const schedulers::ClusterView& Core::view() const { return impl_->view(); }
const SchedulerFaults& Core::scheduler_faults() const { return impl_->scheduler_faults(); }
const SchedulerConfigured& Core::configuration() const { return impl_->configuration(); }
Result<std::vector<schedulers::GroupStatus>> Core::groups() const { return impl_->groups(); }

Core::Impl::Impl(std::unique_ptr<schedulers::Scheduler> scheduler, CoreOptions options, SchedulerFactory factory)
    : scheduler_(std::move(scheduler)), factory_(std::move(factory)), options_(options), speculation_(options.speculation) {
  state_.set_heartbeat(options.heartbeat);
  start_scheduler();
}

Result<void> Core::Impl::apply(Time now, Event event, std::vector<Command>& commands) {
  const Time before = state_.now();
  state_.set_now(std::max(before, now));
  commands_ = &commands;
  heartbeat_.reset();
  step_ = false;
  Result<void> applied = std::visit([this](auto&& alternative) { return on(std::move(alternative)); }, std::move(event));
  if (applied) {
    while (!doomed_.empty()) {
      auto [id, error] = std::move(*doomed_.begin());
      doomed_.erase(doomed_.begin());
      if (auto job = jobs_.find(id); job != jobs_.end()) end_job(job->second, JobState::failed, &error);
    }
    run_scheduler();
    decide_units();
  } else {
    state_.set_now(before);
  }
  commands_ = nullptr;
  return applied;
}

void Core::Impl::restore(Time now, std::vector<JobStatus> ended) {
  state_.set_now(now);
  for (JobStatus& job : ended) remember(std::move(job));
}

void Core::Impl::trigger_node(NodeId node) {
  if (triggered_ && *triggered_ != node) work_ = true;
  triggered_ = node;
}

void Core::Impl::set_timer(Timer::Purpose purpose, NodeId node, Time at, JobId job) {
  const std::uint64_t id = next_timer_++;
  timers_[id] = {purpose, node, at, job};
  if (purpose == Timer::Purpose::scheduler) wakes_.insert(at);
  emit(SetTimer{id, at});
}

JobStatus Core::Impl::status_of(const JobRecord& job, bool with_stages) const {
  JobStatus status;
  status.id = job.spec.job;
  status.name = job.spec.name;
  status.user = job.spec.user;
  status.pool = job.spec.pool;
  status.submitted = job.info->submitted;
  status.deadline = job.info->deadline;
  status.priority = job.info->priority;
  status.shuffle_replicas = job.spec.shuffle_replicas;
  status.counters = job.counters;
  status.shuffle_bytes = job.shuffle_bytes;
  status.input_bytes = job.input_bytes;
  status.input_records = job.input_records;
  status.lost_workers = job.lost_workers;
  status.workers_lost = job.workers_lost;
  if (!with_stages) return status;
  for (const auto& [id, stage] : job.stages) {
    const schedulers::StageInfo& info = *stage.info;
    StageStatus& out = status.stages.emplace_back();
    out.id = id;
    out.name = stage.plan.name;
    out.tasks = static_cast<std::uint32_t>(info.tasks.size());
    out.finished = info.finished;
    out.running = info.running;
    out.failed_attempts = info.failed_attempts;
    out.input_bytes = stage.input_bytes;
    out.shuffle_bytes = stage.shuffle_bytes;
    out.speculative = stage.speculative;
    out.speculative_won = stage.speculative_won;
    const PrefetchBudget::Standing units = units_.standing({job.spec.job, id});
    out.rounds_deferred = units.rounds;
    out.bytes_deferred = units.bytes;
    out.rounds_evicted = units.evicted;
    out.rounds_returned = units.returned;
    out.speculating = static_cast<std::uint32_t>(info.speculative.size());
    out.replicas = stage.copies.there();
    out.replicas_abandoned = stage.copies.left;
    out.replicas_used = stage.copies.used;
    out.waiting = stage.active && !info.ready;
    if (out.waiting) {
      out.reason = "its inputs are not complete";
    } else if (!info.pending.empty()) {
      const auto& held = why_held(job, stage);
      out.reason = held ? held->text : room_for(info.demand);
    }
  }
  return status;
}

void Core::Impl::add_predictions(const JobRecord& job, JobStatus& status) {
  for (StageStatus& out : status.stages) {
    const schedulers::StageInfo& stage = *job.stages.at(out.id).info;
    if (!stage.writes_shuffle || stage.complete()) continue;
    const auto sizes = schedulers::predict_partitions(stage);
    if (!sizes || sizes->empty()) continue;
    out.predicted_shuffle_bytes = static_cast<std::uint64_t>(std::accumulate(sizes->begin(), sizes->end(), 0.0));
    out.predicted_largest_partition = static_cast<std::uint64_t>(*std::max_element(sizes->begin(), sizes->end()));
  }
}

Result<JobStatus> Core::Impl::job(JobId id, bool predict) const {
  if (auto job = jobs_.find(id); job != jobs_.end()) {
    JobStatus status = status_of(job->second, true);
    if (predict) add_predictions(job->second, status);
    return status;
  }
  if (auto ended = ended_.find(id); ended != ended_.end()) return ended->second;
  return fail(Code::not_found, fmt::format("there is no job {}", id.value()));
}

std::vector<JobStatus> Core::Impl::jobs() const {
  std::vector<JobStatus> all;
  for (const auto& [id, status] : ended_) {
    all.push_back(status);
    all.back().stages.clear();
  }
  for (const auto& [id, job] : jobs_) all.push_back(status_of(job, false));
  std::sort(all.begin(), all.end(), [](const JobStatus& a, const JobStatus& b) { return a.id < b.id; });
  return all;
}

}  // namespace weft::master
