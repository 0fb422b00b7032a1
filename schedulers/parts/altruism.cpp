#include "schedulers/parts/altruism.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "schedulers/view/points_of_time.hpp"

namespace weft::schedulers {

namespace {

/// A job that must begin within this time must begin now: amounts of time are rounded.
constexpr Time kSoon = std::chrono::milliseconds(1);

}  // namespace

Altruism::Altruism(std::unique_ptr<JobShares> shares, const AltruismOptions& options)
    : share_limit_(std::move(shares), options.plan.digits), options_(options), random_(options.seed) {}

Altruism::Planned& Altruism::planned(const JobInfo& job) {
  return plans_.try_emplace(job.id, Planned{JobPlan(job, future_, capacity_, largest_)}).first->second;
}

Result<void> Altruism::start(const ClusterView& view, Part*) {
  take_capacity(view);
  for (const auto& [id, job] : view.jobs()) planned(job).plan.check_running(view);
  return share_limit_.start(view, nullptr);
}

void Altruism::on_event(const ClusterView& view, const Notice& notice) {
  using Kind = Notice::Kind;
  share_limit_.on_event(view, notice);
  const JobInfo* job = view.job(notice.job);
  if (notice.kind == Kind::job_arrived) planned(*job);
  const auto found = plans_.find(notice.job);
  if (found == plans_.end()) return;
  JobPlan& plan = found->second.plan;
  const TaskId task{notice.job, notice.stage, notice.task};
  switch (notice.kind) {
    case Kind::job_ended:
      plan.drop();
      plans_.erase(found);
      loans_.ended(notice.job);
      return;
    case Kind::stage_added:
      found->second.owed = Time(-1);
      return plan.changed();
    case Kind::job_changed:
      if (options_.plan.mode == PlanMode::reference) plan.set_stale();
      return plan.check_running(view);
    case Kind::task_launched:
      if (plan.launched(view.now(), notice.stage, notice.task)) return;
      future_.taken(parts_of(job->stage(notice.stage)->demand, capacity_, {}));
      if (!found->second.greedy) borrowed(task);
      return;
    case Kind::task_finished:
      plan.ended(view.now(), notice.stage, notice.task);
      return loans_.ended(task);
    case Kind::task_failed:
    case Kind::task_preempted:
      plan.failed(notice.stage, notice.task);
      return loans_.ended(task);
    default:
      return;
  }
}

/// The task counts as running on the share of the other job that leaves most of its own.
void Altruism::borrowed(const TaskId& task) {
  const Planned* lender = nullptr;
  double most = 0;
  for (const auto& [id, planned] : plans_) {
    const double leaves = id == task.job ? 0 : share_limit_.lacks(planned.plan.job()) - loans_.lent(id);
    if (leaves > most) {
      most = leaves;
      lender = &planned;
    }
  }
  if (lender != nullptr) loans_.lend(task, lender->plan.job().id);
}

void Altruism::plan(const ClusterView& view) {
  share_limit_.plan(view);
  recount(view);
  future_.begin(view.now(), {});
  for (auto& [id, planned] : plans_) {
    planned.plan.advance(view.now());
    if (!planned.early) continue;
    earn(view.now(), planned);
    if (!planned.early) planned.plan.set_stale();  // from now on one task after the other, not all that are due by the old plan
  }
  renew(view);
  for (auto& [id, planned] : plans_) {
    const JobInfo& job = planned.plan.job();
    if (job.pending > 0)
      planned.greedy = !planned.plan.trusted() || (options_.altruism < 1 && random_.uniform() >= options_.altruism);
    if (options_.plan.mode == PlanMode::faithful) earn(view.now(), planned);
  }
}

void Altruism::earn(Time now, Planned& planned) const {
  const JobPlan& plan = planned.plan;
  const double part = plan.part_of_task();
  if (planned.owed < Time(0)) {
    planned.owed = plan.length();
  } else {
    const auto since = static_cast<double>((now - planned.earned_at).count());
    planned.owed = std::max(Time(0), planned.owed - Time(static_cast<std::int64_t>(part * since)));
  }
  planned.earned_at = now;
  planned.early = part < 1 && due_from(now, planned) > now + kSoon;
}

/// When a job whose share is too small for a task must begin, so that it ends when its share would have done its work.
Time Altruism::due_from(Time now, const Planned& planned) const {
  const double part = std::max(planned.plan.part_of_task(), 1e-6);
  const double wait = static_cast<double>(planned.owed.count()) / part - static_cast<double>(planned.plan.length().count());
  return now + Time(static_cast<std::int64_t>(std::clamp(wait, 0.0, 1e18)));
}

void Altruism::take_capacity(const ClusterView& view) {
  capacity_ = view.capacity();
  largest_ = {};
  for (const auto& [id, node] : view.nodes()) {
    largest_ = pointwise_max(largest_, parts_of(node.capacity, capacity_, options_.plan.digits));
  }
}

/// Plans are in parts of the capacity: where it changes, they are made again.
void Altruism::recount(const ClusterView& view) {
  if (view.capacity() == capacity_) return;
  for (auto& [id, planned] : plans_) planned.plan.drop();
  future_.clear();
  take_capacity(view);
  for (auto& [id, planned] : plans_) planned.plan.check_running(view);
}

void Altruism::renew(const ClusterView& view) {
  const bool all = std::exchange(shares_seen_, share_limit_.changes()) != share_limit_.changes();
  Parts free = free_now(view);
  for (auto& [id, planned] : plans_) {
    JobPlan& plan = planned.plan;
    const Resources* share = share_limit_.shares().share(id);
    if (share == nullptr || (!all && !plan.stale())) continue;
    const Parts part = parts_of(*share, capacity_, options_.plan.digits);
    if (!plan.stale() && plan.made_for(part)) continue;
    free += plan.due_demand();
    plan.make(view.now(), part, free, options_.plan);
    free -= plan.due_demand();
  }
}

/// The free capacity, less the demands of due tasks and the shares of jobs without a plan.
Parts Altruism::free_now(const ClusterView& view) const {
  Parts free = parts_of(capacity_ - view.used(), capacity_, {});
  for (const auto& [id, planned] : plans_) {
    if (planned.plan.trusted()) {
      if (planned.plan.any_due()) free -= planned.plan.due_demand();
      continue;
    }
    if (planned.plan.job().pending > 0) free -= kept_share(planned.plan.job());
  }
  return free;
}

bool Altruism::may_launch(const ClusterView& view, const JobInfo& job) {
  const auto found = plans_.find(job.id);
  if (found == plans_.end()) return false;
  const Planned& planned = found->second;
  return planned.greedy && share_limit_.may_launch(view, job) ? true : must_launch(planned, std::nullopt);
}

bool Altruism::may_launch(const ClusterView& view, const JobInfo& job, const StageInfo& stage) {
  const auto found = plans_.find(job.id);
  if (found == plans_.end()) return false;
  const Planned& planned = found->second;
  return planned.greedy && share_limit_.may_launch(view, job, stage) ? true : must_launch(planned, stage.id);
}

/// Whether a task is due; a job without a plan may run one task at a time, however small its share.
bool Altruism::must_launch(const Planned& planned, std::optional<StageId> stage) const {
  if (!planned.greedy && planned.early) return false;
  if (!planned.greedy) return stage ? planned.plan.due(*stage) > 0 : planned.plan.any_due();
  if (options_.plan.mode == PlanMode::reference) return false;
  if (!planned.plan.trusted()) return planned.plan.job().running == 0 && (planned.plan.unknown() || !planned.early);
  if (options_.plan.mode == PlanMode::faithful) return false;
  return stage ? planned.plan.due(*stage) > 0 : planned.plan.any_due();
}

void Altruism::begin_leftover(const ClusterView& view) { future_.begin(view.now(), free_now(view)); }

/// What is left of the job's share, at least 0.
Parts Altruism::kept_share(const JobInfo& job) const {
  const Resources* share = share_limit_.shares().share(job.id);
  if (share == nullptr) return {};
  return pointwise_max(parts_of(*share - job.used, capacity_, {}), {});
}

bool Altruism::fits_leftover(const ClusterView&, const JobInfo& job, const StageInfo& stage) {
  const auto found = plans_.find(job.id);
  if (found == plans_.end()) return false;
  const JobPlan& plan = found->second.plan;
  if (plan.trusted() && plan.due(stage.id) > 0) return true;
  const Time takes = believed_duration(stage).value_or(std::chrono::seconds(1));
  Parts demand = parts_of(stage.demand, capacity_, {});
  if (!plan.trusted()) demand -= kept_share(job);
  return future_.holds(demand, takes);
}

void Altruism::decided(const ClusterView& view, Decisions& decisions) {
  Time next = Time::max();
  for (auto& [id, planned] : plans_) {
    if (planned.plan.trusted()) next = std::min(next, planned.early ? due_from(view.now(), planned) : planned.plan.next_start());
    if (planned.plan.job().pending > 0) explain(view.now(), planned, decisions);
  }
  if (next != Time::max()) decisions.wake_at(std::max(next, view.now()));
}

/// Records why a job waits that lends its share or has no plan.
void Altruism::explain(Time now, Planned& planned, Decisions& decisions) const {
  const JobInfo& job = planned.plan.job();
  std::string why;
  if (planned.plan.unknown()) {
    const StageInfo& stage = *job.stage(planned.plan.unknown_stages().front());
    why = fmt::format("keeps its share and lends nothing: how long tasks of stage {} ('{}') take is not known{}", stage.id.value(),
                      escaped(stage.name), stage.estimated_duration ? ", and what the program says cannot be" : "");
  } else if (const auto wrong = planned.plan.misjudged()) {
    why = fmt::format("keeps its share and lends nothing: tasks of stage {} ('{}') take far more or less time than was believed",
                      wrong->value(), escaped(job.stage(*wrong)->name));
  } else if (const auto loan = loans_.most(job.id); loan && (planned.early || !planned.plan.any_due())) {
    const Time until = planned.early ? due_from(now, planned) : planned.plan.next_start();
    why = fmt::format("lent {} slot{} to job {}{}", loan->slots, loan->slots == 1 ? "" : "s", loan->to.value(),
                      until == Time::max()
                          ? ""
                          : fmt::format(" until {}, needs {} then", point_of_time(until), loan->slots == 1 ? "it" : "them"));
  }
  if (why.empty() || (why == planned.last_reason && (!job.held || job.held->text == why))) return;
  planned.last_reason = why;
  decisions.hold(job.id, std::nullopt, why);
}

}  // namespace weft::schedulers
