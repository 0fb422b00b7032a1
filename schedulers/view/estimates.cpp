#include "schedulers/view/estimates.hpp"

#include "base/clock.hpp"

namespace weft::schedulers {

namespace {

constexpr Time kAssumedDuration = std::chrono::seconds(1);

bool is_map(const StageInfo& stage) { return !stage.reads_shuffle && stage.writes_shuffle; }

/// Bytes that its finished tasks have read: of files exactly, of shuffles in proportion.
double bytes_read(const JobInfo& job, const StageInfo& stage) {
  double bytes = static_cast<double>(stage.input_bytes);
  if (stage.finished == 0) return bytes;
  const double part = static_cast<double>(stage.finished) / static_cast<double>(stage.tasks.size());
  for (StageId parent : stage.parents) bytes += part * static_cast<double>(job.stages.at(parent).output.total_bytes());
  return bytes;
}

/// Two sums over the stages of a job, as a quotient; nothing where they say nothing.
struct Quotient {
  double over = 0, under = 0;
  void add(double more_over, double more_under) {
    over += more_over;
    under += more_under;
  }
  std::optional<double> value() const { return under > 0 ? std::optional(over / under) : std::nullopt; }
};

template <class T>
Estimate<T> first_of(const std::optional<T>& program, const std::optional<T>& history, const std::optional<T>& observed,
                     const T& assumed) {
  if (program) return {*program, EstimateSource::program};
  if (history) return {*history, EstimateSource::history};
  if (observed) return {*observed, EstimateSource::observed};
  return {assumed, EstimateSource::assumed};
}

std::optional<Time> duration_in_history(const StageInfo& stage) {
  return stage.profile ? std::optional(stage.profile->duration()) : std::nullopt;
}

std::optional<Time> observed_duration(const StageInfo& stage) {
  if (stage.observed_count == 0) return std::nullopt;
  return stage.observed_total / static_cast<std::int64_t>(stage.observed_count);
}

/// Sums of durations of maps and of reduces, as a quotient of their means.
template <class Duration>
std::optional<double> reduce_over_map(const JobInfo& job, Duration&& duration_of) {
  Quotient maps, reduces;  // durations over stages
  for (const auto& [id, stage] : job.stages) {
    const std::optional<Time> duration = duration_of(stage);
    if (!duration) continue;
    if (stage.reads_shuffle || stage.writes_shuffle) (stage.reads_shuffle ? reduces : maps).add(in_seconds(*duration), 1);
  }
  if (!maps.value() || !reduces.value() || *maps.value() <= 0) return std::nullopt;
  return *reduces.value() / *maps.value();
}

}  // namespace

Estimate<Time> task_duration(const StageInfo& stage) {
  return first_of(stage.estimated_duration, duration_in_history(stage), observed_duration(stage), kAssumedDuration);
}

std::optional<Time> known_duration(const StageInfo& stage) {
  return stage.estimated_duration ? stage.estimated_duration : duration_in_history(stage);
}

Estimate<double> output_ratio(const JobInfo& job, const StageInfo& stage) {
  std::optional<double> program, history, observed;
  if (stage.estimated_output_ratio > 0) program = stage.estimated_output_ratio;
  if (stage.profile && stage.profile->output_ratio > 0) history = stage.profile->output_ratio;
  if (const double read = bytes_read(job, stage); read > 0 && stage.output.finished_maps() > 0)
    observed = static_cast<double>(stage.output.total_bytes()) / read;
  return first_of(program, history, observed, 1.0);
}

Estimate<double> shuffle_ratio(const JobInfo& job) {
  Quotient history, observed;
  for (const auto& [id, stage] : job.stages) {
    if (!is_map(stage)) continue;
    if (stage.profile) {
      const double read = stage.profile->bytes * static_cast<double>(stage.tasks.size());
      history.add(stage.profile->output_ratio * read, read);
    }
    observed.add(static_cast<double>(stage.output.total_bytes()), static_cast<double>(stage.input_bytes));
  }
  return first_of(job.hints.shuffle_ratio, history.value(), observed.value(), 1.0);
}

Estimate<double> relative_reduce_cost(const JobInfo& job) {
  return first_of(job.hints.relative_reduce_cost, reduce_over_map(job, duration_in_history),
                  reduce_over_map(job, observed_duration), 1.0);
}

Estimate<Resources> phase_use(const JobInfo& job, const StageInfo& stage, Phase phase) {
  const auto& hint = phase == Phase::map       ? job.hints.map_profile
                     : phase == Phase::shuffle ? job.hints.shuffle_profile
                                               : job.hints.reduce_profile;
  std::optional<Resources> history;
  if (stage.profile) history = phase == Phase::shuffle ? stage.profile->shuffle_use : stage.profile->use;
  if (history == Resources()) history.reset();
  return first_of(hint, history, std::optional<Resources>(), stage.demand);
}

}  // namespace weft::schedulers
