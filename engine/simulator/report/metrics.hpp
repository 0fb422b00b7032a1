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
  /// Nothing where it does not apply (no deadlines, no racks, …). `alone` is by job.
  std::function<std::optional<double>(const RunResult& run, const std::vector<Time>& alone)> value;
  /// Instead of `value`, for figures that compare a run with that of the first scheduler and the same seed. The first has none.
  std::function<std::optional<double>(const RunResult& run, const RunResult& first)> against_first = nullptr;
};

const std::vector<Metric>& metrics();

/// As JSON has it: "finished", "unfinished", …
std::string_view name_of(Outcome outcome);

/// "12.3 s", "81.2 %", "1.20 TB" (decimal).
std::string format_value(double value, Format format);
/// "12.3 s ± 0.4 s"; without an interval where that is 0.
std::string format_estimate(const Estimate& estimate, Format format);

/// The figure of the run with the seed at this position.
std::optional<double> value_of(const Metric& metric, const Comparison& comparison, const SchedulerRuns& runs, std::size_t seed);

/// Over the seeds; nothing when no run has it.
std::optional<Estimate> estimate_of(const Metric& metric, const Comparison& comparison, const SchedulerRuns& runs);

/// A scheduler compared with the first one seed by seed. What the two runs of a seed have in common, above all the workload,
/// cancels out, so that intervals are much narrower than those of the figures.
struct Paired {
  Estimate difference;            // its figure minus that of the first
  std::optional<Estimate> ratio;  // its figure over that of the first, where that is never 0
};
/// Over the seeds for which both have the figure. Nothing if there are none, and for the first scheduler.
std::optional<Paired> paired_with_first(const Metric& metric, const Comparison& comparison, const SchedulerRuns& runs);
/// A figure of a scheduler over the seeds, and how it compares with that of the first.
struct ComparedFigure {
  Estimate value;
  std::optional<Paired> paired;
};
/// Nothing when no run has it.
std::optional<ComparedFigure> compared_with_first(const Metric& metric, const Comparison& comparison, const SchedulerRuns& runs);

/// "-5.0 ± 1.2 %", without an interval for one seed and where nothing varies; empty when there is no ratio or no difference.
std::string relative(const std::optional<Paired>& paired);

/// Whether runs with different seeds differ in more than their real times.
bool varies(const Comparison& comparison);

/// Per job that finished in both: its time in `first` over that in `run`, the job's speed-up.
std::vector<double> factors(const RunResult& run, const RunResult& first);

/// For each finished job: the seconds from submission to end; and that over its time alone, unless that is 0.
std::vector<double> completion_seconds(const RunResult& run);
std::vector<double> slowdowns(const RunResult& run, const std::vector<Time>& alone);

}  // namespace weft::simulator::report
