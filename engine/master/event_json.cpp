// Events as lines of the event log.
#include <set>

#include "base/json.hpp"
#include "engine/master/event_log.hpp"

namespace weft::master {

namespace {

void add(JsonWriter& json, const schedulers::Resources& resources) {
  json.begin_object();
  for (const auto& kind : schedulers::kResourceKinds) {
    if (resources.*kind.amount != 0) json.member(kind.name, resources.*kind.amount);
  }
  json.end_object();
}

void add(JsonWriter& json, const AttemptId& id, NodeId node) {
  json.member("job", id.task.job.value()).member("stage", id.task.stage.value()).member("task", id.task.index);
  json.member("attempt", id.attempt).member("node", node.value());
}

/// What each task reads from files, and where that lies: by task, for branches that do.
void add_splits(JsonWriter& json, const plan::Stage& stage) {
  std::uint32_t first_task = 0;
  json.key("splits").begin_array();
  for (const auto& branch : stage.branches) {
    for (std::uint32_t i = 0; i < branch.splits.size(); ++i) {
      std::uint64_t bytes = 0;
      std::set<std::string> hosts;
      for (const auto& split : branch.splits[i]) {
        bytes += split.length;
        hosts.insert(split.hosts.begin(), split.hosts.end());
      }
      json.begin_object().member("task", first_task + i).member("bytes", bytes).key("hosts").begin_array();
      for (const auto& host : hosts) json.value(host);
      json.end_array().end_object();
    }
    first_task += branch.tasks;
  }
  json.end_array();
}

void add(JsonWriter& json, const plan::Stage& stage) {
  json.begin_object().member("stage", stage.id.value()).member("name", stage.name).member("tasks", stage.task_count());
  json.member("output", stage.output == plan::OutputKind::shuffle ? "shuffle" : "result").member("partitions", stage.partitions);
  json.key("operators").begin_array();
  for (const auto& name : stage.operators) json.value(name);
  json.end_array().key("inputs").begin_array();
  for (const auto& branch : stage.branches) {
    for (ShuffleId input : branch.partitioned) json.value(input.value());
    for (ShuffleId input : branch.broadcast) json.value(input.value());
  }
  json.end_array().key("demand");
  add(json, stage.demand);
  json.member("estimated_task_ns", stage.estimated_task_duration.count());
  add_splits(json, stage);
  json.end_object();
}

void add(JsonWriter& json, const JobSubmitted& event) {
  json.member("event", "job_submitted").member("job", event.job.value()).member("name", event.name).member("user", event.user);
  json.member("pool", event.pool).member("priority", event.priority).member("max_attempts", event.max_attempts);
  json.member("shuffle_mode", shuffle::mode_name(event.shuffle_mode));
  if (event.shuffle_replicas > 1) json.member("shuffle_replicas", event.shuffle_replicas);
  if (event.deadline) json.member("deadline_ns", event.deadline->count());
  json.member("task_timeout_ns", event.task_timeout.count()).key("demand");
  add(json, event.demand);
  json.member("weight", event.hints.weight);
}
void add(JsonWriter& json, const PlanExtended& event) {
  json.member("event", "plan_extended").member("job", event.job.value()).member("action", event.part.action.value());
  json.key("stages").begin_array();
  for (const auto& stage : event.part.stages) add(json, stage);
  json.end_array().key("targets").begin_array();
  for (StageId target : event.part.targets) json.value(target.value());
  json.end_array().key("released").begin_array();
  for (ShuffleId shuffle : event.part.released) json.value(shuffle.value());
  json.end_array();
}
void add(JsonWriter& json, const JobClosed& event) { json.member("event", "job_closed").member("job", event.job.value()); }
void add(JsonWriter& json, const JobKilled& event) {
  json.member("event", "job_killed").member("job", event.job.value()).member("reason", event.reason);
}
void add(JsonWriter& json, const WorkerJoined& event) {
  json.member("event", "worker_joined").member("node", event.node.value()).member("name", event.name).member("host", event.host);
  json.member("rack", event.rack).member("data_address", event.data_address).key("capacity");
  add(json, event.capacity);
  json.key("attributes").begin_object();
  for (const auto& [key, value] : event.attributes) json.member(key, value);
  json.end_object().member("prefetch_bytes", event.prefetch_bytes);
}
void add(JsonWriter& json, const WorkerHeartbeat& event) {
  json.member("event", "worker_heartbeat")
      .member("node", event.node.value())
      .member("cross_rack_rate", event.cross_rack_rate)
      .key("used");
  add(json, event.used);
  if (event.capacity) {
    json.key("capacity");
    add(json, *event.capacity);
  }
}
void add(JsonWriter& json, const WorkerLost& event) {
  json.member("event", "worker_lost").member("node", event.node.value()).member("reason", event.reason);
}
void add(JsonWriter& json, const TaskFinished& event) {
  json.member("event", "task_finished");
  add(json, event.attempt, event.node);
  std::uint64_t bytes = 0, records = 0;
  for (const auto& partition : event.output) bytes += partition.bytes, records += partition.records;
  json.member("input_bytes", event.input_bytes).member("input_records", event.input_records);
  json.member("output_bytes", bytes).member("output_records", records).member("result_bytes", event.result.size());
  json.key("partition_bytes").begin_array();
  for (const auto& partition : event.output) json.value(partition.bytes);
  json.end_array();
  if (event.shuffle_times != shuffle::ShuffleTimes{})
    json.member("shuffle_read_ns", event.shuffle_times.read.count()).member("shuffle_write_ns", event.shuffle_times.write.count());
  if (!event.sample_histogram.empty()) {
    json.key("spread").begin_array();
    for (const std::uint32_t count : event.sample_histogram) json.value(count);
    json.end_array();
  }
  json.key("counters").begin_object();
  for (const auto& [name, value] : event.counters) json.member(name, value);
  json.end_object();
}
void add(JsonWriter& json, const TaskFailed& event) {
  json.member("event", "task_failed");
  add(json, event.attempt, event.node);
  json.member("kind", runtime::name_of(event.kind)).member("message", event.message);
  if (!event.fetch) return;
  json.key("fetch").begin_object().member("shuffle", event.fetch->shuffle.value()).member("map", event.fetch->map);
  json.member("map_attempt", event.fetch->map_attempt).member("node", event.fetch->node.value()).end_object();
}
void add(JsonWriter& json, const SchedulerConfigured& event) {
  json.member("event", "scheduler_configured").member("spec", event.spec).key("files").begin_array();
  for (const auto& [name, text] : event.files) json.value(name);
  json.end_array();
  if (event.speculation) json.member("speculation", to_string(*event.speculation));
}
void add(JsonWriter& json, std::string_view name, const OutputCopy& copy) {
  json.member("event", name).member("job", copy.job.value()).member("shuffle", copy.shuffle.value()).member("map", copy.map);
  json.member("map_attempt", copy.attempt).member("node", copy.node.value());
}
void add(JsonWriter& json, const OutputCopied& event) { add(json, "output_copied", event.copy); }
void add(JsonWriter& json, const CopyFailed& event) {
  add(json, "copy_failed", event.copy);
  json.member("message", event.message);
}
void add(JsonWriter& json, const TimerFired& event) { json.member("event", "timer_fired").member("timer", event.timer); }

}  // namespace

std::string event_json(Time at, const Event& event) {
  JsonWriter json;
  json.begin_object().member("time_ns", at.count());
  std::visit([&json](const auto& alternative) { add(json, alternative); }, event);
  json.end_object();
  return json.text();
}

}  // namespace weft::master
