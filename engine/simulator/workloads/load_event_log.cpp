// weft's own event logs (docs/formats/journal.md).
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "base/config.hpp"
#include "base/text.hpp"
#include "engine/simulator/workloads/event_log_line.hpp"
#include "engine/simulator/workloads/recording.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::simulator::workloads {

namespace {

struct LoggedTask {
  std::map<std::uint32_t, Time> started;  // by attempt
  std::optional<Time> duration;           // of the first attempt that finished
  std::vector<StageSpec::Failure> failures;
  std::uint32_t partitions = 1;
  bool finished = false;
};

struct StageLog {
  LoggedStage plan;
  std::vector<std::uint32_t> barriers;  // stages whose results the driver had waited for before it planned this one
  std::vector<LoggedTask> tasks;
  std::uint64_t input_bytes = 0;
  std::vector<std::uint64_t> partition_bytes;  // over all maps
  bool merged = false;                         // tasks that read several partitions
  bool complete() const {
    return std::all_of(tasks.begin(), tasks.end(), [](const LoggedTask& task) { return task.finished; });
  }
};

struct JobLog {
  JobSpec spec;
  schedulers::Resources demand;
  Time submitted{0};
  std::optional<Time> planned;
  Time last_end{0};
  std::map<std::uint32_t, StageLog> stages;
  std::vector<std::uint32_t> targets;  // of the plan part before
};

class EventLogReader {
 public:
  explicit EventLogReader(Lines lines) : lines_(std::move(lines)) {}

  Result<Recording> read() {
    for (;;) {
      WEFT_ASSIGN(const bool more, lines_.next());
      if (!more) break;
      if (trim(lines_.line()).empty()) continue;
      WEFT_ASSIGN(const LoggedEvent event, parse_event(lines_));
      WEFT_TRY(apply(event));
    }
    return finish();
  }

 private:
  Result<void> apply(const LoggedEvent& event) {
    if (event.event == "log_started") return started(event);
    if (event.event == "scheduler_configured") recording_.scheduler = event.scheduler;
    if (event.event == "worker_joined") return joined(event);
    if (event.event == "worker_lost") return lost(event);
    if (event.event == "job_submitted") return submitted(event);
    if (event.event == "plan_extended") return planned(event);
    if (event.event == "task_launched" || event.event == "task_started" || event.event == "task_finished" ||
        event.event == "task_failed")
      return task(event);
    return {};
  }

  /// Another run of the master, with other workers, and times and numbers that begin anew.
  Result<void> started(const LoggedEvent& event) {
    earlier_ += jobs_.size();
    jobs_.clear();
    recording_.nodes.clear();
    node_of_.clear();
    recording_.scheduler = event.scheduler;
    return {};
  }

  Result<void> joined(const LoggedEvent& event) {
    auto& nodes = recording_.nodes;
    const auto same = std::find_if(nodes.begin(), nodes.end(), [&](const RecordedNode& node) { return node.name == event.name; });
    node_of_[event.node] = static_cast<std::size_t>(same - nodes.begin());
    if (same == nodes.end()) {
      nodes.push_back({event.name, event.host, event.rack, event.capacity, event.attributes, {{Time{0}, event.at}}});
    } else if (!same->absences.empty() && !same->absences.back().until) {
      same->absences.back().until = event.at;
    }
    return {};
  }

  Result<void> lost(const LoggedEvent& event) {
    const auto found = node_of_.find(event.node);
    if (found == node_of_.end()) return fail(lines_.error(fmt::format("node {} did not join before", event.node)));
    recording_.nodes[found->second].absences.push_back({event.at, std::nullopt});
    node_of_.erase(found);
    return {};
  }

  Result<void> submitted(const LoggedEvent& event) {
    const auto [at, added] = jobs_.emplace(event.job, JobLog{});
    if (!added) return fail(lines_.error(fmt::format("job {} was submitted twice: the log holds two runs of a master", event.job)));
    if (jobs_.size() > kMaxJobs) return fail(lines_.error(fmt::format("more than {} jobs", kMaxJobs)));
    JobSpec& spec = at->second.spec;
    spec.name = fmt::format("{} {}", event.job, event.name);
    spec.user = event.user, spec.pool = event.pool, spec.priority = event.priority, spec.deadline = event.deadline;
    spec.hints.weight = event.weight;
    spec.arrival = at->second.submitted = event.at;
    if (event.max_attempts > 0) spec.max_attempts = event.max_attempts;
    spec.shuffle_replicas = event.shuffle_replicas;
    at->second.demand = event.demand;
    return {};
  }

  Result<JobLog*> job(const LoggedEvent& event) {
    const auto found = jobs_.find(event.job);
    if (found == jobs_.end()) return fail(lines_.error(fmt::format("job {} was not submitted before", event.job)));
    return &found->second;
  }

  Result<void> planned(const LoggedEvent& event) {
    WEFT_ASSIGN(JobLog * job, this->job(event));
    if (!job->planned) job->planned = event.at;
    std::vector<std::uint32_t> barriers;
    for (const std::uint32_t target : job->targets) {
      if (job->stages.at(target).complete()) barriers.push_back(target);
    }
    for (const LoggedStage& stage : event.stages) {
      if (stage.tasks > kMaxTasks || job->stages.size() == kMaxStages) return fail(lines_.error("too many stages or tasks"));
      for (const std::uint32_t input : stage.inputs) {
        if (input >= stage.id || !job->stages.contains(input)) {
          return fail(lines_.error(fmt::format("stage {} reads a shuffle of stage {}, which is no earlier one", stage.id, input)));
        }
      }
      const auto [at, added] =
          job->stages.emplace(stage.id, StageLog{stage, barriers, std::vector<LoggedTask>(stage.tasks), 0, {}, false});
      if (!added) return fail(lines_.error(fmt::format("stage {} was planned twice", stage.id)));
    }
    for (const std::uint32_t target : event.targets) {
      if (!job->stages.contains(target)) return fail(lines_.error(fmt::format("target {} is no stage", target)));
    }
    job->targets = event.targets;
    return {};
  }

  Result<void> task(const LoggedEvent& event) {
    WEFT_ASSIGN(JobLog * job, this->job(event));
    const auto found = job->stages.find(event.stage);
    if (found == job->stages.end()) return fail(lines_.error(fmt::format("stage {} was not planned before", event.stage)));
    StageLog& stage = found->second;
    if (event.task >= stage.tasks.size()) {  // pieces of hot partitions come after the tasks of the plan
      if (event.task > kMaxTasks) return fail(lines_.error("a task number too large"));
      stage.tasks.resize(event.task + 1);
    }
    if (stage.tasks[event.task].partitions < event.partitions) {  // it stands for several of the plan
      const std::uint32_t more = event.partitions - std::exchange(stage.tasks[event.task].partitions, event.partitions);
      const std::size_t left = stage.tasks.size() - std::min<std::size_t>(stage.tasks.size(), more);
      if (left <= event.task) return fail(lines_.error(fmt::format("task {} reads more partitions than there are", event.task)));
      stage.tasks.resize(left);
      stage.merged = true;
    }
    LoggedTask& task = stage.tasks[event.task];
    if (event.event == "task_failed") return failed(event, task);
    if (event.event != "task_finished") {
      task.started.emplace(event.attempt, event.at);  // the launch comes first, and takes the slot
      return {};
    }
    if (task.finished) return {};  // its output was lost, and made again
    task.finished = true;
    const auto started = task.started.find(event.attempt);
    if (started != task.started.end()) task.duration = event.at - started->second;
    task.started.clear();
    job->last_end = event.at;
    stage.input_bytes += event.input_bytes;
    stage.partition_bytes.resize(std::max(stage.partition_bytes.size(), event.partition_bytes.size()));
    for (std::size_t i = 0; i < event.partition_bytes.size(); ++i) stage.partition_bytes[i] += event.partition_bytes[i];
    return {};
  }

  /// What was stopped, or lacked an input that was lost, did not fail by itself.
  static Result<void> failed(const LoggedEvent& event, LoggedTask& task) {
    const auto started = task.started.find(event.attempt);
    if (started == task.started.end() || event.kind == "killed" || event.kind == "fetch_failed") return {};
    task.failures.push_back({std::max(Time{0}, event.at - started->second), event.kind == "environment"});
    task.started.erase(started);
    return {};
  }

  Result<Recording> finish();
  void keep_order();
  void place_absences(Time origin, Time end);
  void add_job(JobLog& log);
  StageSpec to_spec(const JobLog& job, const StageLog& log);

  Lines lines_;
  std::map<std::uint64_t, JobLog> jobs_;
  std::map<std::uint32_t, std::size_t> node_of_;  // positions of those that are there, by their present number
  Recording recording_;
  std::size_t earlier_ = 0, unknown_ = 0, cut_ = 0, merged_ = 0, empty_ = 0;
};

/// Everything but the parents.
StageSpec EventLogReader::to_spec(const JobLog& job, const StageLog& log) {
  StageSpec spec;
  spec.name = log.plan.name;
  spec.tasks = static_cast<std::uint32_t>(log.tasks.size());
  spec.demand = log.plan.demand == schedulers::Resources{} ? job.demand : log.plan.demand;
  spec.estimate = log.plan.estimate;  // 0, not known: a scheduler is not told what it was not told then
  Time sum{0};
  std::int64_t known = 0;
  for (const LoggedTask& task : log.tasks) {
    if (task.duration) sum += *task.duration, ++known;
  }
  spec.duration = known > 0 ? sum / known : Time{0};
  unknown_ += log.tasks.size() - static_cast<std::size_t>(known);
  for (std::uint32_t i = 0; i < log.tasks.size(); ++i) {
    spec.durations.push_back(std::max(Time{0}, log.tasks[i].duration.value_or(spec.duration)));
    if (!log.tasks[i].failures.empty()) spec.failures[i] = log.tasks[i].failures;
  }
  const bool placed =
      std::any_of(log.plan.splits.begin(), log.plan.splits.end(), [](const auto& split) { return !split.hosts.empty(); });
  if (placed) spec.hosts.resize(spec.tasks);
  for (const LoggedSplit& split : log.plan.splits) {
    spec.input_bytes += split.bytes;
    if (placed && split.task < spec.tasks) spec.hosts[split.task] = split.hosts;
  }
  if (!log.plan.splits.empty() && log.input_bytes > 0) spec.input_bytes = log.input_bytes;
  for (const std::uint64_t bytes : log.partition_bytes) {
    spec.shuffle_bytes += bytes;
    spec.partition_weights.push_back(static_cast<double>(bytes));
  }
  if (spec.shuffle_bytes == 0) spec.partition_weights.clear();
  return spec;
}

void EventLogReader::add_job(JobLog& log) {
  std::map<std::uint32_t, std::uint32_t> positions;               // of stages that ran
  std::map<std::uint32_t, std::vector<std::uint32_t>> inherited;  // of those that did not: what they waited for
  bool complete = true;
  for (const auto& [id, stage] : log.stages) {
    std::set<std::uint32_t> parents;
    const auto add = [&](std::uint32_t parent) {
      if (const auto ran = positions.find(parent); ran != positions.end()) {
        parents.insert(ran->second);
      } else {
        parents.insert(inherited[parent].begin(), inherited[parent].end());
      }
    };
    for (const std::uint32_t input : stage.plan.inputs) add(input);
    for (const std::uint32_t barrier : stage.barriers) add(barrier);
    const bool ran = std::any_of(stage.tasks.begin(), stage.tasks.end(), [](const LoggedTask& task) { return task.finished; });
    if (!ran) {
      inherited[id].assign(parents.begin(), parents.end());
      continue;
    }
    complete = complete && stage.complete();
    if (stage.tasks.size() > stage.plan.tasks) ++cut_;
    if (stage.merged) ++merged_;
    positions[id] = static_cast<std::uint32_t>(log.spec.stages.size());
    log.spec.stages.push_back(to_spec(log, stage));
    log.spec.stages.back().parents.assign(parents.begin(), parents.end());
  }
  if (log.spec.stages.empty()) {
    ++empty_;
    return;
  }
  for (const StageSpec& stage : log.spec.stages) {  // weights are of use where the reader has a task for each
    for (const std::uint32_t parent : stage.parents) {
      auto& weights = log.spec.stages[parent].partition_weights;
      if (weights.size() != stage.tasks) weights.clear();
    }
  }
  log.spec.arrival = log.planned.value_or(log.spec.arrival);
  recording_.jobs.push_back({log.spec.arrival, complete ? std::optional(log.last_end) : std::nullopt});
  recording_.workload.jobs.push_back(std::move(log.spec));
}

/// Drivers that began at the same moment plan in any order; schedulers went by that of their submissions.
void EventLogReader::keep_order() {
  constexpr Time kSameMoment = std::chrono::milliseconds(1), kNearly = std::chrono::milliseconds(100);
  std::vector<JobLog*> order;
  for (auto& [id, log] : jobs_) {
    if (log.planned) order.push_back(&log);
  }
  std::stable_sort(order.begin(), order.end(), [](const JobLog* a, const JobLog* b) { return a->submitted < b->submitted; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    const JobLog& before = *order[i - 1];
    Time& planned = *order[i]->planned;
    if (order[i]->submitted - before.submitted > kSameMoment || *before.planned - planned > kNearly) continue;
    planned = std::max(planned, *before.planned);
  }
}

/// Of absences those that tasks could notice: not after the last of them, when a cluster is taken down.
void EventLogReader::place_absences(Time origin, Time end) {
  for (RecordedNode& node : recording_.nodes) {
    std::erase_if(node.absences,
                  [&](const Absence& absence) { return absence.from >= end || (absence.until && *absence.until <= origin); });
    for (Absence& absence : node.absences) {
      absence.from = std::max(Time{0}, absence.from - origin);
      if (absence.until) *absence.until -= origin;
    }
  }
}

Result<Recording> EventLogReader::finish() {
  keep_order();
  Time last{0};
  for (const auto& [id, log] : jobs_) last = std::max(last, log.last_end);
  for (auto& [id, log] : jobs_) add_job(log);
  auto& workload = recording_.workload;
  if (workload.jobs.empty()) return fail(lines_.error("the log holds no job of which a task ended"));
  std::vector<std::size_t> order(workload.jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return workload.jobs[a].arrival < workload.jobs[b].arrival; });
  const Time origin = workload.jobs[order.front()].arrival;
  std::vector<JobSpec> specs;
  std::vector<RecordedJob> outcomes;
  for (const std::size_t i : order) {
    specs.push_back(std::move(workload.jobs[i]));
    specs.back().arrival -= origin;
    if (specs.back().deadline) *specs.back().deadline = std::max(Time{0}, *specs.back().deadline - origin - specs.back().arrival);
    outcomes.push_back(recording_.jobs[i]);
    outcomes.back().submitted -= origin;
    if (outcomes.back().ended) *outcomes.back().ended -= origin;
  }
  workload.jobs = std::move(specs);
  recording_.jobs = std::move(outcomes);
  place_absences(origin, last);
  for (const RecordedNode& node : recording_.nodes) workload.hosts.push_back({node.host, node.rack});
  if (earlier_ > 0) workload.notes.push_back(fmt::format("{} jobs of earlier runs of the master are left out", earlier_));
  if (empty_ > 0) workload.notes.push_back(fmt::format("{} jobs without a finished task are left out", empty_));
  if (unknown_ > 0) workload.notes.push_back(fmt::format("{} tasks without a known time take the mean of their stage", unknown_));
  if (cut_ > 0)
    workload.notes.push_back(fmt::format("{} stages had hot partitions cut: replayed with as many tasks, cut evenly", cut_));
  if (merged_ > 0)
    workload.notes.push_back(
        fmt::format("{} stages had small partitions merged: replayed with as many tasks, their input cut evenly", merged_));
  return std::move(recording_);
}

}  // namespace

Time Recording::makespan() const {
  Time last{0};
  for (const RecordedJob& job : jobs) last = std::max(last, job.ended.value_or(Time{0}));
  return last;
}

Result<Recording> read_event_log(const std::string& path) {
  WEFT_ASSIGN(Lines lines, Lines::open(path, 256u << 20));
  return EventLogReader(std::move(lines)).read();
}

Result<Workload> load_event_log(const std::string& path, const Settings& settings, const Context&) {
  Config config;
  for (const auto& setting : settings) WEFT_TRY(config.set(setting));
  WEFT_ASSIGN(Recording recording, read_event_log(path));
  return std::move(recording.workload);
}

}  // namespace weft::simulator::workloads
