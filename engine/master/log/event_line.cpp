#include "engine/master/log/event_line.hpp"

#include "base/json_reader.hpp"
#include "engine/master/log/event_line_io.hpp"

namespace weft::master {

// The members of each line, once. Found by argument-dependent lookup, so not in an anonymous namespace.

template <class Io>
void members(Io& io, LoggedSplit& split) {
  io("task", split.task);
  io("bytes", split.bytes);
  io("hosts", split.hosts);
}

template <class Io>
void members(Io& io, schedulers::StageProfile& profile) {
  io("constant_ns", profile.constant);
  io("ns_per_byte", profile.per_byte);
  io("bytes", profile.bytes);
  io("deviation", profile.deviation);
  io("error", profile.error);
  io("tasks", profile.tasks);
  io.if_set("output_ratio", profile.output_ratio);
  io("use", profile.use);
  io.if_set("shuffle_use", profile.shuffle_use);
  io.unless(1.0, "remote", profile.remote);
  io.if_set("kinds", profile.kinds);
}

template <class Io>
void members(Io& io, LoggedStage& stage) {
  io("stage", stage.id);
  io("name", stage.name);
  io("tasks", stage.tasks);
  io("output", stage.output);
  io("partitions", stage.partitions);
  io("operators", stage.operators);
  io("inputs", stage.inputs);
  io.if_set("broadcast", stage.broadcast);
  io("demand", stage.demand);
  io("estimated_task_ns", stage.estimate);
  io.if_set("estimated_output_ratio", stage.output_ratio);
  io("profile", stage.profile);
  io.if_set("variants", stage.variants);
  io.if_set("indeterminate", stage.indeterminate);
  io("splits", stage.splits);
}

template <class Io>
void members(Io& io, LoggedFetch& fetch) {
  io("shuffle", fetch.shuffle);
  io("map", fetch.map);
  io("map_attempt", fetch.map_attempt);
  io("node", fetch.node);
}

template <class Io>
void members(Io& io, schedulers::CapacityStep& step) {
  io("from_ns", step.from);
  io("available", step.available);
}

template <class Io>
void members(Io& io, runtime::HotKey& key) {
  io("key", key.text);
  io("partition", key.partition);
  io("records", key.records);
}

template <class Io>
void attempt_members(Io& io, EventLine& line) {
  io("job", line.job);
  io("stage", line.stage);
  io("task", line.task);
  io("attempt", line.attempt);
  io("node", line.node);
}

template <class Io>
void output_members(Io& io, EventLine& line) {
  io("job", line.job);
  io("shuffle", line.shuffle);
  io("map", line.map);
  io("map_attempt", line.map_attempt);
}

template <class Io>
void prefetch_members(Io& io, EventLine& line) {
  io("job", line.job);
  io("node", line.node);
  io("within_ns", line.within);
  io("prefetched_bytes", line.prefetch.prefetched_bytes);
  io("read_bytes", line.prefetch.read_bytes);
  io("wasted_bytes", line.prefetch.wasted_bytes);
  io.if_set("evicted_bytes", line.prefetch.evicted_bytes);
  io.if_set("evicted_file_bytes", line.prefetch.evicted_file_bytes);
  io.if_set("returned_bytes", line.prefetch.returned_bytes);
}

template <class Io>
void job_members(Io& io, EventLine& line) {
  if (io.is({"job_closed", "job_finished"})) io("job", line.job);
  if (io.is({"job_killed", "driver_failed"})) {
    io("job", line.job);
    io("reason", line.reason);
  }
  if (io.is({"job_failed"})) {
    io("job", line.job);
    io("error", line.error);
  }
  if (io.is({"action_finished"})) {
    io("job", line.job);
    io("action", line.action);
  }
  if (io.is({"job_submitted"})) {
    io("job", line.job);
    io("name", line.name);
    io("deadline_ns", line.deadline);
    io.options(line.options);
  }
  if (io.is({"plan_extended"})) {
    io("job", line.job);
    io("action", line.action);
    io("stages", line.stages);
    io("targets", line.targets);
    io("released", line.released);
  }
}

template <class Io>
void worker_members(Io& io, EventLine& line) {
  if (io.is({"worker_joined"})) {
    io("node", line.node);
    io("name", line.name);
    io("host", line.host);
    io("rack", line.rack);
    io("data_address", line.data_address);
    io("capacity", line.capacity);
    io("attributes", line.attributes);
    io("prefetch_bytes", line.prefetch_bytes);
    io.alias("ahead_bytes", line.prefetch_bytes);
    io.if_set("rack_uplink_up", line.rack_uplink.up);
    io.if_set("rack_uplink_down", line.rack_uplink.down);
    io.if_set("processors", line.processors);
    io.if_set("forecast", line.forecast);
  }
  if (io.is({"worker_heartbeat"})) {
    io("node", line.node);
    io.if_set("cross_rack_up", line.cross_rack.up);
    io.if_set("cross_rack_down", line.cross_rack.down);
    io("used", line.used);
    io.if_set("machine", line.machine);
    io.if_set("capacity", line.capacity);
    io.if_set("forecast", line.forecast);
  }
  if (io.is({"capacity_changed"})) {
    io("node", line.node);
    io("present", line.present);
    io("reason", line.reason);
    io.if_set("forecast", line.forecast);
  }
  if (io.is({"worker_leaving"})) io("node", line.node);
  if (io.is({"worker_rejoined"})) {
    io("node", line.node);
    io("attempts", line.attempts);
    io("outputs", line.outputs);
  }
  if (io.is({"worker_lost", "worker_silent"})) {
    io("node", line.node);
    io("reason", line.reason);
  }
}

template <class Io>
void task_members(Io& io, EventLine& line) {
  if (io.is({"task_launched", "task_killed"})) {
    attempt_members(io, line);
    io("reason", line.reason);
    io.if_set("speculative", line.speculative);
    io.unless(1u, "partitions", line.partitions);
    io.if_set("variants", line.variants);
  }
  if (io.is({"task_finished"})) {
    attempt_members(io, line);
    io.if_set("input_bytes", line.input_bytes);
    io.if_set("input_records", line.input_records);
    io.if_set("output_bytes", line.output_bytes);
    io.if_set("output_records", line.output_records);
    io.if_set("result_bytes", line.result_bytes);
    io.if_set("partition_bytes", line.partition_bytes);
    io("shuffle_read_ns", line.shuffle_read);
    io("shuffle_write_ns", line.shuffle_write);
    io.if_set("run_ns", line.usage.run);
    io.if_set("file_read_ns", line.usage.read);
    io.if_set("file_write_ns", line.usage.write);
    io.if_set("cpu_ns", line.usage.cpu);
    io.if_set("peak_memory_bytes", line.usage.peak_memory);
    io.if_set("ready_ns", line.usage.ready);
    io.if_set("disk_written_bytes", line.usage.disk_written);
    io.if_set("shuffle_read_bytes", line.usage.shuffle_read_bytes);
    io.if_set("file_output_bytes", line.usage.output_bytes);
    io.if_set("spilled_bytes", line.usage.spilled_bytes);
    io.if_set("spill_ns", line.usage.spill);
    io.if_set("spill_began_ns", line.usage.spill_began);
    io.if_set("hot_keys", line.usage.hot_keys);
    io.if_set("bad_records", line.usage.bad_records.count);
    io.if_set("bad_input_records", line.usage.bad_records.inputs);
    io.if_set("sample_histogram", line.sample_histogram);
    io.alias("spread", line.sample_histogram);
    io.if_set("counters", line.counters);
  }
  if (io.is({"task_failed"})) {
    attempt_members(io, line);
    io("kind", line.kind);
    io("message", line.message);
    io("fetch", line.fetch);
  }
}

template <class Io>
void members(Io& io, EventLine& line) {
  io("time_ns", line.at);
  io("event", line.event);
  task_members(io, line);  // first: most lines are about tasks
  job_members(io, line);
  worker_members(io, line);
  if (io.is({"output_copied", "copy_failed"})) {
    output_members(io, line);
    io("node", line.node);
    io.if_set("message", line.message);
  }
  if (io.is({"copy_started", "output_moved"})) {
    output_members(io, line);
    io("from", line.from);
    io("node", line.node);
    io.if_set("reason", line.reason);
  }
  if (io.is({"stage_rolled_back"})) {
    io("job", line.job);
    io("stage", line.stage);
    io("attempts", line.attempts);
    io("reason", line.reason);
  }
  if (io.is({"blocks_prefetched"})) prefetch_members(io, line);
  if (io.is({"timer_fired"})) io("timer", line.timer);
  if (io.is({"scheduler_configured"})) {
    io("spec", line.scheduler);
    io("files", line.files);
    io.if_set("texts", line.texts);
    io("speculation", line.speculation);
  }
  if (io.is({"log_started", "log_continued"})) {
    io("version", line.version);
    io("program", line.program);
    io("scheduler", line.scheduler);
    io("unix_ns", line.unix_time);
  }
}

std::string to_json(EventLine&& line) {
  JsonWriter json;
  JsonOut io(json, line.event);
  json.begin_object();
  members(io, line);
  json.end_object();
  return std::move(json).text();
}

Result<EventLine> parse_event_line(std::string_view text, std::string_view source, std::uint64_t number) {
  JsonReader json(text, source, number);
  EventLine line;
  bool timed = false;
  WEFT_TRY(json.object([&](std::string_view key) {
    timed = timed || key == "time_ns";
    JsonIn io(json, key);
    members(io, line);
    return io.end();
  }));
  WEFT_TRY(json.finish());
  if (!timed || line.event.empty()) return fail(json.error("an event has time_ns and event"));
  return line;
}

bool is_of_attempt(std::string_view event) {
  return event == "task_launched" || event == "task_finished" || event == "task_failed" || event == "task_killed";
}

}  // namespace weft::master
