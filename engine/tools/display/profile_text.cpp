#include "engine/tools/display/profile_text.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/display/text_table.hpp"

namespace weft::tools {

namespace {

/// What the stages of a program have together.
struct ProgramSummary {
  std::size_t stages = 0;
  std::uint64_t version = 0, runs = 0;
  double tasks = 0, error = 0, error_weight = 0;
  std::int64_t learned = 0;
  std::optional<double> mean_error() const { return error_weight > 0 ? std::optional(error / error_weight) : std::nullopt; }
};

std::map<std::string, ProgramSummary> summaries(const std::vector<profiles::Record>& records) {
  std::map<std::string, ProgramSummary> programs;
  for (const auto& [key, stage] : records) {
    ProgramSummary& sum = programs[key.program];
    ++sum.stages;
    sum.version = hash_combine(sum.version, stage.is.fingerprint);
    sum.runs = std::max(sum.runs, stage.runs);
    sum.tasks += stage.tasks();
    sum.learned = std::max(sum.learned, stage.learned);
    if (stage.error_weight == 0 && stage.predicted == 0) continue;
    sum.error += stage.mean_error();
    sum.error_weight += 1;
  }
  return programs;
}

std::string percent(double part) { return fmt::format("{:.1f} %", 100 * part); }
std::string bytes_text(double bytes) { return human_bytes(static_cast<std::uint64_t>(std::llround(bytes))); }
std::string seconds_text(double seconds) { return human_duration(Duration(std::llround(seconds * 1e9))); }
std::string version_text(std::uint64_t version) { return fmt::format("{:08x}", static_cast<std::uint32_t>(version)); }
std::string error_text(const profiles::StageHistory& stage) {
  return stage.error_weight > 0 || stage.predicted > 0 ? percent(stage.mean_error()) : "-";
}

}  // namespace

std::string profiles_table(const std::vector<profiles::Record>& records, std::int64_t now) {
  TextTable table({"PROGRAM", "VERSION", "STAGES", "RUNS", "TASKS", "ERROR", "LEARNED"});
  for (const auto& [program, sum] : summaries(records))
    table.row(program, version_text(sum.version), sum.stages, sum.runs, fmt::format("{:.0f}", sum.tasks),
              sum.mean_error() ? percent(*sum.mean_error()) : "-",
              human_duration(std::chrono::seconds(std::max<std::int64_t>(0, now - sum.learned))) + " ago");
  return table.text();
}

std::string profiles_json(const std::vector<profiles::Record>& records, std::int64_t now) {
  const auto programs = summaries(records);
  return json_line(objects(programs, [now](JsonWriter& json, const auto& one) {
    const auto& [program, sum] = one;
    members(json, "program", program, "version", version_text(sum.version), "stages", sum.stages, "runs", sum.runs, "tasks",
            sum.tasks, "error", sum.mean_error(), "learned_seconds_ago", now - sum.learned);
  }));
}

std::string profile_text(const std::vector<profiles::Record>& records) {
  TextTable stages({"STAGE", "NAME", "FINGERPRINT", "RUNS", "TASKS", "MEDIAN", "P90", "REMOTE", "ERROR"});
  TextTable sizes({"STAGE", "A TASK READS", "TASKS", "TIME", "WRITES", "CPU", "FETCHES FOR", "MEMORY"});
  std::string kinds;
  for (const auto& [key, stage] : records) {
    const std::string id = std::to_string(key.stage.value());
    const auto quantile = [&, &of = stage](double part) { return human_duration(of.quantile(part).value_or(Duration(0))); };
    const bool placed = stage.remote.weight > 0 && stage.local.weight > 0;
    stages.row(id, stage.is.name, fmt::format("{:016x}", stage.is.fingerprint), stage.runs, fmt::format("{:.0f}", stage.tasks()),
               quantile(0.5), quantile(0.9), placed ? fmt::format("x {:.2f}", stage.remote.value() / stage.local.value()) : "-",
               error_text(stage));
    for (const profiles::SizeClass& one : stage.classes) {
      const double tasks = one.weight;
      sizes.row(id, bytes_text(one.bytes / tasks), fmt::format("{:.1f}", tasks), seconds_text(one.seconds / tasks),
                bytes_text(one.written / tasks), seconds_text(one.cpu / tasks), seconds_text(one.shuffle / tasks),
                bytes_text(one.memory));
    }
    for (const auto& [kind, relative] : stage.kinds)
      if (!kind.empty()) kinds += fmt::format("stage {}: x {:.2f} on nodes with {}\n", id, relative.value(), escaped(kind));
  }
  return stages.text() + "\n" + sizes.text() + (kinds.empty() ? "" : "\n" + kinds);
}

std::string profile_json(const std::vector<profiles::Record>& records) {
  std::vector<std::string> lines;
  for (const auto& [key, stage] : records) lines.push_back(profiles::to_json(key, stage));
  return "[" + join(lines, ",\n ") + "]\n";
}

}  // namespace weft::tools
