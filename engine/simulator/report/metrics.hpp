// The figures of a run that reports show, in the order they are shown.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/simulator/report/comparison.hpp"
#include "engine/simulator/report/statistics.hpp"

namespace weft::simulator::report {

enum class Format : std::uint8_t { seconds, number, percent, bytes, count };
enum class Better : std::uint8_t { lower, higher, neither };

struct Metric {
  std::string key;  // in JSON
  std::string title;
  Format format = Format::number;
  Better better = Better::neither;
  /// Nothing where it makes no sense (no deadlines, no racks, …). `alone` is by job.
  std::function<std::optional<double>(const RunResult& run, const std::vector<Time>& alone)> value;
};

const std::vector<Metric>& metrics();

/// As JSON has it: "finished", "unfinished", …
std::string_view name_of(Outcome outcome);

/// "12.3 s", "81.2 %", "1.20 TB" (decimal).
std::string format_value(double value, Format format);

/// Over the seeds; nothing when no run has it.
std::optional<Estimate> estimate_of(const Metric& metric, const Comparison& comparison, const SchedulerRuns& runs);

/// Per finished job: seconds from submission to end; and that over its time alone, for jobs that take any.
std::vector<double> completion_seconds(const RunResult& run);
std::vector<double> slowdowns(const RunResult& run, const std::vector<Time>& alone);

}  // namespace weft::simulator::report
