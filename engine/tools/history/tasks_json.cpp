#include "engine/tools/history/tasks_json.hpp"

#include <set>
#include <vector>

#include "engine/tools/display/json_members.hpp"

namespace weft::history {

using tools::json_line, tools::members, tools::object, tools::objects;

namespace {

void write_attempt(JsonWriter& json, const LoggedJob& job, const LoggedAttempt& attempt) {
  members(json, "stage", attempt.stage, "task", attempt.task, "attempt", attempt.attempt, "node", attempt.node, "slot",
          attempt.slot, "fate", name_of(attempt.fate), "speculative", attempt.speculative, "launched_seconds",
          in_seconds(attempt.launched - job.status.submitted));
  if (attempt.fate != Fate::running) members(json, "ended_seconds", in_seconds(attempt.ended - job.status.submitted));
  if (!attempt.why.empty()) members(json, "why", attempt.why);
  if (attempt.fate == Fate::finished)
    members(json, "input_bytes", attempt.input_bytes, "input_records", attempt.input_records, "output_bytes", attempt.output_bytes,
            "output_records", attempt.output_records, "shuffle_seconds", in_seconds(attempt.shuffle_read), "cpu_seconds",
            in_seconds(attempt.usage.cpu), "peak_memory_bytes", attempt.usage.peak_memory, "spilled_bytes",
            attempt.usage.spilled_bytes, "shuffle_read_bytes", attempt.usage.shuffle_read_bytes);
}

}  // namespace

std::string tasks_json(const EventHistory& history, const LoggedJob& job, const TasksWanted& wanted) {
  const auto is_wanted = [&wanted](const LoggedAttempt& attempt) {
    return attempt.changed > wanted.since && (!wanted.stage || attempt.stage == *wanted.stage) &&
           (wanted.fate.empty() || wanted.fate == name_of(attempt.fate));
  };
  std::size_t total = 0;
  std::vector<const LoggedAttempt*> page;
  std::set<std::uint32_t> nodes;
  for (const LoggedAttempt& attempt : job.attempts) {
    if (!is_wanted(attempt) || total++ < wanted.from || page.size() == wanted.count) continue;
    page.push_back(&attempt);
    nodes.insert(attempt.node);
  }
  const Time end = job.status.state == JobState::running ? history.now() : job.status.ended;
  const auto stage = [&job](JsonWriter& json, const master::LoggedStage& logged) {
    const auto sizes = job.partition_bytes.find(logged.id);
    members(json, "id", logged.id, "name", logged.name, "tasks", logged.tasks, "inputs", logged.inputs, "operators",
            logged.operators, "partition_bytes", sizes == job.partition_bytes.end() ? std::vector<std::uint64_t>() : sizes->second);
  };
  const auto worker = [&history](JsonWriter& json, std::uint32_t node) {
    members(json, "node", node);
    if (const LoggedWorker* known = history.worker(node))
      members(json, "name", known->name, "rack", known->rack, "slots", known->slots);
  };
  const auto task = [&job](JsonWriter& json, const LoggedAttempt* attempt) { write_attempt(json, job, *attempt); };
  const std::vector<master::LoggedStage> none;
  return json_line(object("total", total, "from", wanted.from, "version", history.changes(), "seconds",
                          in_seconds(end - job.status.submitted), "stages", objects(wanted.from == 0 ? job.stages : none, stage),
                          "workers", objects(nodes, worker), "tasks", objects(page, task)));
}

}  // namespace weft::history
