// Estimates, each with its source. The first source that has one counts: the program, history (earlier runs of the program),
// observation of the stage or job so far, and otherwise a default.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "schedulers/view/view.hpp"

namespace weft::schedulers {

/// The best first.
enum class EstimateSource : std::uint8_t { program = 0, history = 1, observed = 2, assumed = 3 };
constexpr EstimateSource last_of(EstimateSource) { return EstimateSource::assumed; }
/// "program", "history", "observed", "default".
constexpr std::string_view name_of(EstimateSource source) {
  constexpr std::array<std::string_view, 4> kNames{"program", "history", "observed", "default"};
  return kNames.at(static_cast<std::size_t>(source));
}

template <class T>
struct Estimate {
  T value{};
  EstimateSource source = EstimateSource::assumed;
};

/// Of a task of the stage; by default a second.
Estimate<Time> task_duration(const StageInfo& stage);
/// The same, from the program or history alone: it was known before the stage began.
std::optional<Time> known_duration(const StageInfo& stage);
/// Bytes that the stage writes to its shuffle for each byte that it reads; by default 1.
Estimate<double> output_ratio(const JobInfo& job, const StageInfo& stage);
/// Bytes that a job shuffles for each byte of its input; by default 1.
Estimate<double> shuffle_ratio(const JobInfo& job);
/// The duration of a reduce over that of a map; by default 1.
Estimate<double> relative_reduce_cost(const JobInfo& job);

enum class Phase : std::uint8_t { map, shuffle, reduce };
/// What a task of the stage uses of its node in that phase; by default its demand.
Estimate<Resources> phase_use(const JobInfo& job, const StageInfo& stage, Phase phase);

}  // namespace weft::schedulers
