#include "schedulers/parts/job_slots.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "schedulers/parts/ranked_jobs.hpp"
#include "schedulers/parts/utility.hpp"
#include "schedulers/view/estimates.hpp"

namespace weft::schedulers {

namespace {

constexpr int kRounds = 10;
constexpr std::size_t kJobsLooked = 16;  // at most, for a task near its input
constexpr double kWellFilled = 0.9;      // of the scarcest resource: below it, another mixture of tasks on the nodes may be better
constexpr double kWorthwhile = 0.02;     // more utility of the job with the lowest

/// The slots that the job uses on the node: those of tasks, and those of early readers.
std::pair<std::uint32_t, std::uint32_t> taken_by(const JobInfo& job, const NodeInfo& node) {
  std::pair<std::uint32_t, std::uint32_t> taken{0, 0};
  const auto first = node.running.lower_bound(AttemptId{{job.id, StageId(0), 0}, 0});
  for (auto attempt = first; attempt != node.running.end() && attempt->task.job == job.id; ++attempt)
    ++(TaskUse::fetches(job, *job.stage(attempt->task.stage)) ? taken.second : taken.first);
  return taken;
}

}  // namespace

Result<JobSlotsOptions> take_job_slots(Options& options) {
  JobSlotsOptions taken;
  WEFT_ASSIGN(taken.bounded, options.choice<bool>("mode", {{"bounded", true}, {"paper", false}}, "bounded"));
  WEFT_ASSIGN(taken.cycle, options.duration("cycle", taken.cycle));
  WEFT_ASSIGN(taken.react, options.duration("react", taken.react));
  if (taken.cycle <= Time(0)) return fail(Code::invalid_argument, "scheduler option cycle must be more than 0");
  WEFT_ASSIGN(taken.use.measured, options.flag("measured", true));
  WEFT_ASSIGN(taken.use.overcommit.part, options.number("overcommit", 2.0 / 3, 0, 0.99));
  WEFT_ASSIGN(std::string node, options.text("node", ""));
  if (node.starts_with('[') && node.ends_with(']')) node = node.substr(1, node.size() - 2);
  if (node.empty()) return taken;
  auto amounts = parse_resources(node);
  if (!amounts)
    return fail(Code::invalid_argument,
                fmt::format("scheduler option node: {}; say [cpu=2,memory=4GiB,disk_read=100MB]", amounts.error().message()));
  taken.use.node = *amounts;
  return taken;
}

JobSlots::JobSlots(const JobSlotsOptions& options, std::unique_ptr<SlotGoals> goals)
    : options_(options), goals_(std::move(goals)), use_(options.use) {}

Result<void> JobSlots::start(const ClusterView& view, Part* before) {
  const auto* old = dynamic_cast<const JobSlots*>(before);
  if (options_.bounded) ends_.start(view, old != nullptr && old->options_.bounded ? &old->ends_ : nullptr);
  return {};
}

Time JobSlots::next_tick(Time planned) const {
  return changed_ && last_ != Time::min() ? std::min(planned, last_ + options_.react) : planned;
}

void JobSlots::on_event(const ClusterView& view, const Notice& notice) {
  using Kind = Notice::Kind;
  use_.on_event(view, notice);
  if (options_.bounded) ends_.on_event(view, notice);
  if (notice.kind == Kind::job_arrived) without_reason_.insert(notice.job);
  if (notice.kind == Kind::task_failed) with_failed_.insert(notice.job);
  if (notice.kind == Kind::job_ended) {
    last_reasons_.erase(notice.job);
    without_reason_.erase(notice.job);
    with_failed_.erase(notice.job);
  }
  if (notice.kind == Kind::job_changed) {
    changed_ = changed_ || (!options_.bounded && view.job(notice.job)->pending == 0);  // others take what it leaves
  } else {
    changed_ = changed_ || notice.kind == Kind::job_ended || notice.kind == Kind::stage_ready ||
               notice.kind == Kind::stage_complete || notice.kind == Kind::node_joined || notice.kind == Kind::node_left ||
               notice.kind == Kind::node_changed;
  }
}

bool JobSlots::tick(const ClusterView& view, Decisions&) {
  use_.learn(view);
  std::vector<SlotJob> slot_jobs;
  const std::vector<SlotGoals::Job> jobs = demands(view, slot_jobs);
  const std::vector<SlotNeed> needs = goals_->needs(view, jobs, options_.cycle);
  standings_.clear();
  for (std::size_t j = 0; j < jobs.size(); ++j)
    standings_[jobs[j].info->id] = {.need = needs[j], .goal = jobs[j].info->deadline.has_value()};
  if (options_.bounded) {
    (void)ends_.refresh(view);
    give_turns();
  }
  place(view, jobs, std::move(slot_jobs));
  last_ = view.now();
  changed_ = false;
  if (watch_) {
    for (const auto& [job, standing] : standings_) watch_(view.now(), job, standing);
  }
  return true;
}

void JobSlots::give_turns() {
  std::vector<std::pair<double, Standing*>> order;
  for (auto& [id, standing] : standings_) order.emplace_back(ends_.rank(id), &standing);
  std::ranges::stable_sort(order, std::less<>(), [](const auto& entry) { return entry.first; });
  for (std::size_t i = 0; i < order.size(); ++i)
    order[i].second->turn = static_cast<double>(i + 1) / static_cast<double>(order.size() + 1);
}

/// Jobs with tasks that run or may run, in order.
std::vector<SlotGoals::Job> JobSlots::demands(const ClusterView& view, std::vector<SlotJob>& slot_jobs) const {
  std::vector<const JobInfo*> order;
  for (const auto& [id, job] : view.jobs()) order.push_back(&job);
  std::ranges::sort(order, std::less<>(), [](const JobInfo* job) { return order_of(*job); });
  std::vector<SlotGoals::Job> jobs;
  for (const JobInfo* job : order) {
    SlotGoals::Job entry{job, 0, 0, {}};
    SlotJob slots;
    for (const auto& [id, stage] : job->stages) {
      const std::uint32_t tasks = (stage.ready ? stage.pending.count() : 0) + stage.running;
      if (tasks == 0) continue;
      const bool early = TaskUse::fetches(*job, stage);
      const SlotDemand task = use_.of(view, *job, stage);
      std::uint32_t& sum = early ? slots.early_pending : slots.pending;
      SlotDemand& mean = early ? slots.early : slots.task;
      const double part = static_cast<double>(tasks) / (sum + tasks);
      mean = {mean.use * (1 - part) + task.use * part, mean.demand * (1 - part) + task.demand * part};
      sum += tasks;
      if (!early) entry.running += stage.running;
    }
    if (slots.pending + slots.early_pending == 0) continue;
    entry.pending = slots.pending;
    entry.use = slots.task.use;
    jobs.push_back(entry);
    slot_jobs.push_back(slots);
  }
  Resources most;  // that a node has: a task that needs more has a node to itself
  for (const auto& [id, node] : view.nodes()) {
    const Resources has = use_.capacity(node, node.capacity).use;
    for (const auto& kind : kResourceKinds) most.*kind.amount = std::max(most.*kind.amount, has.*kind.amount);
  }
  for (SlotJob& job : slot_jobs) {
    for (const auto& kind : kResourceKinds) {
      if (most.*kind.amount <= 0) continue;
      job.task.use.*kind.amount = std::min(job.task.use.*kind.amount, most.*kind.amount);
      job.early.use.*kind.amount = std::min(job.early.use.*kind.amount, most.*kind.amount);
    }
  }
  return jobs;
}

/// `share`: the part of the cluster that a slot takes, of the job without a goal whose slots take least.
double JobSlots::utility(const SlotGoals::Job& job, const Standing& standing, std::uint32_t early_pending, double share) const {
  const double slots = standing.slots, pending = job.pending;
  double of_slots = 1;
  const bool goal_decides = standing.goal && !standing.need.lost && slots < standing.need.required;
  if (job.pending > 0 && options_.bounded && !goal_decides) {
    of_slots = standing.slots >= job.pending ? 1 : standing.turn;
  } else if (job.pending > 0 && standing.need.lost) {
    of_slots = standing.slots >= job.pending ? 1 : std::min(1.0, (1 + slots * share / job.info->hints.weight) / 2);
  } else if (job.pending > 0 && !standing.goal) {
    const double part = slots * share / job.info->hints.weight;
    of_slots = standing.slots >= job.pending ? 1 : standing.slots == 0 ? kStarvedUtility : std::min(1.0, part);
  } else if (job.pending > 0) {
    of_slots = standing.need.fit ? reverse_utility(slots, *standing.need.fit, standing.need.required, pending)
                                 : map_utility(slots, standing.need.required, pending);
  }
  return std::min(1.0, of_slots + reduce_utility(standing.early, early_pending));
}

void JobSlots::place(const ClusterView& view, std::span<const SlotGoals::Job> jobs, std::vector<SlotJob> slot_jobs) {
  std::vector<const NodeInfo*> nodes;
  std::vector<SlotNode> slot_nodes;
  Resources all;
  for (const auto& [id, node] : view.nodes()) {
    if (!node.usable()) continue;
    nodes.push_back(&node);
    slot_nodes.push_back({use_.capacity(node, goals_->available(view, node, options_.cycle))});
    all += slot_nodes.back().capacity.use;
  }
  double share = 1;
  std::vector<std::uint32_t> early_pending;
  Numbers numbers;
  std::vector<Standing*> standings;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    early_pending.push_back(slot_jobs[j].early_pending);
    numbers[jobs[j].info->id] = static_cast<std::uint32_t>(j);
    standings.push_back(&standings_.at(jobs[j].info->id));
    if (jobs[j].pending > 0 && (!standings.back()->goal || standings.back()->need.lost))
      share = std::min(share, dominant_share(jobs[j].use, all));
  }
  const auto utility_of = [&](std::uint32_t job, std::uint32_t slots, std::uint32_t early) {
    Standing standing = *standings[job];
    standing.slots = slots;
    standing.early = early;
    return utility(jobs[job], standing, early_pending[job], share);
  };
  SlotMatrix matrix(slot_jobs, slot_nodes, utility_of, options_.use.overcommit);
  keep_running(view, numbers, matrix, nodes, false);
  keep_slots(view, numbers, matrix, nodes);
  matrix.place(kRounds);
  if (matrix.lowest_utility() >= 0 && matrix.fullness() < kWellFilled) {  // no job lacks slots for its goal
    SlotMatrix afresh(std::move(slot_jobs), slot_nodes, utility_of, options_.use.overcommit);
    keep_running(view, numbers, afresh, nodes, true);  // readers are few, and take long
    afresh.place(kRounds);
    if (afresh.lowest_utility() > matrix.lowest_utility() + kWorthwhile) matrix = std::move(afresh);
  }
  slots_.clear();
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    std::vector<Slot>& slots = slots_[nodes[n]->id];
    for (const SlotMatrix::Cell& cell : matrix.at(n))
      slots.push_back({jobs[cell.job].info->id, cell.slots, cell.early, matrix.utility(cell.job)});
    std::ranges::sort(slots, std::less<>(), [](const Slot& slot) { return std::pair(slot.utility, slot.job); });
  }
  for (std::uint32_t j = 0; j < jobs.size(); ++j) {
    standings[j]->utility = matrix.utility(j);
    standings[j]->slots = matrix.slots(j);
    standings[j]->early = matrix.early(j);
  }
  by_utility_.clear();
  for (const auto& [id, standing] : standings_) by_utility_.emplace_back(standing.utility, id);
  std::ranges::sort(by_utility_);
}

void JobSlots::keep_running(const ClusterView& view, const Numbers& numbers, SlotMatrix& matrix,
                            const std::vector<const NodeInfo*>& nodes, bool readers_only) const {
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    for (const AttemptId& attempt : nodes[n]->running) {
      const auto number = numbers.find(attempt.task.job);
      if (number == numbers.end()) continue;
      const JobInfo& job = *view.job(attempt.task.job);
      const StageInfo& stage = *job.stage(attempt.task.stage);
      if (stage.reads_shuffle || !readers_only) (void)matrix.hold(n, number->second, TaskUse::fetches(job, stage));
    }
  }
}

/// Keeps the slots of the cycle before that still fit beside the running tasks.
void JobSlots::keep_slots(const ClusterView& view, const Numbers& numbers, SlotMatrix& matrix,
                          const std::vector<const NodeInfo*>& nodes) const {
  for (std::uint32_t n = 0; n < nodes.size(); ++n) {
    const auto before = slots_.find(nodes[n]->id);
    if (before == slots_.end()) continue;
    for (const Slot& slot : before->second) {
      const auto number = numbers.find(slot.job);
      if (number == numbers.end()) continue;
      const auto taken = taken_by(*view.job(slot.job), *nodes[n]);
      for (const bool early : {true, false}) {
        const std::uint32_t more = early ? slot.early : slot.slots, runs = early ? taken.second : taken.first;
        for (std::uint32_t i = runs; i < more && matrix.fits(n, number->second, early); ++i) {
          if (!matrix.hold(n, number->second, early)) break;
        }
      }
    }
  }
}

bool JobSlots::offer(const ClusterView& view, SlotKind, Launcher& launcher) {
  if (launcher.node() == nullptr) return false;
  const auto found = slots_.find(launcher.node()->id);
  const auto launch = [&](const Slot& slot) {
    const JobInfo* job = view.job(slot.job);
    return job != nullptr && job->pending > 0 && launch_in(view, slot, *job, launcher);
  };
  if (options_.bounded && launch_any(view, launcher, Locality::node)) return true;
  if (found != slots_.end() && std::ranges::any_of(found->second, launch)) return true;
  if (options_.bounded && launch_any(view, launcher, Locality::any)) return true;
  // Not while nodes near to input are filled first: jobs with slots may yet need what is left.
  const bool last = launcher.farthest() == Locality::any;
  if (options_.bounded && last && launch_any(view, launcher, Locality::any, false)) return true;
  if (!with_failed_.empty() && launch_elsewhere(view, launcher)) return true;
  for (const JobId id : without_reason_) launcher.hold(id, reason(id));  // perhaps not recorded, as other nodes will ask
  return false;
}

/// Launches a task, at most that far from its input, of a job with more slots than tasks, wherever these slots are; of any
/// job without `in_slots`: where jobs have no task left for their slots.
bool JobSlots::launch_any(const ClusterView& view, Launcher& launcher, Locality farthest, bool in_slots) const {
  const NodeInfo& node = *launcher.node();
  std::size_t looked = 0;
  for (const auto& [utility, id] : by_utility_) {
    const JobInfo* job = view.job(id);
    const Standing& standing = standings_.at(id);
    if (job == nullptr || job->pending == 0 || (in_slots && job->running >= standing.slots + standing.early)) continue;
    if (++looked > kJobsLooked) return false;
    for (const StageId stage_id : job->runnable) {
      const StageInfo& stage = *job->stage(stage_id);
      if (TaskUse::fetches(*job, stage)) continue;  // spread over the nodes
      if (farthest == Locality::node && launcher.nearest(*job, stage) != Locality::node) continue;
      const Resources available = goals_->available(view, node, task_duration(stage).value);
      if (use_.fits(view, node, available, *job, stage) && launcher.launch(*job, stage, farthest)) return true;
    }
  }
  return false;
}

/// Launches tasks that must avoid the node where they failed: they do not wait for a slot elsewhere.
bool JobSlots::launch_elsewhere(const ClusterView& view, Launcher& launcher) {
  return std::ranges::any_of(with_failed_, [&](JobId id) {
    const JobInfo& job = *view.job(id);
    return std::ranges::any_of(job.runnable, [&](StageId stage_id) {
      const StageInfo& stage = *job.stage(stage_id);
      return !stage.pending.avoiding().empty() && use_.fits(view, *launcher.node(), launcher.node()->capacity, job, stage) &&
             launcher.launch(job, stage, Locality::any);
    });
  });
}

bool JobSlots::launch_in(const ClusterView& view, const Slot& slot, const JobInfo& job, Launcher& launcher) const {
  const NodeInfo& node = *launcher.node();
  const auto [tasks, readers] = taken_by(job, node);
  return std::ranges::any_of(job.runnable, [&](StageId id) {
    const StageInfo& stage = *job.stage(id);
    const bool early = TaskUse::fetches(job, stage);
    if (early ? readers >= slot.early : tasks >= slot.slots) return false;
    const Resources available = goals_->available(view, node, task_duration(stage).value);
    return use_.fits(view, node, available, job, stage) && launcher.launch(job, stage, Locality::any);
  });
}

/// Records the reason of each job when it has changed.
void JobSlots::explain(const ClusterView& view, Launcher& launcher) {
  for (const JobOrder& order : view.runnable_jobs()) {
    std::string text = reason(order.id);
    without_reason_.erase(order.id);
    std::string& last = last_reasons_[order.id];
    if (last == text) continue;
    last = std::move(text);
    launcher.hold(order.id, last);
  }
}

std::string JobSlots::reason(JobId job) const {
  const auto found = standings_.find(job);
  if (found == standings_.end()) return "it gets job slots in the next control cycle";
  const Standing& standing = found->second;
  std::string needs = standing.goal ? fmt::format(" of the {:.0f} that its goal needs", std::ceil(standing.need.required)) : "";
  if (standing.need.lost) needs = ", as its goal cannot be met any more,";
  if (standing.need.fit && *standing.need.fit > 0.5)
    needs += fmt::format(" and of the {:.0f} that cannot be put off", std::ceil(*standing.need.fit));
  return fmt::format(
      "it has {} job slots{} until the next control cycle (utility {:.2f}); they are taken, or what runs on their "
      "nodes leaves no room",
      standing.slots + standing.early, needs, standing.utility);
}

}  // namespace weft::schedulers
