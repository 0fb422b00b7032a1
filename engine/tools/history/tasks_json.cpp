#include "engine/tools/history/tasks_json.hpp"

#include <set>
#include <vector>

#include "base/json.hpp"

namespace weft::history {

namespace {

void add_attempt(JsonWriter& json, const Job& job, const Attempt& attempt) {
  json.begin_object().member("stage", attempt.stage).member("task", attempt.task).member("attempt", attempt.attempt);
  json.member("node", attempt.node).member("slot", attempt.slot).member("fate", name_of(attempt.fate));
  json.member("speculative", attempt.speculative).member("launched_seconds", in_seconds(attempt.launched - job.submitted));
  if (attempt.fate != Fate::running) json.member("ended_seconds", in_seconds(attempt.ended - job.submitted));
  if (!attempt.why.empty()) json.member("why", attempt.why);
  if (attempt.fate == Fate::finished) {
    json.member("input_bytes", attempt.input_bytes).member("input_records", attempt.input_records);
    json.member("output_bytes", attempt.output_bytes).member("output_records", attempt.output_records);
    json.member("shuffle_seconds", in_seconds(attempt.shuffle_read)).member("cpu_seconds", in_seconds(attempt.usage.cpu));
    json.member("peak_memory_bytes", attempt.usage.peak_memory).member("spilled_bytes", attempt.usage.spilled_bytes);
  }
  json.end_object();
}

void add_stages(JsonWriter& json, const Job& job) {
  for (const master::LoggedStage& stage : job.stages) {
    json.begin_object().member("id", stage.id).member("name", stage.name).member("tasks", stage.tasks).key("inputs").begin_array();
    for (const std::uint32_t input : stage.inputs) json.value(input);
    json.end_array().key("operators").begin_array();
    for (const std::string& one : stage.operators) json.value(one);
    json.end_array().key("partition_bytes").begin_array();
    if (const auto sizes = job.partition_bytes.find(stage.id); sizes != job.partition_bytes.end())
      for (const std::uint64_t bytes : sizes->second) json.value(bytes);
    json.end_array().end_object();
  }
}

}  // namespace

std::string tasks_json(const History& history, const Job& job, const TasksWanted& wanted) {
  const auto is_wanted = [&wanted](const Attempt& attempt) {
    return attempt.changed > wanted.since && (!wanted.stage || attempt.stage == *wanted.stage) &&
           (wanted.fate.empty() || wanted.fate == name_of(attempt.fate));
  };
  std::size_t total = 0;
  std::vector<const Attempt*> page;
  std::set<std::uint32_t> nodes;
  for (const Attempt& attempt : job.attempts) {
    if (!is_wanted(attempt) || total++ < wanted.from || page.size() == wanted.count) continue;
    page.push_back(&attempt);
    nodes.insert(attempt.node);
  }
  JsonWriter json;
  const Time end = job.state == Job::State::running ? history.now() : job.ended;
  json.begin_object().member("total", total).member("from", wanted.from).member("version", history.changes());
  json.member("seconds", in_seconds(end - job.submitted)).key("stages").begin_array();
  if (wanted.from == 0) add_stages(json, job);
  json.end_array().key("workers").begin_array();
  for (const std::uint32_t node : nodes) {
    json.begin_object().member("node", node);
    if (const auto worker = history.workers().find(node); worker != history.workers().end())
      json.member("name", worker->second.name).member("rack", worker->second.rack).member("slots", worker->second.slots);
    json.end_object();
  }
  json.end_array().key("tasks").begin_array();
  for (const Attempt* attempt : page) add_attempt(json, job, *attempt);
  json.end_array().end_object();
  return json.text() + "\n";
}

}  // namespace weft::history
