#include "schedulers/parts/goal_order.hpp"

#include <algorithm>

namespace weft::schedulers {

namespace {

/// Needs change slowly with time alone: jobs to which nothing happens are looked at this often.
constexpr Time kRefresh = std::chrono::seconds(1);

}  // namespace

Result<void> GoalOrder::start(const ClusterView& view, Part*) {
  measured_.start(view);
  return {};
}

void GoalOrder::on_event(const ClusterView& view, const Notice& notice) {
  using Kind = Notice::Kind;
  measured_.on_event(view, notice);
  for (auto& [kind, queue] : queues_) {
    if (notice.kind == Kind::job_changed) queue.changed.insert(notice.job);
    if (notice.kind == Kind::job_ended) {
      remove(queue, notice.job);
      queue.changed.erase(notice.job);
    }
    if (notice.kind == Kind::node_joined || notice.kind == Kind::node_left || notice.kind == Kind::node_changed)
      queue.refreshed.reset();
  }
}

std::vector<double> GoalOrder::slots_of_classes(const ClusterView& view, SlotKind kind) const {
  std::vector<double> slots(measured_.classes());
  for (std::size_t i = 0; i < slots.size(); ++i) slots[i] = measured_.slots(view, i, kind);
  return slots;
}

void GoalOrder::begin(const ClusterView& view, std::size_t) {
  for (const SlotKind kind : slot_kinds(view)) refresh(view, kind, queues_[kind]);
}

void GoalOrder::refresh(const ClusterView& view, SlotKind kind, Queue& queue) {
  queue.ranks.resize(measured_.classes());
  queue.jobs.resize(measured_.classes());
  std::vector<double> available = slots_of_classes(view, kind);
  // Where there are classes, what one job takes of the fast nodes is not there for others.
  const bool all = measured_.classes() > 1 || !queue.refreshed || view.now() - *queue.refreshed >= kRefresh;
  if (!all) {
    for (const JobId id : std::exchange(queue.changed, {}))
      if (const JobInfo* job = view.job(id)) look_at(view, kind, queue, *job, available);
    return;
  }
  queue.refreshed = view.now();
  queue.changed.clear();
  std::vector<std::pair<double, const JobInfo*>> jobs;  // who gains most by fast nodes comes first
  for (const JobOrder& order : view.runnable_jobs()) {
    const JobInfo& job = *view.job(order.id);
    const auto known = queue.needs.find(order.id);
    double speedup = 1;
    if (known != queue.needs.end()) {
      speedup = known->second.speedup;
    } else if (measured_.classes() > 1) {
      speedup = goal_needs(view, measured_, job, kind, available, options_.threshold).speedup;
    }
    jobs.emplace_back(speedup, &job);
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [speedup, job] : jobs) look_at(view, kind, queue, *job, available);
}

/// Works out what the job needs now, and takes that from what is available.
void GoalOrder::look_at(const ClusterView& view, SlotKind kind, Queue& queue, const JobInfo& job, std::vector<double>& available) {
  const bool takes = std::any_of(job.runnable.begin(), job.runnable.end(),
                                 [&](StageId id) { return slot_kind_of(job.stages.at(id), kind != SlotKind::any) == kind; });
  if (!takes) return remove(queue, job.id);
  GoalNeeds& needs = queue.needs[job.id] = goal_needs(view, measured_, job, kind, available, options_.threshold);
  if (needs.speedup > 1) {
    for (std::size_t i = 1; i < available.size(); ++i) available[i] = std::max(0.0, available[i] - needs.of_class[i].required);
  }
  place(queue, job);
}

std::optional<GoalOrder::Rank> GoalOrder::rank(const JobInfo& job, const GoalNeeds& needs, std::size_t node_class) const {
  const GoalNeeds::OfClass& on = needs.of_class[node_class];
  const JobOrder order{job.priority, job.submitted, job.id};
  if (!on.useful && !on.calibrates) return std::nullopt;
  if (needs.late) return Rank{options_.late_first ? Tier::late : Tier::late_after, 0, -needs.lateness(), order};
  const bool tried_first = needs.of_class.size() > 1;
  if (needs.has_goal && (tried_first ? on.calibrates : !needs.measured)) return Rank{Tier::unknown, 0, 0, order};
  if (on.need() > 0) return Rank{Tier::needy, 0, -on.need() * (on.prefers ? on.scale : 1), order};
  return Rank{Tier::served, on.prefers ? 0 : 1, -on.need() / needs.weight, order};
}

void GoalOrder::place(Queue& queue, const JobInfo& job) {
  const GoalNeeds& needs = queue.needs.at(job.id);
  for (std::size_t i = 0; i < queue.jobs.size(); ++i) {
    if (const auto old = queue.ranks[i].find(job.id); old != queue.ranks[i].end()) {
      queue.jobs[i].erase(old->second);
      queue.ranks[i].erase(old);
    }
    if (const auto now = rank(job, needs, i)) {
      queue.ranks[i].emplace(job.id, *now);
      queue.jobs[i].emplace(*now, &job);
    }
  }
}

void GoalOrder::remove(Queue& queue, JobId job) {
  queue.needs.erase(job);
  for (std::size_t i = 0; i < queue.jobs.size(); ++i) {
    const auto old = queue.ranks[i].find(job);
    if (old == queue.ranks[i].end()) continue;
    queue.jobs[i].erase(old->second);
    queue.ranks[i].erase(old);
  }
}

bool GoalOrder::offer(const ClusterView&, SlotKind kind, Turn& turn) {
  Queue& queue = queues_[kind];
  const std::size_t on = turn.node() == nullptr ? 0 : measured_.class_of(*turn.node());
  if (on >= queue.jobs.size()) return false;
  auto& jobs = queue.jobs[on];
  auto next = jobs.begin();
  if (!turn.starts_over()) {
    const auto now = queue.ranks[on].find(std::get<JobOrder>(queue.served).id);  // it may have become more urgent
    next = jobs.lower_bound(now == queue.ranks[on].end() ? queue.served : std::min(queue.served, now->second));
  }
  for (; next != jobs.end(); ++next) {
    queue.served = next->first;
    const JobInfo& job = *next->second;
    const std::uint64_t pending = job.pending;
    if (!turn.serve(job)) continue;
    if (job.pending != pending) launched(queue, job, on);
    return true;
  }
  return false;
}

/// A task that has just begun is wholly left: one more runs, and nothing else has changed.
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

bool GoalOrder::ahead(const ClusterView& view, const JobInfo& job) const {
  for (const SlotKind kind : slot_kinds(view)) {
    const auto queue = queues_.find(kind);
    if (queue == queues_.end()) continue;
    const auto found = queue->second.needs.find(job.id);
    if (found == queue->second.needs.end()) continue;
    const GoalNeeds& needs = found->second;
    if (needs.late || (needs.has_goal && !needs.measured)) return false;
    return std::all_of(needs.of_class.begin(), needs.of_class.end(), [](const auto& on) { return on.need() <= 0; });
  }
  return false;
}

}  // namespace weft::schedulers
