// Events, and the commands that they cause, as lines of the event log.
#include <algorithm>
#include <set>
#include <type_traits>

#include "engine/master/core/bad_record_check.hpp"
#include "engine/master/log/event_line.hpp"
#include "engine/master/log/event_log.hpp"

namespace weft::master {

namespace {

template <class Ids>
std::vector<std::uint32_t> numbers_of(const Ids& ids) {
  std::vector<std::uint32_t> numbers;
  for (const auto& id : ids) numbers.push_back(id.value());
  return numbers;
}

/// The files that each task reads, and the hosts where they lie: by task, for branches that read files.
std::vector<LoggedSplit> splits_of(const plan::Stage& stage) {
  std::vector<LoggedSplit> splits;
  std::uint32_t first_task = 0;
  for (const auto& branch : stage.branches) {
    for (std::uint32_t i = 0; i < branch.splits.size(); ++i) {
      LoggedSplit& made = splits.emplace_back(LoggedSplit{first_task + i});
      std::set<std::string> hosts;
      for (const auto& split : branch.splits[i]) {
        made.bytes += split.length;
        hosts.insert(split.hosts.begin(), split.hosts.end());
      }
      made.hosts.assign(hosts.begin(), hosts.end());
    }
    first_task += branch.tasks;
  }
  return splits;
}

LoggedStage stage_of(const plan::Stage& stage) {
  LoggedStage made;
  made.id = stage.id.value();
  made.name = stage.name;
  made.tasks = stage.task_count();
  made.output = stage.output == plan::OutputKind::shuffle ? "shuffle" : "result";
  made.partitions = stage.partitions;
  made.operators = stage.operators;
  for (const auto& branch : stage.branches) {
    for (ShuffleId input : branch.partitioned) made.inputs.push_back(input.value());
    for (ShuffleId input : branch.broadcast) made.inputs.push_back(input.value());
    for (ShuffleId input : branch.broadcast) made.broadcast.push_back(input.value());
  }
  made.demand = stage.demand;
  made.estimate = stage.estimated_task_duration;
  made.output_ratio = stage.estimated_output_ratio;
  made.splits = splits_of(stage);
  made.variants = stage.variants;
  made.indeterminate = stage.indeterminate;
  return made;
}

/// Fills in a line, with an overload for each event and for each command that has a line in the log.
struct Filler {
  EventLine& line;

  void about(std::string_view event, JobId job) const {
    line.event = event;
    line.job = job.value();
  }
  void about(std::string_view event, NodeId node) const {
    line.event = event;
    line.node = node.value();
  }
  void about(std::string_view event, const AttemptId& id, NodeId node) const {
    about(event, node);
    line.job = id.task.job.value();
    line.stage = id.task.stage.value();
    line.task = id.task.index;
    line.attempt = id.attempt;
  }
  void about(std::string_view event, const OutputReplica& copy) const {
    about(event, copy.node);
    line.job = copy.job.value();
    line.shuffle = copy.shuffle.value();
    line.map = copy.map;
    line.map_attempt = copy.attempt;
  }

  void operator()(const JobSubmitted& event) const {
    about("job_submitted", event.job);
    line.name = event.name;
    line.options = event.options;
    if (!line.options.weight && event.hints.weight != 1) line.options.weight = event.hints.weight;
    if (line.options.hints.empty()) line.options.hints = schedulers::hint_texts(event.hints);
    line.deadline = event.deadline;
  }
  void operator()(const PlanExtended& event) const {
    about("plan_extended", event.job);
    line.action = event.part.action.value();
    for (const auto& stage : event.part.stages) line.stages.push_back(stage_of(stage));
    for (std::size_t i = 0; i < std::min(event.profiles.size(), line.stages.size()); ++i)
      line.stages[i].profile = event.profiles[i];
    line.targets = numbers_of(event.part.targets);
    line.released = numbers_of(event.part.released);
  }
  void operator()(const JobClosed& event) const { about("job_closed", event.job); }
  void operator()(const JobKilled& event) const {
    about("job_killed", event.job);
    line.reason = event.reason;
  }
  void operator()(const DriverFailed& event) const {
    about("driver_failed", event.job);
    line.reason = event.reason;
  }
  void operator()(const WorkerJoined& event) const {
    about("worker_joined", event.node);
    line.name = event.name;
    line.host = event.host;
    line.rack = event.rack;
    line.data_address = event.data_address;
    line.capacity = event.capacity;
    line.attributes = event.attributes;
    line.prefetch_bytes = event.prefetch_bytes;
    line.rack_uplink = event.rack_uplink;
    line.processors = event.processors;
    line.forecast = event.forecast;
  }
  void operator()(const WorkerHeartbeat& event) const {
    about("worker_heartbeat", event.node);
    line.cross_rack = event.cross_rack;
    line.used = event.used;
    line.machine = event.machine;
    line.capacity = event.capacity.value_or(schedulers::Resources{});
    line.forecast = event.forecast;
  }
  void operator()(const CapacityChanged& event) const {
    about("capacity_changed", event.node);
    line.present = event.capacity;
    line.reason = event.why;
    line.forecast = event.forecast;
  }
  void operator()(const WorkerLeaving& event) const { about("worker_leaving", event.node); }
  void operator()(const WorkerRejoined& event) const {
    about("worker_rejoined", event.node);
    line.attempts = event.running.size();
    line.outputs = event.outputs.size();
  }
  void operator()(const WorkerLost& event) const {
    about("worker_lost", event.node);
    line.reason = event.reason;
  }
  void operator()(const TaskFinished& event) const {
    about("task_finished", event.attempt, event.node);
    line.input_bytes = event.input_bytes;
    line.input_records = event.input_records;
    for (const auto& partition : event.output) {
      line.output_bytes += partition.bytes;
      line.output_records += partition.records;
      line.partition_bytes.push_back(partition.bytes);
    }
    line.result_bytes = event.result.size();
    if (event.shuffle_times != shuffle::ShuffleTimes{}) {
      line.shuffle_read = event.shuffle_times.read;
      line.shuffle_write = event.shuffle_times.write;
    }
    line.usage = event.usage;
    line.sample_histogram = event.sample_histogram;
    line.counters = event.counters;
  }
  void operator()(const TaskFailed& event) const {
    about("task_failed", event.attempt, event.node);
    line.kind = runtime::name_of(event.kind);
    line.message = event.message;
    if (event.fetch)
      line.fetch = LoggedFetch{event.fetch->shuffle.value(), event.fetch->map, event.fetch->map_attempt, event.fetch->node.value()};
  }
  void operator()(const SchedulerConfigured& event) const {
    line.event = "scheduler_configured";
    line.scheduler = event.spec;
    for (const auto& [name, text] : event.files) line.files.push_back(name);
    line.texts = event.files;
    if (event.speculation) line.speculation = to_string(*event.speculation);
  }
  void operator()(const OutputReplicated& event) const { about("output_copied", event.replica); }
  void operator()(const ReplicaFailed& event) const {
    about("copy_failed", event.replica);
    line.message = event.message;
  }
  void operator()(const TimerFired& event) const {
    line.event = "timer_fired";
    line.timer = event.timer;
  }

  void operator()(const LaunchTask& command) const {
    about("task_launched", command.attempt, command.node);
    line.reason = command.reason;
    line.speculative = command.speculative;
    line.variants = command.spec.variants;
    line.partitions = command.spec.inputs.empty() ? 1 : command.spec.inputs.front().partitions;
  }
  void operator()(const KillTask& command) const {
    about("task_killed", command.attempt, command.node);
    line.reason = command.reason;
  }
  void operator()(const ReplicateOutput& command) const {
    about("copy_started", {command.node, command.job, command.shuffle, command.output.map, command.output.attempt});
    line.from = command.output.node.value();
  }
  void operator()(const OutputMoved& command) const {
    about("output_moved", {command.output.node, command.job, command.shuffle, command.output.map, command.output.attempt});
    line.from = command.from.value();
    line.reason = command.reason;
  }
  void operator()(const StageRolledBack& command) const {
    about("stage_rolled_back", command.job);
    line.stage = command.stage.value();
    line.attempts = command.tasks;
    line.reason = command.reason;
  }
  void operator()(const ActionFinished& command) const {
    about("action_finished", command.job);
    line.action = command.action.value();
  }
  void operator()(const JobFinished& command) const { about("job_finished", command.job); }
  void operator()(const JobFailed& command) const {
    about("job_failed", command.job);
    line.error = command.error.to_string();
  }
};

}  // namespace

void describe(EventLine& line, Time at, const Event& event) {
  line.at = at;
  std::visit(Filler{line}, event);
}

bool has_line(const Command& command) {
  return std::visit([]<class C>(const C&) { return std::is_invocable_v<Filler, const C&>; }, command);
}

void describe(EventLine& line, Time at, const Command& command) {
  line.at = at;
  std::visit(
      [filler = Filler{line}]<class C>(const C& one) {
        if constexpr (std::is_invocable_v<Filler, const C&>) filler(one);
      },
      command);
}

void describe_silent(EventLine& line, Time at, const NodeLost& lost) {
  line.at = at;
  Filler{line}.about("worker_silent", lost.node);
  line.reason = lost.reason;
}

void describe_prefetched(EventLine& line, Time at, Time period, JobId job, NodeId node, const shuffle::PrefetchStats& prefetched) {
  line.at = at;
  Filler{line}.about("blocks_prefetched", node);
  line.job = job.value();
  line.within = period;
  line.prefetch = prefetched;
}

std::string event_json(Time at, const Event& event) {
  EventLine line;
  describe(line, at, event);
  return to_json(std::move(line));
}

std::optional<std::string> command_json(Time at, const Command& command) {
  if (!has_line(command)) return std::nullopt;
  EventLine line;
  describe(line, at, command);
  return to_json(std::move(line));
}

}  // namespace weft::master
