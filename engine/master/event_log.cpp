#include "engine/master/event_log.hpp"

#include <cerrno>
#include <chrono>

#include <fcntl.h>
#include <fmt/format.h>

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/version.hpp"

namespace weft::master {

namespace {

constexpr int kVersion = 1;

std::string attempt_line(Time at, std::string_view event, const AttemptId& id, NodeId node, const std::string& reason,
                         bool speculative = false, std::uint32_t partitions = 1) {
  JsonWriter json;
  json.begin_object().member("time_ns", at.count()).member("event", event).member("job", id.task.job.value());
  json.member("stage", id.task.stage.value()).member("task", id.task.index).member("attempt", id.attempt);
  json.member("node", node.value()).member("reason", reason);
  if (speculative) json.member("speculative", true);
  if (partitions > 1) json.member("partitions", partitions);
  json.end_object();
  return json.text();
}

JsonWriter job_line(Time at, std::string_view event, JobId job) {
  JsonWriter json;
  json.begin_object().member("time_ns", at.count()).member("event", event).member("job", job.value());
  return json;
}

JsonWriter output_line(Time at, std::string_view event, JobId job, ShuffleId shuffle, const shuffle::MapOutput& output) {
  JsonWriter json = job_line(at, event, job);
  json.member("shuffle", shuffle.value()).member("map", output.map).member("map_attempt", output.attempt);
  return json;
}

struct Line {
  Time at;
  using Text = std::optional<std::string>;

  Text operator()(const LaunchTask& c) const {
    const std::uint32_t partitions = c.spec.inputs.empty() ? 1 : c.spec.inputs.front().partitions;
    return attempt_line(at, "task_launched", c.attempt, c.node, c.reason, c.speculative, partitions);
  }
  Text operator()(const KillTask& c) const { return attempt_line(at, "task_killed", c.attempt, c.node, c.reason); }
  Text operator()(const CopyOutput& c) const {
    JsonWriter json = output_line(at, "copy_started", c.job, c.shuffle, c.output);
    return json.member("from", c.output.node.value()).member("node", c.node.value()).end_object().text();
  }
  Text operator()(const OutputMoved& c) const {
    JsonWriter json = output_line(at, "output_moved", c.job, c.shuffle, c.output);
    json.member("from", c.from.value()).member("node", c.output.node.value()).member("reason", c.reason);
    return json.end_object().text();
  }
  Text operator()(const ActionFinished& c) const {
    return job_line(at, "action_finished", c.job).member("action", c.action.value()).end_object().text();
  }
  Text operator()(const JobFinished& c) const { return job_line(at, "job_finished", c.job).end_object().text(); }
  Text operator()(const JobFailed& c) const {
    return job_line(at, "job_failed", c.job).member("error", c.error.to_string()).end_object().text();
  }
  template <class Other>
  Text operator()(const Other&) const {
    return std::nullopt;
  }
};

}  // namespace

std::optional<std::string> command_json(Time at, const Command& command) { return std::visit(Line{at}, command); }

Result<EventLog> EventLog::open(const std::string& path, Time at, const std::string& scheduler) {
  Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.valid()) return fail(errno_error(fmt::format("cannot open the event log {}", path), errno));
  EventLog log(std::move(file), path);
  JsonWriter json;
  json.begin_object().member("time_ns", at.count()).member("event", "log_started").member("version", kVersion);
  json.member("program", fmt::format("weft {}", version())).member("scheduler", scheduler);
  json.member("unix_ns",
              std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch()).count());
  json.end_object();
  log.add(json.text());
  WEFT_TRY(log.flush());
  return log;
}

Result<void> EventLog::flush() {
  if (!file_.valid()) text_.clear();
  if (text_.empty()) return {};
  auto written = write_all(file_.get(), as_bytes(text_));
  text_.clear();
  if (written) return {};
  file_ = Fd();
  return fail(std::move(written).error().wrap(fmt::format("the event log {} ends here", path_)));
}

}  // namespace weft::master
