#include "schedulers/parts/altruism.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"
#include "schedulers/parts/ranked_jobs.hpp"
#include "schedulers/view/points_of_time.hpp"

namespace weft::schedulers {

namespace {

/// A job that must begin within this time must begin now: amounts of time are rounded.
constexpr Time kSoon = std::chrono::milliseconds(1);
/// In each call, of jobs for which nothing has changed.
constexpr std::size_t kReasonsChecked = 8;

}  // namespace

Altruism::Altruism(std::unique_ptr<JobShares> shares, const AltruismOptions& options)
    : share_limit_(std::move(shares), options.plan.digits),
      options_(options),
      random_(options.seed),
      future_(options.plan.mode == PlanMode::safe) {}

Altruism::Planned& Altruism::planned(const JobInfo& job) {
  return plans_.try_emplace(job.id, Planned{JobPlan(job, future_, capacity_, largest_)}).first->second;
}

Result<void> Altruism::start(const ClusterView& view, Part*) {
  take_capacity(view);
  for (const auto& [id, job] : view.jobs()) planned(job).plan.check_running(view);
  touch_all();
  return share_limit_.start(view, nullptr);
}

void Altruism::touch(JobId job) {
  touched_.insert(job);
  to_rank_.insert(job);
  to_explain_.insert(job);
}

void Altruism::touch_all() {
  for (const auto& [id, planned] : plans_) touch(id);
}

void Altruism::on_event(const ClusterView& view, const Notice& notice) {
  using Kind = Notice::Kind;
  share_limit_.on_event(view, notice);
  const JobInfo* job = view.job(notice.job);
  if (notice.kind == Kind::job_arrived) planned(*job);
  const auto found = plans_.find(notice.job);
  if (found == plans_.end()) return;
  if (notice.kind != Kind::job_ended) {
    touch(notice.job);
    return follow(notice, *job, found->second, view);
  }
  found->second.plan.drop();
  plans_.erase(found);
  open_.remove(notice.job);
  for (const auto set : {&touched_, &to_rank_, &to_explain_, &explained_}) set->erase(notice.job);
  for (const auto times : {&steps_, &wakes_}) times->remove(notice.job);
  lenders_.remove(notice.job);
  loans_.ended(notice.job);
  touch_all();  // it may have borrowed of any
}

void Altruism::follow(const Notice& notice, const JobInfo& job, Planned& planned, const ClusterView& view) {
  using Kind = Notice::Kind;
  JobPlan& plan = planned.plan;
  const TaskId task{notice.job, notice.stage, notice.task};
  switch (notice.kind) {
    case Kind::stage_added:
      planned.owed = Time(-1);
      return plan.changed();
    case Kind::job_changed:
      if (options_.plan.mode == PlanMode::reference) plan.set_stale();
      return plan.check_running(view);
    case Kind::task_launched:
      if (plan.launched(view.now(), notice.stage, notice.task)) return;
      future_.taken(parts_of(job.stage(notice.stage)->demand, capacity_, {}));
      if (!planned.greedy) borrowed(task);
      return;
    case Kind::task_finished:
      plan.ended(view.now(), notice.stage, notice.task);
      return returned(task);
    case Kind::task_failed:
    case Kind::task_preempted:
      plan.failed(notice.stage, notice.task);
      return returned(task);
    default:
      return;
  }
}

/// The task counts as running on the share of the other job that leaves most of its own.
void Altruism::borrowed(const TaskId& task) {
  rank_lenders();
  std::optional<JobId> lender;
  lenders_.offer(true, [&](JobId id) {
    if (id != task.job) lender = id;
    return lender.has_value();
  });
  if (!lender) return;
  loans_.lend(task, *lender);
  to_rank_.insert(*lender);
  to_explain_.insert(*lender);
}

void Altruism::returned(const TaskId& task) {
  if (const auto lender = loans_.ended(task); lender && plans_.contains(*lender)) {
    to_rank_.insert(*lender);
    to_explain_.insert(*lender);
  }
}

void Altruism::rank_lenders() {
  for (const JobId id : to_rank_) {
    const double leaves = share_limit_.lacks(plans_.at(id).plan.job()) - loans_.lent(id);
    if (leaves > 0) {
      lenders_.place(id, {-leaves, id}, id);
    } else {
      lenders_.remove(id);
    }
  }
  to_rank_.clear();
}

void Altruism::plan(const ClusterView& view) {
  share_limit_.plan(view);
  recount(view);
  future_.begin(view.now(), {});
  advance(view.now());
  renew(view);
  if (options_.altruism < 1) toss_coins();
}

/// Tasks whose time has come become due, also of jobs that cannot wait any longer.
void Altruism::advance(Time now) {
  note_touched();
  std::vector<Planned*> reached;
  steps_.offer(true, [&](Planned* planned) {
    if (next_step(*planned) > now) return true;
    reached.push_back(planned);
    return false;
  });
  for (Planned* planned : reached) {
    planned->plan.advance(now);
    touch(planned->plan.job().id);
    const bool waited = planned->early;
    if (waited) earn(now, *planned);
    if (waited && !planned->early)
      planned->plan.set_stale();  // from now on one task after the other, not all that are due by the old plan
  }
}

/// Where chance decides which jobs are altruistic, it does so again in each call, for all jobs.
void Altruism::toss_coins() {
  for (auto& [id, planned] : plans_) {
    if (planned.plan.job().pending == 0) continue;
    planned.greedy = !planned.plan.trusted() || random_.uniform() >= options_.altruism;
    open_.place(id, order_of(planned.plan.job()), &planned);
  }
}

void Altruism::earn(Time now, Planned& planned) const {
  const JobPlan& plan = planned.plan;
  if (planned.owed < Time(0)) {
    planned.owed = plan.length();
  } else {
    const auto since = static_cast<double>((now - planned.earned_at).count());
    planned.owed = std::max(Time(0), planned.owed - Time(static_cast<std::int64_t>(plan.part_of_task() * since)));
  }
  planned.earned_at = now;
  planned.early = plan.part_of_task() < 1 && due_from(planned) > now + kSoon;
}

/// When a job whose share is too small for a task must begin, so that it ends when its share would have done its work.
Time Altruism::due_from(const Planned& planned) {
  const double part = std::max(planned.plan.part_of_task(), 1e-6);
  const double wait = static_cast<double>(planned.owed.count()) / part - static_cast<double>(planned.plan.length().count());
  return planned.earned_at + Time(static_cast<std::int64_t>(std::clamp(wait, 0.0, 1e18)));
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
  touch_all();
}

void Altruism::renew(const ClusterView& view) {
  const ShareChanges changes = share_limit_.take_changes();
  if (changes.all) touch_all();
  for (const JobId id : changes.jobs) {
    if (plans_.contains(id)) touch(id);
  }
  Parts free = options_.plan.mode == PlanMode::safe ? free_now(view) : Parts{};
  for (const JobId id : std::exchange(touched_, {})) {
    Planned& planned = plans_.at(id);
    renew(view.now(), planned, free);
    if (planned.plan.job().pending == 0) continue;
    if (options_.altruism >= 1) planned.greedy = !planned.plan.trusted();
    open_.place(id, order_of(planned.plan.job()), &planned);
  }
}

/// `free`: the free capacity, where plans are kept.
void Altruism::renew(Time now, Planned& planned, Parts& free) {
  JobPlan& plan = planned.plan;
  const bool earns = options_.plan.mode == PlanMode::faithful;
  if (earns && planned.owed >= Time(0)) earn(now, planned);  // by the old share
  if (const Resources* share = share_limit_.shares().share(plan.job().id)) {
    const Parts part = parts_of(*share, capacity_, options_.plan.digits);
    if (plan.stale() || !plan.made_for(part)) {
      free += plan.due_demand();
      plan.make(now, part, free, options_.plan);
      free -= plan.due_demand();
    }
  }
  if (earns) earn(now, planned);
  note(planned);
}

/// When more of its tasks become due, or it cannot wait any longer.
Time Altruism::next_step(const Planned& planned) {
  const Time start = planned.plan.next_start();
  return planned.early ? std::min(start, due_from(planned) - kSoon) : start;
}

/// When the scheduler must be called for it.
Time Altruism::next_wake(const Planned& planned) { return planned.early ? due_from(planned) : planned.plan.next_start(); }

/// Notes when to look at the job again.
void Altruism::note(Planned& planned) {
  const JobId id = planned.plan.job().id;
  const auto at = [&](AtTimes& times, Time time) {
    if (time == Time::max()) return times.remove(id);
    times.place(id, {time, id}, &planned);
  };
  at(steps_, next_step(planned));
  at(wakes_, planned.plan.trusted() ? next_wake(planned) : Time::max());
}

/// Of the jobs for which something has changed since the last plan(), such as launches.
void Altruism::note_touched() {
  for (const JobId id : touched_) note(plans_.at(id));
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

bool Altruism::offer(const ClusterView& view, Launcher& launcher) {
  std::vector<JobId> refused;
  const bool launched = open_.offer(launcher.starts_over(), [&](const Planned* planned) {
    const JobInfo& job = planned->plan.job();
    if (job.pending > 0 && launcher.launch(job)) return true;
    if (job.pending == 0 || !may_launch(view, job)) refused.push_back(job.id);  // until something changes for it
    return false;
  });
  for (const JobId job : refused) open_.remove(job);
  return launched;
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
  note_touched();
  wakes_.offer(true, [&](const Planned* planned) {
    decisions.wake_at(std::max(next_wake(*planned), view.now()));
    return true;
  });
  explain_changed(decisions);
}

/// Of the jobs for which something has changed, and of a few others, because others record reasons, too.
void Altruism::explain_changed(Decisions& decisions) {
  for (const JobId id : std::exchange(to_explain_, {})) explain(plans_.at(id), decisions);
  std::size_t left = std::min(kReasonsChecked, explained_.size());
  for (auto next = explained_.upper_bound(last_checked_); left > 0; --left) {
    if (next == explained_.end()) next = explained_.begin();
    last_checked_ = *next++;
    const Planned& planned = plans_.at(last_checked_);
    const auto& held = planned.plan.job().held;
    if (held && held->text != planned.last_reason) decisions.hold(last_checked_, std::nullopt, planned.last_reason);
  }
}

/// Records why a job waits that lends its share or has no plan.
void Altruism::explain(Planned& planned, Decisions& decisions) {
  const JobInfo& job = planned.plan.job();
  const std::string why = job.pending > 0 ? reason_of(planned) : "";
  if (why.empty()) {
    explained_.erase(job.id);
    return;
  }
  explained_.insert(job.id);
  if (why == planned.last_reason && (!job.held || job.held->text == why)) return;
  planned.last_reason = why;
  decisions.hold(job.id, std::nullopt, why);
}

std::string Altruism::reason_of(const Planned& planned) const {
  const JobInfo& job = planned.plan.job();
  if (planned.plan.unknown()) {
    const StageInfo& stage = *job.stage(planned.plan.unknown_stages().front());
    return fmt::format("keeps its share and lends nothing: how long tasks of stage {} ('{}') take is not known{}", stage.id.value(),
                       escaped(stage.name), stage.estimated_duration ? ", and what the program says cannot be" : "");
  }
  if (const auto wrong = planned.plan.misjudged())
    return fmt::format("keeps its share and lends nothing: tasks of stage {} ('{}') take far more or less time than was believed",
                       wrong->value(), escaped(job.stage(*wrong)->name));
  const auto loan = loans_.most(job.id);
  if (!loan || (!planned.early && planned.plan.any_due())) return "";
  const Time until = next_wake(planned);
  return fmt::format(
      "lent {} slot{} to job {}{}", loan->slots, loan->slots == 1 ? "" : "s", loan->to.value(),
      until == Time::max() ? "" : fmt::format(" until {}, needs {} then", point_of_time(until), loan->slots == 1 ? "it" : "them"));
}

}  // namespace weft::schedulers
