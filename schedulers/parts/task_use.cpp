#include "schedulers/parts/task_use.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.hpp"
#include "schedulers/view/estimates.hpp"

namespace weft::schedulers {

namespace {

constexpr double kUnknownPart = 1.0 / 16;  // of a node, that a task uses of a resource of unknown use
constexpr double kBusy = 0.6;              // used part of a node
constexpr double kMostFactor = 8;
constexpr Time kMeasures = std::chrono::seconds(1);  // covered by a heartbeat, where its interval is not known

/// The time that a measurement covers.
Time interval_of(const ClusterView& view) { return view.heartbeat() > Time(0) ? view.heartbeat() : kMeasures; }

/// Whether the task had just begun, so that the node's last measurement does not show it well.
bool is_fresh(const ClusterView& view, const NodeInfo& node, const AttemptId& attempt) {
  const auto launched = view.launched(attempt);
  return launched && *launched + interval_of(view) > node.last_heard;
}

}  // namespace

void TaskUse::on_event(const ClusterView& view, const Notice& notice) {
  using Kind = Notice::Kind;
  if (notice.kind == Kind::node_left) gone_.erase(notice.node);
  if (notice.kind == Kind::task_finished || notice.kind == Kind::task_failed || notice.kind == Kind::task_preempted) {
    const NodeInfo* node = view.node(notice.node);
    const JobInfo* job = view.job(notice.job);
    if (node == nullptr || job == nullptr || !options_.measured) return;
    const Resources before = gone(view, *node), use = of(view, *job, *job->stage(notice.stage)).use;
    Gone& gone = gone_[node->id];
    if (std::exchange(gone.reported, node->last_heard) != node->last_heard) gone = {node->last_heard, {}, {}, before};
    gone.use += use;
    gone.part += use * std::min(1.0, in_seconds(view.now() - node->last_heard) / in_seconds(interval_of(view)));
  }
  if (notice.kind == Kind::job_ended) erase_job(factors_, notice.job);
}

Resources TaskUse::gone(const ClusterView& view, const NodeInfo& node) const {
  const auto found = gone_.find(node.id);
  if (found == gone_.end()) return {};
  const Gone& gone = found->second;
  if (gone.reported == node.last_heard) return gone.use + gone.before;
  return node.last_heard - gone.reported < 2 * interval_of(view) ? gone.part : Resources();  // the next measurement, or a later one
}

bool TaskUse::fetches(const JobInfo& job, const StageInfo& stage) {
  return std::ranges::any_of(stage.parents, [&](StageId id) {
    const StageInfo& parent = *job.stage(id);
    return parent.finished + parent.running < parent.tasks.size();
  });
}

SlotDemand TaskUse::of(const ClusterView& view, const JobInfo& job, const StageInfo& stage) const {
  Resources use = use_of(view, job, stage);
  if (const auto found = factors_.find({job.id, stage.id}); found != factors_.end()) {
    for (std::size_t k = 0; k < kResourceKinds.size(); ++k) use.*kResourceKinds[k].amount *= found->second[k];
  }
  return {use, stage.demand};
}

/// Without corrections by measurements.
Resources TaskUse::use_of(const ClusterView& view, const JobInfo& job, const StageInfo& stage) const {
  const auto known = phase_use(job, stage, stage.reads_shuffle ? Phase::reduce : Phase::map);
  Resources use = known.value;
  if (known.source == EstimateSource::assumed) {
    use.cpu *= per_slot_;
    const auto nodes = static_cast<double>(std::max<std::size_t>(1, view.nodes().size()));
    const Resources node = capacity({}, view.capacity() * (1 / nodes)).use;
    for (const auto& kind : kResourceKinds) {
      if (use.*kind.amount <= 0 && kind.amount != &Resources::accelerator)  // devices are for those that demand them
        use.*kind.amount = node.*kind.amount * kUnknownPart;
    }
  }
  if (!stage.reads_shuffle || !fetches(job, stage)) return use;
  double maps = 0;
  for (StageId parent : stage.parents) maps += job.stage(parent)->running;
  const auto shuffling = phase_use(job, stage, Phase::shuffle);
  Resources fetching = shuffling.value;
  if (shuffling.source == EstimateSource::assumed) fetching.memory = use.memory;
  Resources early = fetching * std::min(1.0, maps / std::max(1.0, options_.copies));
  early.memory = fetching.memory;
  return early;
}

SlotDemand TaskUse::capacity(const NodeInfo& node, const Resources& available) const {
  SlotDemand has{available, available};
  const double cpu = node.nominal.cpu > 0 ? available.cpu / node.nominal.cpu : 1;
  if (node.processors > 0) has.use.cpu = node.processors * cpu;
  for (const auto& kind : kResourceKinds) {
    const double option = options_.node.*kind.amount, nominal = node.nominal.*kind.amount;
    if (option > 0) has.use.*kind.amount = option * (nominal > 0 ? available.*kind.amount / nominal : cpu);
  }
  has.use.map_slots = has.use.reduce_slots = 0;
  return has;
}

bool TaskUse::fits(const ClusterView& view, const NodeInfo& node, const Resources& available, const JobInfo& job,
                   const StageInfo& stage) const {
  if (node.running.empty()) return available.cpu > 0;  // also a task that needs more than a node
  const Resources has = capacity(node, available).use, task = of(view, job, stage).use;
  Resources taken, fresh;
  for (const AttemptId& attempt : node.running) {
    const JobInfo* other = view.job(attempt.task.job);
    if (other == nullptr) continue;
    const Resources use = of(view, *other, *other->stage(attempt.task.stage)).use;
    taken += use;
    if (is_fresh(view, node, attempt)) fresh += use;
  }
  const Resources ended = gone(view, node);
  const double share = dominant_share(task, has);
  return std::ranges::all_of(kResourceKinds, [&](const ResourceKind& kind) {
    const double all = has.*kind.amount, wants = task.*kind.amount;
    if (wants <= 0 || (all <= 0 && !accounted(kind, node.nominal))) return true;
    const bool most = all <= 0 || wants / all >= share * (1 - 1e-9);
    if (!options_.overcommit.fits(kind, most, wants, all * (1 + 1e-9) - taken.*kind.amount, all)) return false;
    const double measured = node.measured.*kind.amount - ended.*kind.amount;
    const bool shared = Overcommit::shared(kind);  // where others fill it, only tasks that need it most are kept away
    if (!options_.measured || measured <= 0 || (shared && !most)) return true;
    const double part = shared ? std::min(0.5, 1 - options_.overcommit.part) : 0.5;
    return measured + fresh.*kind.amount + part * wants <= all;
  });
}

void TaskUse::learn(const ClusterView& view) {
  double processors = 0, slots = 0;
  for (const auto& [id, node] : view.nodes()) {
    processors += capacity(node, node.capacity).use.cpu;
    slots += node.capacity.cpu;
  }
  per_slot_ = processors > 0 && slots > 0 ? processors / slots : 1;
  if (!options_.measured) return;
  struct Evidence {
    double ratio = 0, weight = 0;
  };
  std::map<Key, std::array<Evidence, kResourceKinds.size()>> all;
  for (const auto& [id, node] : view.nodes()) {
    if (node.running.empty() || node.measured == Resources() || gone(view, node) != Resources()) continue;
    if (std::ranges::any_of(node.running, [&](const AttemptId& attempt) { return is_fresh(view, node, attempt); })) continue;
    const Resources has = capacity(node, node.capacity).use;
    const bool busy = std::ranges::any_of(kResourceKinds, [&](const ResourceKind& kind) {
      return has.*kind.amount > 0 && node.measured.*kind.amount >= kBusy * has.*kind.amount;
    });
    Resources taken;
    std::map<Key, Resources> by_stage;
    for (const AttemptId& attempt : node.running) {
      const JobInfo* job = view.job(attempt.task.job);
      if (job == nullptr) continue;
      const Resources use = of(view, *job, *job->stage(attempt.task.stage)).use;
      taken += use;
      if (!fetches(*job, *job->stage(attempt.task.stage))) by_stage[{job->id, attempt.task.stage}] += use;
    }
    for (std::size_t k = 0; k < kResourceKinds.size(); ++k) {
      const auto amount = kResourceKinds[k].amount;
      if (taken.*amount <= 0 || has.*amount <= 0) continue;
      const double ratio = node.measured.*amount / (taken.*amount);
      if (busy && ratio < 1) continue;
      for (const auto& [stage, use] : by_stage) {
        all[stage][k].ratio += ratio * use.*amount;
        all[stage][k].weight += use.*amount;
      }
    }
  }
  for (const auto& [stage, evidence] : all) {
    auto [found, added] = factors_.try_emplace(stage);
    if (added) found->second.fill(1);
    for (std::size_t k = 0; k < evidence.size(); ++k) {
      if (evidence[k].weight <= 0) continue;
      const double ratio = std::clamp(evidence[k].ratio / evidence[k].weight, 0.5, 2.0);
      found->second[k] = std::clamp(found->second[k] * std::sqrt(ratio), 1 / kMostFactor, kMostFactor);
    }
  }
}

}  // namespace weft::schedulers
