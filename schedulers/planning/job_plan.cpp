#include "schedulers/planning/job_plan.hpp"

#include <algorithm>
#include <cmath>

#include "schedulers/planning/troublesome.hpp"

namespace weft::schedulers {

namespace {

/// A task that is early or late by at most 1 / kTolerance of its duration ends as believed.
constexpr std::int64_t kTolerance = 20;
/// A share that differs by less than this part of itself is about the same.
constexpr double kAboutTheSame = 0.02;
/// A task that should have ended is believed to take 1 / kOverdue of its duration more.
constexpr std::int64_t kOverdue = 10;

/// A stage was misjudged when the mean of its tasks differs from the believed duration by more than 1 / kFarOff of that.
constexpr std::int64_t kFarOff = 2;

bool far_off(const StageInfo& stage, Time believed) {
  if (stage.observed_count == 0) return false;
  const Time off = stage.observed_total / static_cast<std::int64_t>(stage.observed_count) - believed;
  return std::max(off, -off) > believed / kFarOff;
}

bool less(const Parts& a, const Parts& b) {
  for (std::size_t kind = 0; kind < a.size(); ++kind) {
    if (a[kind] < b[kind] - 1e-9) return true;
  }
  return false;
}

Time believed_or_second(const StageInfo& stage) { return believed_duration(stage).value_or(std::chrono::seconds(1)); }

}  // namespace

IntraOrder JobPlan::order_of(const JobDag& dag, const Parts& limit, Direction direction, const PlanOptions& options) {
  IntraOrder order;
  order.digits = options.digits;
  if (options.intra == IntraPolicy::critical_path) order.rank = ranks_by_path(dag.stages, direction);
  if (options.intra != IntraPolicy::dagps) return order;
  if (trouble_.empty()) {
    for (const Direction each : {Direction::forwards, Direction::backwards}) {
      const auto ranks = ranks_by_trouble(dag.stages, limit, each);
      for (std::size_t i = 0; i < ranks.size(); ++i) trouble_[dag.ids[i]].at(static_cast<std::size_t>(each)) = ranks[i];
    }
  }
  for (StageId id : dag.ids) order.rank.push_back(trouble_[id].at(static_cast<std::size_t>(direction)));
  return order;
}

std::uint32_t JobPlan::due(StageId stage) const {
  if (due_tasks_ == 0) return 0;
  const auto at = dag_.position(stage);
  return at ? due_[*at] : 0;
}

void JobPlan::count_due(std::uint32_t position, double tasks) {
  due_[position] += static_cast<std::uint32_t>(static_cast<std::int64_t>(tasks));
  due_tasks_ += static_cast<std::uint32_t>(static_cast<std::int64_t>(tasks));
  due_demand_ += dag_.stages[position].demand * tasks;
  if (due_tasks_ == 0) due_demand_ = {};
}

bool JobPlan::made_for(const Parts& share) const {
  for (std::size_t kind = 0; kind < share.size(); ++kind) {
    if (std::abs(share[kind] - made_for_[kind]) > kAboutTheSame * made_for_[kind]) return false;
  }
  return true;
}

/// The demands of due tasks are kept by due_demand() until they are launched, no longer by future_.
void JobPlan::advance(Time now) {
  while (next_ < ahead_.size() && ahead_[next_].start <= now) {
    PlannedLaunches& one = ahead_[next_];
    if (one.tasks > 0) {
      note(one, true);
      count_due(one.stage, one.tasks);
      drop_wave(one);
    }
    if (one.tasks == 0) ++next_;
  }
}

void JobPlan::note(const PlannedLaunches& one, bool back) {
  const DagStage& stage = dag_.stages[one.stage];
  const auto change = back ? &FutureCapacity::take_back : &FutureCapacity::add;
  (future_->*change)(one.start, stage.demand, one.tasks);
  (future_->*change)(one.end(stage.duration), stage.demand, -static_cast<double>(one.tasks));
}

/// The first of its waves, which has been taken out of future_ with the others; those are added again.
void JobPlan::drop_wave(PlannedLaunches& one) {
  if (--one.times == 0) {
    one.tasks = 0;
    return;
  }
  one.start += dag_.stages[one.stage].duration;
  note(one, false);
}

/// One task of the first wave.
void JobPlan::drop_task(std::size_t at) {
  PlannedLaunches first = ahead_[at];
  note(first, true);
  drop_wave(ahead_[at]);
  first.times = 1;
  if (--first.tasks == 0) return;
  note(first, false);
  if (ahead_[at].tasks == 0) {
    ahead_[at] = first;
  } else {
    ahead_.insert(ahead_.begin() + static_cast<std::ptrdiff_t>(at), first);
  }
}

void JobPlan::withdraw() {
  for (std::size_t i = next_; i < ahead_.size(); ++i) {
    if (ahead_[i].tasks > 0) note(ahead_[i], true);
  }
}

void JobPlan::restore() {
  for (std::size_t i = next_; i < ahead_.size(); ++i) {
    if (ahead_[i].tasks > 0) note(ahead_[i], false);
  }
}

void JobPlan::drop() {
  withdraw();
  ahead_.clear();
  next_ = 0;
  std::fill(due_.begin(), due_.end(), 0u);
  due_tasks_ = 0;
  due_demand_ = {};
  for (auto task = running_.begin(); task != running_.end();) forget(task++);
  sound_ = false;
  stale_ = true;
}

void JobPlan::make(Time now, const Parts& share, const Parts& free, const PlanOptions& options) {
  stale_ = false;
  made_for_ = share;
  JobDag dag = dag_of(*job_, *capacity_, options.digits, largest_);
  Parts limit = share;
  if (options.mode == PlanMode::reference) {
    DagPlan plan = reference_plan(dag, limit, options);
    withdraw();
    return adopt(now, std::move(dag), std::move(plan));
  }
  add_running(now, dag);
  for (const DagStage& stage : dag.stages) {  // any job may run one task at a time
    if (stage.waiting > 0) limit = pointwise_max(limit, stage.demand);
  }
  part_ = 1;
  for (std::size_t kind = 0; kind < limit.size(); ++kind) {
    if (limit[kind] > share[kind] + 1e-9) part_ = std::min(part_, std::max(share[kind], 0.0) / limit[kind]);
  }
  DagPlan plan = packed(dag, limit, Direction::backwards, options);
  bool keep = false;
  if (options.mode == PlanMode::safe) {
    DagPlan early = pack(dag.stages, limit, Direction::forwards);  // the guarantee, whatever the order inside the job
    if (plan.length > early.length) plan = std::move(early);
    keep = sound_ && !less(limit, share_);
  }
  share_ = limit;
  withdraw();
  if (keep && (now + plan.length > ends_ || !future_->holds(dag.stages, plan, free))) return restore();
  adopt(now, std::move(dag), std::move(plan));
}

DagPlan JobPlan::reference_plan(const JobDag& dag, Parts limit, const PlanOptions& options) {
  const Parts used = parts_of(job_->used, *capacity_, options.digits);
  for (std::size_t kind = 0; kind < limit.size(); ++kind)
    limit[kind] = rounded(std::max(rounded(limit[kind], options.digits) - used[kind], 0.0), options.digits);
  DagPlan plan;
  for (const DagStage& stage : dag.stages) {
    if (stage.waiting > 0 && less(limit, stage.demand)) return plan;
  }
  plan = packed(dag, limit, Direction::backwards, options);
  if (!plan.complete) plan.launches.clear();
  return plan;
}

/// The old plan has been withdrawn.
void JobPlan::adopt(Time now, JobDag dag, DagPlan plan) {
  dag_ = std::move(dag);
  ahead_ = std::move(plan.launches);
  for (PlannedLaunches& one : ahead_) one.start += now;
  ends_ = now + plan.length;
  length_ = plan.length;
  next_ = 0;
  due_.assign(dag_.stages.size(), 0);
  due_tasks_ = 0;
  due_demand_ = {};
  sound_ = true;
  restore();
  advance(now);
}

void JobPlan::add_running(Time now, JobDag& dag) const {
  for (std::size_t i = 0; i < dag.ids.size(); ++i) {
    const auto ends = ends_of_.find(dag.ids[i]);
    if (ends == ends_of_.end()) continue;
    auto& running = dag.stages[i].running;
    running.reserve(ends->second.size());
    for (const Ends& one : ends->second)
      running.push_back({one.until > now ? one.until - now : std::max(one.took / kOverdue, Time(1)), one.tasks});
    if (ends->second.front().until > now) continue;
    std::ranges::sort(running, {}, &RunningTasks::until);  // some should have ended
  }
}

void JobPlan::run(StageId stage, std::uint32_t task, Time since) {
  Running running;
  running.took = believed_or_second(*job_->stage(stage));
  running.until = since + running.took;
  running.demand = parts_of(job_->stage(stage)->demand, *capacity_, {});
  future_->add(running.until, running.demand, -1);
  running_.insert_or_assign(TaskKey(stage, task), running);
  auto& ends = ends_of_[stage];
  const auto at = std::ranges::upper_bound(ends, running.until, {}, &Ends::until);
  if (at != ends.begin() && std::prev(at)->until == running.until && std::prev(at)->took == running.took) {
    ++std::prev(at)->tasks;
  } else {
    ends.insert(at, {running.until, running.took, 1});
  }
}

void JobPlan::forget(std::map<TaskKey, Running>::iterator task) {
  const Running& running = task->second;
  future_->take_back(running.until, running.demand, -1);
  auto& ends = ends_of_[task->first.first];
  auto at = std::ranges::lower_bound(ends, running.until, {}, &Ends::until);
  while (at != ends.end() && at->took != running.took) ++at;
  if (at != ends.end() && --at->tasks == 0) ends.erase(at);
  if (ends.empty()) ends_of_.erase(task->first.first);
  running_.erase(task);
}

bool JobPlan::launched(Time now, StageId stage, std::uint32_t task) {
  run(stage, task, now);
  const auto at = dag_.position(stage);
  if (at && due_[*at] > 0) {
    count_due(*at, -1);
    return true;
  }
  stale_ = true;
  for (std::size_t i = next_; at && i < ahead_.size(); ++i) {
    if (ahead_[i].stage != *at || ahead_[i].tasks == 0) continue;
    drop_task(i);
    return false;
  }
  sound_ = false;  // it knows nothing of this task
  return false;
}

void JobPlan::ended(Time now, StageId stage, std::uint32_t task) {
  const auto found = running_.find({stage, task});
  if (found == running_.end()) return;
  const Time early = found->second.until - now, tolerated = found->second.took / kTolerance;
  if (!misjudged_ && far_off(*job_->stage(stage), found->second.took)) misjudged_ = stage;
  forget(found);
  if (early > tolerated || early < -tolerated) stale_ = true;
  if (early < -tolerated) sound_ = false;
}

void JobPlan::failed(StageId stage, std::uint32_t task) {
  if (const auto found = running_.find({stage, task}); found != running_.end()) forget(found);
  stale_ = true;
  sound_ = false;
}

void JobPlan::check_running(const ClusterView& view) {
  if (job_->finished < finished_) {  // outputs were lost, and their tasks run again
    stale_ = true;
    sound_ = false;
  }
  finished_ = job_->finished;
  if (running_.size() == job_->running) return;
  for (auto task = running_.begin(); task != running_.end();) forget(task++);
  for (const auto& [id, stage] : job_->stages) {
    if (stage.running == 0) continue;
    for (std::uint32_t i = 0; i < stage.tasks.size(); ++i) {
      if (stage.tasks[i].state == TaskState::running) run(id, i, std::min(stage.tasks[i].launched, view.now()));
    }
  }
  stale_ = true;
  sound_ = false;
}

}  // namespace weft::schedulers
