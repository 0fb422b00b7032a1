#include "schedulers/parts/goal_order.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "schedulers/prediction/goals_met.hpp"
#include "schedulers/prediction/work_left.hpp"

namespace weft::schedulers {

namespace {

/// Needs change slowly with time alone: those of jobs without events are computed this often.
constexpr Time kRefresh = std::chrono::seconds(1);

/// Of the jobs with goals: where more cannot meet theirs, or have not met them lately, the next ones would not either.
constexpr double kFewHopeless = 0.1;
constexpr double kFewJobs = 3;          // say nothing
constexpr double kLastGoal = 1.0 / 20;  // weight of the last job with a goal

/// Of a job without a goal, where all nodes are alike and its fair end decides: it may have many tasks that run.
GoalNeeds without_goal(const ClusterView& view, const JobInfo& job) {
  GoalNeeds needs;
  needs.of_class.resize(1);
  needs.of_class[0].running = static_cast<double>(job.running);
  needs.weight = job.hints.weight;
  needs.has_goal = false;
  for (const auto& [id, stage] : job.stages) {
    if (stage.running > 0) needs.running_seconds += stage.running * task_length(view, job, stage).value_or(0);
  }
  return needs;
}

}  // namespace

Result<void> GoalOrder::start(const ClusterView& view, Part* before) {
  const auto* old = dynamic_cast<const GoalOrder*>(before);
  if (options_.by_fair_ends) ends_.start(view, old != nullptr && old->options_.by_fair_ends ? &old->ends_ : nullptr);
  measured_.start(view);
  return {};
}

void GoalOrder::on_event(const ClusterView& view, const Notice& notice) {
  using Kind = Notice::Kind;
  measured_.on_event(view, notice);
  if (options_.by_fair_ends) ends_.on_event(view, notice);
  if (notice.kind == Kind::job_ended) learn_whether_met(view, *view.job(notice.job));
  for (auto& [kind, queue] : queues_) {
    if (notice.kind == Kind::job_changed) queue.changed.insert(notice.job);
    if (notice.kind == Kind::job_ended) {
      remove(queue, notice.job);
      queue.changed.erase(notice.job);
    }
    switch (notice.kind) {
      case Kind::job_arrived:
      case Kind::job_ended:
      case Kind::node_joined:
      case Kind::node_left:
      case Kind::node_changed:
        queue.refreshed.reset();
        break;
      default:
        break;
    }
  }
}

void GoalOrder::learn_whether_met(const ClusterView& view, const JobInfo& job) {
  if (job.deadline) missed_ += kLastGoal * ((view.now() > *job.deadline ? 1 : 0) - missed_);
}

std::vector<double> GoalOrder::slots_of_classes(const ClusterView& view, SlotKind kind) const {
  std::vector<double> slots(measured_.classes());
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = measured_.slots(view, i, kind);
  return slots;
}

void GoalOrder::begin(const ClusterView& view, std::size_t) {
  if (options_.by_fair_ends && (ends_.refresh(view) || placed_at_ != ends_.changes())) {
    placed_at_ = ends_.changes();
    for (auto& [kind, queue] : queues_) {
      for (const auto& [id, needs] : queue.needs)
        if (view.job(id) != nullptr) place(queue, *view.job(id));
    }
  }
  for (const SlotKind kind : slot_kinds(view)) refresh(view, kind, queues_[kind]);
}

void GoalOrder::refresh(const ClusterView& view, SlotKind kind, Queue& queue) {
  queue.jobs.resize(measured_.classes());
  std::vector<double> available = slots_of_classes(view, kind);
  // Where there are classes, the slots of fast nodes that one job takes are not available to others.
  const bool all = measured_.classes() > 1 || !queue.refreshed || view.now() - *queue.refreshed >= kRefresh;
  if (!all) {
    for (const JobId id : std::exchange(queue.changed, {}))
      if (const JobInfo* job = view.job(id)) update(view, kind, queue, *job, available);
    return;
  }
  queue.refreshed = view.now();
  for (const JobId id : std::exchange(queue.changed, {})) {
    if (const JobInfo* job = view.job(id); job == nullptr || job->pending == 0) remove(queue, id);
  }
  struct Candidate {
    bool gives_up = false;
    double speedup = 1;
    const JobInfo* job = nullptr;
  };
  std::vector<Candidate> jobs;
  for (const JobOrder& order : view.runnable_jobs()) {
    const JobInfo& job = *view.job(order.id);
    const auto known = queue.needs.find(order.id);
    double speedup = 1;
    if (known != queue.needs.end()) {
      speedup = known->second.speedup;
    } else if (measured_.classes() > 1) {
      speedup = goal_needs(view, measured_, job, kind, available, queue.handover, options_.rules).speedup;
    }
    const bool gives_up = known != queue.needs.end() && !options_.late_first && gives_up_goal(queue, job, known->second);
    jobs.push_back({gives_up, speedup, &job});
  }
  // First jobs that can meet their goals, then the others; of either, the job that gains most by fast nodes first.
  std::stable_sort(jobs.begin(), jobs.end(), [](const Candidate& a, const Candidate& b) {
    return std::pair(a.gives_up, -a.speedup) < std::pair(b.gives_up, -b.speedup);
  });
  const double slots = std::accumulate(available.begin(), available.end(), 0.0);
  queue.even_part = slots / static_cast<double>(std::max<std::size_t>(1, jobs.size()));
  for (const Candidate& candidate : jobs) update(view, kind, queue, *candidate.job, available);
  if (!options_.by_need) give_up(view, slots, queue);
  double running = 0, seconds = 0;
  for (const auto& [id, needs] : queue.needs) {
    running += needs.running();
    seconds += needs.running_seconds;
  }
  queue.handover = running > 0 ? seconds / running : 0;
}

void GoalOrder::give_up(const ClusterView& view, double slots, Queue& queue) const {
  std::vector<JobId> jobs;
  std::vector<Goal> goals;
  for (const auto& [id, needs] : queue.needs) {
    if (!needs.has_goal || !needs.measured || needs.late || needs.unattainable) continue;
    jobs.push_back(id);
    goals.push_back({-needs.past_goal, needs.seconds, needs.at_best});
  }
  const std::vector<bool> out = goals_to_give_up(goals, slots);
  const std::set<JobId> before = std::exchange(queue.given_up, {});
  std::size_t hopeless = static_cast<std::size_t>(std::ranges::count(out, true)), with_goal = 0;
  for (const auto& [id, needs] : queue.needs) {
    if (!needs.has_goal) continue;
    ++with_goal;
    if (needs.measured && (needs.late || needs.unattainable)) ++hopeless;
  }
  const double few = std::max(kFewJobs, kFewHopeless * static_cast<double>(with_goal));
  const bool overloaded = missed_ > kFewHopeless || static_cast<double>(hopeless) > few;
  const bool was_overloaded = queue.overloaded;
  queue.overloaded = options_.by_fair_ends && overloaded;
  const bool moved = was_overloaded != queue.overloaded;
  const std::set<JobId> at_risk_before = std::exchange(queue.at_risk, {});
  const std::vector<bool> at_risk =
      options_.by_fair_ends ? goals_at_risk(goals, out, slots, options_.rules.margin, options_.rules.reserve * queue.handover)
                            : std::vector<bool>(jobs.size());
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (out[i]) queue.given_up.insert(jobs[i]);
    if (at_risk[i]) queue.at_risk.insert(jobs[i]);
  }
  for (const auto& [id, needs] : queue.needs)
    if (moved && view.job(id) != nullptr) place(queue, *view.job(id));
  for (const JobId id : jobs)
    if (before.contains(id) != queue.given_up.contains(id) || at_risk_before.contains(id) != queue.at_risk.contains(id))
      place(queue, *view.job(id));
}

/// Computes the needs of the job, and subtracts them from the available slots.
void GoalOrder::update(const ClusterView& view, SlotKind kind, Queue& queue, const JobInfo& job, std::vector<double>& available) {
  const bool takes = std::any_of(job.runnable.begin(), job.runnable.end(),
                                 [&](StageId id) { return slot_kind_of(job.stages.at(id), kind != SlotKind::any) == kind; });
  if (!takes) return remove(queue, job.id);
  const bool needs_nothing = options_.by_fair_ends && !job.deadline && measured_.classes() == 1;
  GoalNeeds& needs = queue.needs[job.id] =
      needs_nothing ? without_goal(view, job) : goal_needs(view, measured_, job, kind, available, queue.handover, options_.rules);
  if (needs.speedup > 1) {
    for (std::size_t i = 1; i < available.size(); ++i) available[i] = std::max(0.0, available[i] - needs.of_class[i].required);
  }
  if (!options_.by_need) stop_waiting(view, queue, job, needs);
  place(queue, job);
}

/// A job that has had no slot on a faster class for as long as a task runs needs more slots elsewhere instead.
void GoalOrder::stop_waiting(const ClusterView& view, Queue& queue, const JobInfo& job, GoalNeeds& needs) {
  bool waits = false;
  for (std::size_t i = 1; i < needs.of_class.size() && needs.speedup > 1; ++i)
    waits = waits || (needs.of_class[i].required > 0 && needs.of_class[i].running == 0);
  if (!waits) {
    queue.waits_since.erase(job.id);
    return;
  }
  const Time since = queue.waits_since.try_emplace(job.id, view.now()).first->second;
  if (in_seconds(view.now() - since) <= queue.handover) return;
  for (std::size_t i = 1; i < needs.of_class.size(); ++i) {
    const GoalNeeds::OfClass& on = needs.of_class[i];
    if (on.running == 0) needs.of_class[0].required += slots_elsewhere(on.required, 0, on.scale);
  }
}

bool GoalOrder::gives_up_goal(const Queue& queue, const JobInfo& job, const GoalNeeds& needs) {
  return needs.late || needs.unattainable || queue.given_up.contains(job.id);
}

std::optional<GoalOrder::Rank> GoalOrder::rank(const Queue& queue, const JobInfo& job, const GoalNeeds& needs,
                                               std::size_t node_class) const {
  const GoalNeeds::OfClass& on = needs.of_class[node_class];
  const JobOrder order{job.priority, job.submitted, job.id};
  if (!on.useful && !on.calibrates) return std::nullopt;
  if (needs.late && options_.late_first) return Rank{Tier::late, 0, -needs.lateness(), order};
  if (!options_.late_first && !options_.by_fair_ends && gives_up_goal(queue, job, needs))
    return Rank{Tier::late_after, 0, -needs.lateness(), order};
  const bool tried_first = needs.of_class.size() > 1;
  const bool unknown = tried_first ? on.calibrates : !needs.measured && (options_.by_need || on.running < queue.even_part);
  if (options_.by_fair_ends && !on.calibrates &&
      (!needs.has_goal || !needs.measured || queue.overloaded || gives_up_goal(queue, job, needs) ||
       !queue.at_risk.contains(job.id)))
    return Rank{Tier::served, on.prefers ? 0 : 1, ends_.rank(job.id), order};
  if (needs.has_goal && unknown) return Rank{Tier::unknown, 0, 0, order};
  if (options_.by_need && on.need() > 0) return Rank{Tier::needy, 0, -on.need() * (on.prefers ? on.scale : 1), order};
  if (!options_.by_need && on.need() + options_.rules.margin * on.required > 0) {
    return Rank{Tier::needy, 0, -needs.past_goal, order};
  }
  return Rank{Tier::served, on.prefers ? 0 : 1, options_.by_fair_ends ? ends_.rank(job.id) : -on.need() / needs.weight, order};
}

void GoalOrder::place(Queue& queue, const JobInfo& job) const {
  const GoalNeeds& needs = queue.needs.at(job.id);
  for (std::size_t i = 0; i < queue.jobs.size(); ++i) {
    if (const auto now = rank(queue, job, needs, i)) {
      queue.jobs[i].place(job.id, *now, &job);
    } else {
      queue.jobs[i].remove(job.id);
    }
  }
}

void GoalOrder::remove(Queue& queue, JobId job) {
  queue.needs.erase(job);
  queue.given_up.erase(job);
  queue.at_risk.erase(job);
  queue.waits_since.erase(job);
  for (auto& jobs : queue.jobs) jobs.remove(job);
}

bool GoalOrder::offer(const ClusterView&, SlotKind kind, Launcher& launcher) {
  Queue& queue = queues_[kind];
  const std::size_t on = launcher.node() == nullptr ? 0 : measured_.class_for_launch(*launcher.node());
  if (on >= queue.jobs.size()) return false;
  return queue.jobs[on].offer(launcher.starts_over(), [&](const JobInfo* job) {
    const std::uint64_t pending = job->pending;
    if (!launcher.launch(*job)) return false;
    if (job->pending != pending) launched(queue, *job, on);
    return true;
  });
}

/// A task has just begun, so all of it is left: one more runs, and nothing else has changed.
void GoalOrder::launched(Queue& queue, const JobInfo& job, std::size_t node_class) {
  const auto served = queue.needs.find(job.id);
  if (served == queue.needs.end()) return;
  if (job.pending == 0) return remove(queue, job.id);
  GoalNeeds& needs = served->second;
  needs.of_class[node_class].calibrates = false;
  for (std::size_t i = 0; i < needs.of_class.size(); ++i) {
    if (i == node_class || needs.speedup <= 1) needs.of_class[i].running += 1;
  }
  place(queue, job);
}

/// Records why jobs take no nodes on which they are slow.
void GoalOrder::explain(const ClusterView& view, Launcher& launcher) {
  for (const auto& [kind, queue] : queues_) {
    for (const auto& [id, needs] : queue.needs) {
      for (std::size_t i = 0; i < needs.of_class.size(); ++i) {
        if (queue.jobs[i].contains(id) || measured_.slots(view, i, kind) <= 0) continue;
        launcher.hold(id,
                      fmt::format("its tasks take so long on nodes {} that they would end after the rest of it, and after its goal",
                                  i == 0 ? "without " + options_.attribute : "with " + measured_.name(i)));
        break;
      }
    }
  }
}

bool GoalOrder::urgent(const ClusterView& view, const JobInfo& job) const {
  if (options_.by_need || !job.deadline) return false;
  if (options_.by_fair_ends &&
      std::ranges::none_of(queues_, [&](const auto& queue) { return queue.second.at_risk.contains(job.id); }))
    return false;
  return !ahead(view, job);
}

Sharing GoalOrder::sharing(const ClusterView& view) const {
  if (!options_.by_fair_ends) return {.goals = Goals::needed};
  Sharing sharing{.goals = Goals::at_risk, .margin = options_.rules.margin, .order = ends_.order(view)};
  for (const auto& [kind, queue] : queues_) {
    if (queue.overloaded) sharing.goals = Goals::none;
    sharing.wait = std::max(sharing.wait, options_.rules.reserve * queue.handover);
  }
  return sharing;
}

bool GoalOrder::ahead(const ClusterView& view, const JobInfo& job) const {
  for (const SlotKind kind : slot_kinds(view)) {
    const auto queue = queues_.find(kind);
    if (queue == queues_.end()) continue;
    const auto found = queue->second.needs.find(job.id);
    if (found == queue->second.needs.end()) continue;
    const GoalNeeds& needs = found->second;
    if (needs.late || (needs.has_goal && !needs.measured) || queue->second.given_up.contains(job.id)) return false;
    return std::all_of(needs.of_class.begin(), needs.of_class.end(), [](const auto& on) { return on.need() <= 0; });
  }
  return false;
}

}  // namespace weft::schedulers
