// Jobs and their plans: submission, extension, actions, and the ends a job can have.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "engine/master/core/coordinator.hpp"
#include "engine/master/core/job_reports.hpp"

namespace weft::master {

namespace {

std::vector<StageId> inputs_of(const plan::Stage& stage) {
  std::vector<StageId> inputs;
  for (const auto& branch : stage.branches) {
    for (ShuffleId input : branch.partitioned) inputs.emplace_back(input.value());
    for (ShuffleId input : branch.broadcast) inputs.emplace_back(input.value());
  }
  std::sort(inputs.begin(), inputs.end());
  inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  return inputs;
}

/// What set_hint() would refuse may come from another shell.
Result<void> check_hints(const schedulers::JobHints& hints) {
  schedulers::JobHints ignored;
  Time deadline{0};
  return schedulers::set_hints(schedulers::hint_texts(hints), ignored, deadline);
}

Result<void> check_profiles(const PlanExtended& event) {
  if (event.profiles.empty()) return {};
  if (event.profiles.size() != event.part.stages.size())
    return fail(Code::invalid_argument, "profiles come with all stages of a part, or with none");
  for (std::size_t i = 0; i < event.profiles.size(); ++i) {
    if (event.profiles[i] && !schedulers::valid(*event.profiles[i]))
      return fail(Code::invalid_argument,
                  fmt::format("{}: its profile must be finite and not negative", event.part.stages[i].name));
  }
  return {};
}

}  // namespace

Result<void> Core::Impl::on(JobSubmitted event) {
  if (context_.jobs.running().contains(event.job) || context_.jobs.ended().contains(event.job)) {
    return fail(Code::already_exists, fmt::format("there is a job {} already", event.job.value()));
  }
  const JobOptions& options = event.options;
  if (!schedulers::valid(options.demand)) return fail(Code::invalid_argument, "a job's demand must be finite and not negative");
  if (options.max_attempts == 0 || options.max_attempts > kMostAttempts)
    return fail(Code::invalid_argument, fmt::format("a task has 1 to {} attempts, not {}", kMostAttempts, options.max_attempts));
  if (const std::uint32_t replicas = options.shuffle_replicas.value_or(1); replicas != 1 && replicas != 2)
    return fail(Code::invalid_argument, fmt::format("map outputs are kept in 1 or 2 copies, not {}", replicas));
  if (options.slow_start && !(*options.slow_start >= 0 && *options.slow_start <= 1))
    return fail(Code::invalid_argument, "the part of the maps that must end before reduces start is between 0 and 1");
  if (!(std::isfinite(event.hints.weight) && event.hints.weight > 0))
    return fail(Code::invalid_argument, "a job's weight must be positive");
  WEFT_TRY(check_hints(event.hints));
  schedulers::JobInfo info = info_of(event);
  info.submitted = context_.now();
  WEFT_TRY(context_.scheduler.admit(info));
  const auto slow_start = options.slow_start ? options.slow_start : context_.options.slow_start;
  info.slow_start = slow_start ? *slow_start : context_.scheduler.slow_start(info);
  add_job(std::move(event), std::move(info));
  return {};
}

schedulers::JobInfo Core::Impl::info_of(const JobSubmitted& event) {
  const JobOptions& options = event.options;
  schedulers::JobInfo info;
  info.id = event.job;
  info.name = event.name;
  info.user = options.user;
  info.pool = options.pool;
  info.priority = options.priority;
  info.deadline = event.deadline;
  info.demand = options.demand;
  if (info.demand.cpu == 0) info.demand.cpu = 1;
  info.hints = event.hints;
  info.speculates = options.speculate == Switch::on;
  return info;
}

JobRecord& Core::Impl::add_job(JobSubmitted event, schedulers::JobInfo info) {
  JobRecord& job = context_.jobs.running()[event.job];
  job.info = &context_.view.add_job(std::move(info));
  job.spec = std::move(event);
  context_.scheduler.notify({.kind = schedulers::Notice::Kind::job_arrived, .job = job.spec.job});
  return job;
}

Result<void> Core::Impl::on(PlanExtended event) {
  WEFT_ASSIGN(JobRecord * job, context_.jobs.find(event.job));
  std::vector<const plan::Stage*> known;
  for (const auto& [id, stage] : job->stages) known.push_back(&stage.plan);
  WEFT_TRY(plan::validate(event.part, known));
  if (job->seen_actions.contains(event.part.action)) {
    return fail(Code::already_exists, fmt::format("action {} was submitted before", event.part.action.value()));
  }
  for (const auto& stage : event.part.stages) {
    if (!schedulers::valid(stage.demand))
      return fail(Code::invalid_argument, fmt::format("{}: its demand is not a number of resources", stage.name));
    if (stage.estimated_task_duration < Time(0) || !(stage.estimated_output_ratio >= 0 && stage.estimated_output_ratio <= 1e300))
      return fail(Code::invalid_argument, fmt::format("{}: its estimates must be finite and not negative", stage.name));
  }
  WEFT_TRY(check_profiles(event));
  extend(*job, std::move(event));
  shuffles_.refresh(*job);
  finish_actions(*job);
  if (auto error = oversized_.refusal(*job)) context_.jobs.fail_later(*job, std::move(*error));
  return {};
}

/// The event was checked. What is ready now is for the caller to find out.
void Core::Impl::extend(JobRecord& job, PlanExtended event) {
  std::map<StageId, std::optional<schedulers::StageProfile>> profiles;
  for (std::size_t i = 0; i < event.profiles.size(); ++i) profiles[event.part.stages[i].id] = std::move(event.profiles[i]);
  const ActionId action = event.part.action;
  job.seen_actions.insert(action);
  job.actions[action].targets = event.part.targets;
  std::sort(event.part.stages.begin(), event.part.stages.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  for (auto& stage : event.part.stages) {
    auto profile = std::move(profiles[stage.id]);
    add_stage(job, std::move(stage), std::move(profile));
  }
  for (StageId target : event.part.targets) job.stages.at(target).action = action;
  for (ShuffleId shuffle : event.part.released) {
    job.stages.at(StageId(shuffle.value())).released = true;
    job.release_pending.insert(StageId(shuffle.value()));
  }
}

void Core::Impl::add_stage(JobRecord& job, plan::Stage stage, std::optional<schedulers::StageProfile> profile) {
  const std::uint32_t tasks = stage.task_count();
  schedulers::StageInfo info;
  info.id = stage.id;
  info.name = stage.name;
  info.demand = stage.demand == schedulers::Resources() ? job.info->demand : stage.demand;
  if (info.demand.cpu == 0) info.demand.cpu = job.info->demand.cpu;
  if (stage.estimated_task_duration > Time(0)) info.estimated_duration = stage.estimated_task_duration;
  info.estimated_output_ratio = stage.estimated_output_ratio;
  info.profile = std::move(profile);
  info.variants = stage.variants;
  info.parents = inputs_of(stage);
  info.reads_shuffle = !info.parents.empty();
  info.writes_shuffle = stage.output == plan::OutputKind::shuffle;
  if (info.writes_shuffle) info.output = schedulers::ShuffleSizes(tasks, stage.partitions);

  std::vector<std::vector<schedulers::HostId>> hosts;
  std::vector<std::uint64_t> bytes;
  for (auto& branch : stage.branches) {
    for (std::uint32_t i = 0; i < branch.tasks; ++i) {
      auto& of_task = hosts.emplace_back();
      auto& size = bytes.emplace_back(0);
      if (branch.splits.empty()) continue;
      for (auto& split : branch.splits[i]) {
        size += split.length;
        for (const auto& host : std::exchange(split.hosts, {}))  // from here on the index has them
          of_task.push_back(context_.view.intern_host(host));
      }
    }
    if (!context_.options.keep_splits) std::vector<storage::SplitGroup>().swap(branch.splits);
  }
  StageRecord& record = job.stages[stage.id];
  record.first_attempt = job.first_attempt;
  record.inputs = info.parents;
  record.reads_indeterminate = std::any_of(record.inputs.begin(), record.inputs.end(), [&](StageId id) {
    const StageRecord& input = job.stages.at(id);
    return input.plan.indeterminate || input.reads_indeterminate;
  });
  record.info = &context_.view.add_stage(*job.info, std::move(info), tasks, hosts);
  for (std::uint32_t i = 0; i < tasks; ++i) {
    record.info->tasks[i].input_bytes = bytes[i];
    record.info->tasks[i].attempts = job.first_attempt;
  }
  record.begun.resize(tasks);
  record.counted.resize(tasks);
  if (tasks > 0) job.open.insert(stage.id);
  for (StageId input : record.inputs) {  // read after all
    job.stages.at(input).released = false;
    job.release_pending.erase(input);
  }
  record.plan = std::move(stage);
  context_.scheduler.notify({.kind = schedulers::Notice::Kind::stage_added, .job = job.spec.job, .stage = record.plan.id});
}

void Core::Impl::finish_actions(JobRecord& job) {
  for (auto action = job.actions.begin(); action != job.actions.end();) {
    const auto& targets = action->second.targets;
    const bool done =
        std::all_of(targets.begin(), targets.end(), [&job](StageId id) { return job.stages.at(id).info->complete(); });
    if (!done) {
      ++action;
      continue;
    }
    ActionFinished finished{job.spec.job, action->first, {}};
    for (StageId id : targets) {
      StageRecord& stage = job.stages.at(id);
      stage.results.resize(stage.info->tasks.size());
      finished.results.push_back(std::move(stage.results));
      stage.results.clear();
      stage.action.reset();
    }
    context_.emit(std::move(finished));
    action = job.actions.erase(action);
  }
}

Result<void> Core::Impl::on(const JobClosed& event) {
  WEFT_ASSIGN(JobRecord * job, context_.jobs.find(event.job));
  end_job(*job, JobState::finished, nullptr);
  return {};
}

Result<void> Core::Impl::on(JobKilled event) {
  WEFT_ASSIGN(JobRecord * job, context_.jobs.find(event.job));
  const Error error(Code::cancelled, event.reason.empty() ? std::string("killed") : std::move(event.reason));
  end_job(*job, JobState::killed, &error);
  return {};
}

Result<void> Core::Impl::on(DriverFailed event) {
  WEFT_ASSIGN(JobRecord * job, context_.jobs.find(event.job));
  const Error error(Code::user_code, event.reason.empty() ? std::string("its driver failed") : std::move(event.reason));
  end_job(*job, JobState::failed, &error);
  return {};
}

void Core::Impl::end_job(JobRecord& job, JobState state, const Error* error) {
  const JobId id = job.spec.job;
  const std::string reason = error == nullptr ? "the job is over" : error->to_string();
  for (NodeId node : job.nodes) {
    const auto& running = context_.view.mutable_node(node).running;
    for (auto attempt = running.lower_bound(AttemptId{TaskId{id, StageId(0), 0}, 0});
         attempt != running.end() && attempt->task.job == id;) {
      const AttemptId killed = *attempt++;
      const TaskRef task = attempts_.at(killed);
      attempts_.kill(task, KillCause::job_over, reason);
      attempts_.vacate(task, &StageAttempts::killed);
    }
  }
  JobStatus status = status_of(context_.view, rounds_, job, true);
  for (NodeId node : job.nodes) context_.emit(ReleaseJob{node, id});
  for (auto& [stage_id, stage] : job.stages) replicas_.forget_all(stage);
  if (error != nullptr) {
    context_.emit(JobFailed{id, *error});
  } else {
    context_.emit(JobFinished{id});
  }
  status.state = state;
  status.error = error == nullptr ? "" : error->to_string();
  status.ended = context_.now();
  status.tasks.running = 0;
  for (auto& stage : status.stages) {
    stage.running = stage.speculating = 0;
    stage.waiting = false;
    stage.reason.clear();
  }
  context_.scheduler.notify({.kind = schedulers::Notice::Kind::job_ended, .job = id});
  context_.view.remove_job(id);
  oversized_.forget(id);
  rounds_.drop(id);
  context_.jobs.running().erase(id);
  context_.jobs.remember(std::move(status));
  context_.triggers.note_work();
}

}  // namespace weft::master
