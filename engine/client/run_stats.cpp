#include "engine/client/run_stats.hpp"

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/text.hpp"
#include "engine/client/job_summary.hpp"

namespace weft::client {
namespace {

constexpr std::size_t kMostCounters = 100;  // on a screen

}  // namespace

std::string closing_lines(const std::string& job_name, const master::Counters& counters, const std::set<std::string>& skipped) {
  std::string lines;
  std::size_t shown = 0;
  for (const auto& [name, value] : counters) {
    if (shown++ == kMostCounters) break;
    lines += fmt::format("{}: counter {}: {}\n", job_name, escaped(name), value);
  }
  if (counters.size() > kMostCounters)
    lines += fmt::format("{}: {} more counters; --stats FILE has all of them\n", job_name, counters.size() - kMostCounters);
  if (!skipped.empty())
    lines += fmt::format("{}: skipped {} {} that begin with '.' or '_' in input directories, such as {}\n", job_name,
                         skipped.size(), skipped.size() == 1 ? "name" : "names", escaped(*skipped.begin()));
  return lines;
}

std::string run_stats_json(const master::JobStatus& status, const std::set<std::string>& skipped) {
  JsonWriter json;
  json.begin_object().member("job", status.name).key("stages").begin_array();
  for (const master::StageStatus& stage : status.stages) {
    json.begin_object().member("id", stage.id.value()).member("name", stage.name).member("tasks", stage.tasks);
    json.member("input_bytes", stage.input_bytes).member("shuffle_bytes", stage.shuffle_bytes).end_object();
  }
  json.end_array();
  add_lost_workers(json, status);
  json.key("counters").begin_object();
  for (const auto& [name, value] : status.counters) json.member(name, value);
  json.end_object().key("skipped_inputs").begin_object().member("count", skipped.size());
  if (!skipped.empty()) json.member("example", *skipped.begin());
  json.end_object().end_object();
  return json.text() + "\n";
}

}  // namespace weft::client
