#include "schedulers/parts/goal_needs.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/clock.hpp"
#include "schedulers/view/estimates.hpp"

namespace weft::schedulers {

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// A stage that is not complete, on each class of nodes.
struct StageOnClasses {
  const StageInfo* stage = nullptr;
  std::size_t phase = 0;
  bool takes = false;             // its tasks take slots of the kind in question
  std::vector<double> lengths;    // seconds of a task, by class; empty: not known
  std::vector<double> running;    // tasks, by class
  std::vector<bool> untried;      // by class
  std::vector<std::size_t> fast;  // classes that are faster than class 0, the fastest first
  double tasks = 0;               // that are left; of running ones the part that is left

  double best() const { return lengths[fast.empty() ? 0 : fast.front()]; }
  /// Seconds of one slot of the fastest class.
  double work() const { return lengths.empty() ? 0 : tasks * best(); }
};

/// By the profile: the duration on the class over that on all nodes.
std::optional<double> ratio_in_profile(const StageInfo& stage, const std::string& name) {
  if (!stage.profile) return std::nullopt;
  const auto ratio = stage.profile->kinds.find(name);
  return ratio == stage.profile->kinds.end() || ratio->second <= 0 ? std::nullopt : std::optional(ratio->second);
}

std::optional<double> mean_of(const std::vector<MeasuredTasks::OfClass>& seen) {
  double seconds = 0, ended = 0;
  for (const auto& on : seen) {
    seconds += on.seconds;
    ended += static_cast<double>(on.ended);
  }
  return ended > 0 ? std::optional(seconds / ended) : std::nullopt;
}

/// Of few tasks, one class may have the quicker ones by chance: until this many have ended on each class, the profile's ratios
/// count.
constexpr std::uint64_t kSure = 5;

/// The duration of a task whose profiled ratio is 1, by all tasks that have ended. Nothing: the profile lacks a class, or enough
/// tasks have ended on each. Without it, a job whose first tasks ran on fast nodes would seem to be as fast everywhere.
std::optional<double> level_by_profile(const std::vector<MeasuredTasks::OfClass>& seen,
                                       const std::vector<std::optional<double>>& ratios) {
  double seconds = 0, expected = 0;
  bool sure = true;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (!ratios[i]) return std::nullopt;
    seconds += seen[i].seconds;
    expected += static_cast<double>(seen[i].ended) * *ratios[i];
    sure = sure && seen[i].ended >= kSure;
  }
  return sure || expected <= 0 ? std::nullopt : std::optional(seconds / expected);
}

void find_lengths(const ClusterView& view, const MeasuredTasks& measured, const JobInfo& job, StageOnClasses& out) {
  const StageInfo& stage = *out.stage;
  const auto seen = measured.of(view, job.id, stage);
  std::optional<Time> oldest;
  for (const auto& on : seen) {
    out.running.push_back(on.running);
    if (on.oldest) oldest = std::min(oldest.value_or(*on.oldest), *on.oldest);
  }
  const auto length = task_length(view, job, stage, oldest, mean_of(seen));
  std::vector<std::optional<double>> ratios;
  for (std::size_t i = 0; i < seen.size(); ++i) ratios.push_back(ratio_in_profile(stage, measured.name(i)));
  const auto level = level_by_profile(seen, ratios);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    out.untried.push_back(!seen[i].tried() && !ratios[i]);
    if (!length) continue;
    double of_class = level ? *level * *ratios[i] : seen[i].mean().value_or(*length * ratios[i].value_or(1));
    if (seen[i].ended == 0 && seen[i].oldest)  // a task takes at least as long as it has run
      of_class = std::max(of_class, in_seconds(stage.worked(*seen[i].oldest, view.now())));
    out.lengths.push_back(of_class);
  }
}

void find_fast_classes(const ClusterView& view, const MeasuredTasks& measured, SlotKind kind, double threshold,
                       StageOnClasses& out) {
  for (std::size_t i = 1; i < out.lengths.size(); ++i) {
    if (out.lengths[0] > threshold * out.lengths[i] && measured.slots(view, i, kind) > 0) out.fast.push_back(i);
  }
  std::stable_sort(out.fast.begin(), out.fast.end(), [&](std::size_t a, std::size_t b) { return out.lengths[a] < out.lengths[b]; });
}

void count_tasks(const ClusterView& view, const MeasuredTasks& measured, const JobInfo& job, StageOnClasses& out) {
  const StageInfo& stage = *out.stage;
  out.tasks = static_cast<double>(stage.tasks.size() - stage.finished - stage.running);
  const bool waits = stage.reads_shuffle && !stage.inputs_complete;
  measured.each_running(view, job.id, stage, [&](const MeasuredTasks::Running& task) {
    out.tasks += waits ? 1 : part_left(out.lengths[task.node_class], stage.worked(task.launched, view.now()));
  });
}

std::vector<StageOnClasses> stages_of(const ClusterView& view, const MeasuredTasks& measured, const JobInfo& job, SlotKind kind,
                                      double threshold) {
  std::vector<StageOnClasses> all;
  for (const auto& [id, phase] : phases_of(job)) {
    StageOnClasses& one = all.emplace_back();
    one.stage = &job.stages.at(id);
    one.phase = phase;
    one.takes = (!one.stage->pending.empty() || one.stage->running > 0) && slot_kind_of(*one.stage, kind != SlotKind::any) == kind;
    find_lengths(view, measured, job, one);
    if (one.lengths.empty()) continue;
    find_fast_classes(view, measured, kind, threshold, one);
    count_tasks(view, measured, job, one);
  }
  return all;
}

/// The work left of the stage, in seconds of one average slot. Counted in the fastest slots, a job would seem to fit a cluster that
/// has few of them.
double work_on_all(const ClusterView& view, const MeasuredTasks& measured, SlotKind kind, const StageOnClasses& stage) {
  if (stage.fast.empty()) return stage.work();
  double all = 0, fastest = 0;  // slots, and how many of the fastest class do as much as all
  for (std::size_t i = 0; i < stage.lengths.size(); ++i) {
    const double slots = measured.slots(view, i, kind);
    all += slots;
    fastest += slots * stage.best() / stage.lengths[i];
  }
  return stage.work() * all / fastest;
}

std::vector<PhaseLeft> phases_left(const std::vector<StageOnClasses>& stages) {
  std::vector<PhaseLeft> phases;
  for (const StageOnClasses& one : stages) {
    if (one.lengths.empty()) continue;
    if (phases.size() <= one.phase) phases.resize(one.phase + 1);
    PhaseLeft& phase = phases[one.phase];
    phase.work += one.work();
    phase.tasks += static_cast<double>(one.stage->tasks.size() - one.stage->finished);
    phase.longest = std::max(phase.longest, one.best());
  }
  return phases;
}

/// Distributes `slots` of the fastest class: to each fast class as many as it has, and the rest, as more slower slots, to class 0.
void share_out(const StageOnClasses& stage, double slots, const std::vector<double>& available, GoalNeeds& needs) {
  double left = slots;
  for (const std::size_t at : stage.fast) {
    const double slower = stage.lengths[at] / stage.best(), takes = std::min(left * slower, available[at]);
    needs.of_class[at].required += takes;
    left -= takes / slower;
  }
  needs.of_class[0].required += slots_elsewhere(left, 0, stage.lengths[0] / stage.best());
}

/// Adds the stage to the needs of a job that has `seconds` left until its goal.
void add_stage(const StageOnClasses& stage, double slots, double seconds, const std::vector<double>& available, double margin,
               GoalNeeds& needs) {
  const double all_running = std::accumulate(stage.running.begin(), stage.running.end(), 0.0);
  needs.speedup = std::max(needs.speedup, stage.lengths[0] / stage.best());
  if (!stage.fast.empty()) share_out(stage, slots, available, needs);
  const double alone =
      stage.fast.empty() ? 0 : stage.work() / std::clamp(available[stage.fast.front()], 1.0, std::max(1.0, stage.tasks));
  const bool elsewhere = !stage.stage->pending.avoiding().empty();  // a task that failed on the only fast node
  for (std::size_t i = 0; i < needs.of_class.size(); ++i) {
    GoalNeeds::OfClass& on = needs.of_class[i];
    const bool fast = std::find(stage.fast.begin(), stage.fast.end(), i) != stage.fast.end();
    on.calibrates = on.calibrates || (needs.of_class.size() > 1 && stage.untried[i]);
    if (stage.fast.empty()) {
      on.required += slots;
      on.running += all_running;
      on.prefers = on.prefers && i == 0;
    } else {
      on.running += stage.running[i];
      on.prefers = on.prefers && fast;
      on.scale = stage.lengths[0] / stage.lengths[i];
      on.useful = on.useful && (fast || elsewhere || stage.lengths[i] * (1 + margin) <= std::max(alone, seconds));
    }
  }
}

}  // namespace

double GoalNeeds::running() const {
  if (speedup <= 1) return of_class[0].running;
  return std::accumulate(of_class.begin(), of_class.end(), 0.0, [](double sum, const OfClass& on) { return sum + on.running; });
}

GoalNeeds goal_needs(const ClusterView& view, const MeasuredTasks& measured, const JobInfo& job, SlotKind kind,
                     const std::vector<double>& available, double handover, const GoalRules& rules) {
  GoalNeeds needs;
  needs.of_class.resize(measured.classes());
  needs.weight = job.hints.weight;
  needs.has_goal = job.deadline.has_value();
  double seconds = -kNever;  // to the goal
  if (job.deadline) {
    seconds = in_seconds(*job.deadline - view.now());
    needs.past_goal = -seconds;
    needs.allowed = std::max(1e-3, in_seconds(*job.deadline - job.submitted));
    needs.late = seconds <= 0;
  }
  const std::vector<StageOnClasses> stages = stages_of(view, measured, job, kind, rules.threshold);
  const std::vector<PhaseLeft> phases = phases_left(stages);
  for (const StageOnClasses& stage : stages) needs.seconds += work_on_all(view, measured, kind, stage);
  double all_slots = 0;
  for (std::size_t i = 0; i < measured.classes(); ++i) all_slots += measured.slots(view, i, kind);
  needs.at_best = seconds_with(phases, all_slots);
  for (const StageOnClasses& stage : stages) {
    if (!stage.takes) continue;
    if (stage.lengths.empty()) {
      needs.measured = false;
      for (std::size_t i = 0; i < needs.of_class.size(); ++i) {
        needs.of_class[i].calibrates = needs.of_class[i].calibrates || stage.untried[i];
        needs.of_class[i].running += std::accumulate(stage.running.begin(), stage.running.end(), 0.0);
      }
      continue;
    }
    const double of_phase = phases[stage.phase].work;
    for (std::size_t i = 0; i < stage.running.size(); ++i) needs.running_seconds += stage.running[i] * stage.lengths[i];
    double slots = 0;
    if (job.deadline && of_phase > 0) {
      const auto left = std::span(phases).subspan(stage.phase);
      const double own = seconds - (stage.stage->pending.empty() ? 0 : rules.reserve * stage.best());
      const double handovers = rules.reserve * handover * static_cast<double>(left.size() - 1);
      const double most = kMostWaves * std::max(1.0, left.front().tasks);
      double of_all = slots_needed(left, own);
      needs.unattainable = needs.unattainable || of_all >= most;
      if (handovers > 0) {
        const double sooner = slots_needed(left, own - std::clamp(own / 2, 0.0, handovers));
        if (sooner < most) of_all = sooner;
      }
      slots = of_all * stage.work() / of_phase;
    }
    add_stage(stage, slots, seconds, available, rules.margin, needs);
  }
  return needs;
}

}  // namespace weft::schedulers
