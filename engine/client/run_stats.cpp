#include "engine/client/run_stats.hpp"

#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/text.hpp"
#include "engine/client/job_summary.hpp"

namespace weft::client {
namespace {

constexpr std::size_t kMostCounters = 100;  // on a screen

}  // namespace

std::string closing_lines(const master::JobStatus& status, const storage::InputNotes& inputs) {
  const std::string& job_name = status.name;
  const master::Counters& counters = status.counters;
  std::string lines = bad_record_lines(job_name, status) + remark_lines(job_name, status);
  std::size_t shown = 0;
  for (const auto& [name, value] : counters) {
    if (shown++ == kMostCounters) break;
    lines += fmt::format("{}: counter {}: {}\n", job_name, escaped(name), value);
  }
  if (counters.size() > kMostCounters)
    lines += fmt::format("{}: {} more counters; --stats FILE has all of them\n", job_name, counters.size() - kMostCounters);
  const auto example = [](const std::set<std::string>& names) { return escaped(*names.begin()); };
  if (const auto& skipped = inputs.skipped; !skipped.empty()) {
    const auto slash = skipped.begin()->rfind('/');
    lines += fmt::format(
        "{}: skipped {} with '.' or '_' in input directories, such as {}; to read them, name them, or a pattern such "
        "as '{}{}*'\n",
        job_name, skipped.size() == 1 ? "a name that begins" : fmt::format("{} names that begin", skipped.size()), example(skipped),
        escaped(skipped.begin()->substr(0, slash + 1)), (*skipped.begin())[slash + 1]);
  }
  if (const auto& repeated = inputs.repeated; !repeated.empty())
    lines +=
        fmt::format("{}: {} more than once in the inputs, such as {}; each was read once\n", job_name,
                    repeated.size() == 1 ? "a file or directory is" : fmt::format("{} files or directories are", repeated.size()),
                    example(repeated));
  if (const auto& empty = inputs.empty; !empty.empty())
    lines += fmt::format("{}: {} no file to read, such as {}\n", job_name,
                         empty.size() == 1 ? "an input has" : fmt::format("{} inputs have", empty.size()), example(empty));
  return lines;
}

std::string run_stats_json(const master::JobStatus& status, const storage::InputNotes& inputs) {
  JsonWriter json;
  json.begin_object().member("job", status.name).key("stages").begin_array();
  for (const master::StageStatus& stage : status.stages) {
    json.begin_object().member("id", stage.id.value()).member("name", stage.name).member("tasks", stage.tasks);
    json.member("input_bytes", stage.input_bytes).member("shuffle_bytes", stage.shuffle_bytes);
    add_bad_records(json, stage.usage.bad_records);
    json.end_object();
  }
  json.end_array();
  add_lost_workers(json, status);
  json.key("counters").begin_object();
  for (const auto& [name, value] : status.counters) json.member(name, value);
  json.end_object();
  for (const auto& [name, list] : {std::pair("skipped_inputs", &inputs.skipped), std::pair("repeated_inputs", &inputs.repeated),
                                   std::pair("empty_inputs", &inputs.empty)}) {
    json.key(name).begin_object().member("count", list->size());
    if (!list->empty()) json.member("example", *list->begin());
    json.end_object();
  }
  json.end_object();
  return json.text() + "\n";
}

}  // namespace weft::client
