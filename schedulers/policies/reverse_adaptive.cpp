#include "schedulers/policies/reverse_adaptive.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "base/text.hpp"
#include "schedulers/parts/capacity_preemption.hpp"
#include "schedulers/parts/job_slots.hpp"
#include "schedulers/prediction/reverse_fit.hpp"
#include "schedulers/prediction/work_left.hpp"

namespace weft::schedulers {

namespace {

constexpr Time kLookAhead = std::chrono::minutes(30);  // in forecasts, for the tasks that a node gets

Time time_of(double seconds) { return Time(static_cast<std::int64_t>(std::clamp(seconds, 0.0, 1e9) * 1e9)); }

/// Goals are given up where they need this many times the capacity.
constexpr double kGiveUpBeyond = 1.1;

class ReverseGoals final : public SlotGoals {
 public:
  ReverseGoals(const TaskUseOptions& use, bool preempts, bool late_last) : use_(use), preempts_(preempts), late_last_(late_last) {}

  std::vector<SlotNeed> needs(const ClusterView& view, std::span<const Job> jobs, Time cycle) override {
    const CapacityAhead now(view.now(), sums(view, view.now()), {});
    std::vector<Planned> planned;
    Time last = view.now() + cycle;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].info->deadline && jobs[i].pending > 0) planned.push_back(plan(view, jobs[i], i, cycle, now));
      if (jobs[i].info->deadline) last = std::max(last, *jobs[i].info->deadline);
    }
    CapacityAhead ahead = capacity_ahead(view, last, cycle, planned);
    std::vector<SlotNeed> needs(jobs.size());
    for (const Planned& one : planned) needs[one.job].required = required(view, *jobs[one.job].info, one, ahead);
    const CapacityAhead all = ahead;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      ahead.occupy(view.now(), view.now() + running_for(view, jobs[i]), jobs[i].use * jobs[i].running);
    if (late_last_) {
      std::erase_if(planned,
                    [&](const Planned& one) { return needs[one.job].lost = is_lost(view, *jobs[one.job].info, one, all); });
      give_up(view, all, planned, needs);
    }
    std::vector<ReverseJob> reverse;
    for (const Planned& one : planned) reverse.push_back(one.reverse);
    const std::vector<double> fit = reverse_fit(reverse, ahead, view.now() + cycle);
    for (std::size_t i = 0; i < planned.size(); ++i) {
      const Job& job = jobs[planned[i].job];
      needs[planned[i].job].fit = fit[i] > 0 ? fit[i] + job.running : 0;
    }
    return needs;
  }

  Resources available(const ClusterView& view, const NodeInfo& node, Time lasting) const override {
    Resources least = node.capacity;
    if (!preempts_) return least;
    const Time until = view.now() + std::min(lasting, kLookAhead);
    for (auto step = next_step(node, view.now()); step != node.forecast.end() && step->from < until; ++step) {
      for (const auto& kind : kResourceKinds) least.*kind.amount = std::min(least.*kind.amount, step->available.*kind.amount);
    }
    return least;
  }

 private:
  struct Planned {
    std::size_t job = 0;
    ReverseJob reverse;
    WorkLeft left;
  };

  static std::vector<CapacityStep>::const_iterator next_step(const NodeInfo& node, Time now) {
    return std::ranges::upper_bound(node.forecast, now, std::less<>(), &CapacityStep::from);
  }

  /// The phase of the job that can run now, with the time to its goal less that of its later phases. Tasks begin up to a cycle
  /// later than planned, so the goal is taken to be a cycle earlier.
  static Planned plan(const ClusterView& view, const Job& job, std::size_t number, Time cycle, const CapacityAhead& now) {
    Planned planned{number,
                    {*job.info->deadline - cycle, static_cast<double>(job.pending - job.running), std::chrono::seconds(1), job.use},
                    work_left(view, *job.info)};
    const auto& phases = planned.left.phases;
    if (phases.empty()) return planned;
    planned.reverse.length = std::max(time_of(phases.front().longest), Time(1));
    const double slots = std::clamp(now.mean_slots(view.now(), view.now(), job.use), 1.0, 1e9);
    planned.reverse.goal -= time_of(seconds_with(std::span(phases).subspan(1), slots));
    return planned;
  }

  /// The slots that the job's pace needs now, as a part of the capacity that stays the same until its goal.
  static double required(const ClusterView& view, const JobInfo& job, const Planned& planned, const CapacityAhead& ahead) {
    const double needed = slots_needed(planned.left.phases, in_seconds(*job.deadline - view.now()));
    const double now = ahead.mean_slots(view.now(), view.now(), planned.reverse.use);
    const double mean = ahead.mean_slots(view.now(), *job.deadline, planned.reverse.use);
    return mean > 0 ? needed * std::clamp(now / mean, 0.1, 10.0) : needed;
  }

  /// Whether the job would miss its goal with all capacity.
  static bool is_lost(const ClusterView& view, const JobInfo& job, const Planned& planned, const CapacityAhead& all) {
    const double slots = std::clamp(all.mean_slots(view.now(), *job.deadline, planned.reverse.use), 1.0, 1e9);
    const double left = in_seconds(*job.deadline - view.now()) + in_seconds(planned.reverse.length);  // it may be close
    return left < seconds_with(planned.left.phases, slots);
  }

  /// In the order of the goals, each time that the jobs so far need more than the capacity until then, the job with most work is
  /// left out, so that as many goals as possible are met (Moore, 1968). Both are estimates, so a tenth too little does not count.
  static void give_up(const ClusterView& view, const CapacityAhead& all, std::vector<Planned>& planned,
                      std::vector<SlotNeed>& needs) {
    const Resources total = all.at_first();
    std::vector<const Planned*> order;
    for (const Planned& one : planned) order.push_back(&one);
    std::ranges::stable_sort(order, std::less<>(), [](const Planned* one) { return one->reverse.goal; });
    std::multimap<double, std::size_t> kept;  // by work: seconds of a part of the cluster
    double sum = 0;
    for (const Planned* one : order) {
      const double share = dominant_share(one->reverse.use, total), work = one->left.seconds() * share;
      const Time goal = std::max(one->reverse.goal, view.now() + Time(1));
      kept.emplace(work, one->job);
      sum += work;
      const double there = all.mean_slots(view.now(), goal, one->reverse.use) * share * in_seconds(goal - view.now());
      if (sum <= kGiveUpBeyond * there) continue;
      const auto most = std::prev(kept.end());
      sum -= most->first;
      needs[most->second].lost = true;
      kept.erase(most);
    }
    std::erase_if(planned, [&](const Planned& one) { return needs[one.job].lost; });
  }

  static Time running_for(const ClusterView& view, const Job& job) {
    double seconds = 0, tasks = 0;
    if (job.running == 0) return Time(0);
    for (const auto& [id, stage] : job.info->stages) {
      if (stage.running == 0) continue;
      const auto length = task_length(view, *job.info, stage);
      for (const TaskInfo& task : stage.tasks) {
        if (task.state != TaskState::running) continue;
        seconds += length ? *length * part_left(*length, stage.worked(task.launched, view.now())) : 1;
        tasks += 1;
      }
    }
    return time_of(seconds / std::max(1.0, tasks));
  }

  /// The capacity of all nodes together, now and by forecasts until then.
  std::vector<CapacityStep> sums(const ClusterView& view, Time until) const {
    std::map<Time, Resources> changes;
    for (const auto& [id, node] : view.nodes()) {
      if (!node.usable()) continue;
      Resources has = use_.capacity(node, node.capacity).use;
      changes[view.now()] += has;
      for (auto step = next_step(node, view.now()); step != node.forecast.end() && step->from < until; ++step) {
        const Resources then = use_.capacity(node, step->available).use;
        changes[step->from] += then - has;
        has = then;
      }
    }
    std::vector<CapacityStep> steps;
    Resources sum;
    for (const auto& [at, change] : changes) steps.push_back({at, sum += change});
    return steps;
  }

  CapacityAhead capacity_ahead(const ClusterView& view, Time until, Time cycle, const std::vector<Planned>& planned) const {
    std::vector<Time> times{view.now() + cycle};
    for (const Planned& one : planned) times.push_back(one.reverse.goal);
    return CapacityAhead(view.now(), sums(view, until), std::move(times));
  }

  TaskUse use_;
  bool preempts_, late_last_;
};

/// Job slots while the forecast of some node contains a change, and another order otherwise. Decided in each control cycle, which
/// is that of the present one of the two, or of the job slots where the other has none.
class WhileForecast final : public OrderingPolicy {
 public:
  WhileForecast(std::unique_ptr<JobSlots> slots, std::unique_ptr<OrderingPolicy> otherwise)
      : slots_(std::move(slots)), otherwise_(std::move(otherwise)), present_(otherwise_.get()) {}

  Result<void> start(const ClusterView& view, Part*) override {
    WEFT_TRY(slots_->start(view, nullptr));
    return otherwise_->start(view, nullptr);
  }
  void on_event(const ClusterView& view, const Notice& notice) override {
    slots_->on_event(view, notice);
    otherwise_->on_event(view, notice);
  }
  Time period() const override { return present_->period() > Time(0) ? present_->period() : slots_->period(); }
  Time next_tick(Time planned) const override { return present_->next_tick(planned); }
  bool tick(const ClusterView& view, Decisions& decisions) override {
    const bool changes = std::ranges::any_of(view.nodes(), [&view](const auto& node) {
      return !node.second.forecast.empty() && node.second.forecast.back().from > view.now();
    });
    OrderingPolicy* const before = std::exchange(present_, changes ? static_cast<OrderingPolicy*>(slots_.get()) : otherwise_.get());
    const bool ticked = present_->period() > Time(0) && present_->tick(view, decisions);
    return ticked || before != present_;
  }
  void decided(const ClusterView& view, Decisions& decisions) override { present_->decided(view, decisions); }
  void begin(const ClusterView& view, std::size_t nodes) override { present_->begin(view, nodes); }
  bool offer(const ClusterView& view, SlotKind kind, Launcher& launcher) override { return present_->offer(view, kind, launcher); }
  Asks asks() const override { return present_->asks(); }
  bool wants_all_nodes() override { return present_->wants_all_nodes(); }
  bool offers_all() const override { return present_->offers_all(); }
  void explain(const ClusterView& view, Launcher& launcher) override { present_->explain(view, launcher); }
  Sharing sharing(const ClusterView& view) const override { return present_->sharing(view); }
  const FairEnds* fair_ends() const override { return present_->fair_ends(); }

 private:
  std::unique_ptr<JobSlots> slots_;
  std::unique_ptr<OrderingPolicy> otherwise_;
  OrderingPolicy* present_;
};

}  // namespace

Result<Composition> make_reverse_adaptive(Options& options, const Registry& registry) {
  WEFT_ASSIGN(const JobSlotsOptions slots, take_job_slots(options));
  WEFT_ASSIGN(const bool preempts, options.flag("preempt", true));
  WEFT_ASSIGN(const std::string otherwise, options.text("without_forecast", "adaptive"));
  WEFT_ASSIGN(const bool late_last, options.choice<bool>("late", {{"first", false}, {"last", true}}, "last"));
  Composition parts;
  auto order = std::make_unique<JobSlots>(slots, std::make_unique<ReverseGoals>(slots.use, preempts, late_last));
  if (otherwise != "backwards") {
    WEFT_ASSIGN(parts, registry.compose(otherwise, options.reader()));
    if (!parts.passes.empty())  // whose own orders would know no forecast
      return fail(Code::invalid_argument,
                  fmt::format("scheduler option without_forecast must not be {}, which shares nodes out in several passes; "
                              "adaptive, ras, fair and fsp do it in one",
                              escaped(otherwise)));
    parts.jobs = std::make_unique<WhileForecast>(std::move(order), std::move(parts.jobs));
  } else {
    parts.jobs = std::move(order);
  }
  parts.urgency = nullptr;                            // job slots know no urgent jobs
  parts.in_turns = parts.near_first = slots.bounded;  // as in ras
  if (preempts) parts.preemption = std::make_unique<CapacityPreemption>();
  return parts;
}

}  // namespace weft::schedulers
