#include "schedulers/parts/pass_launcher.hpp"

#include <algorithm>

#include "schedulers/parts/task_choice.hpp"

namespace weft::schedulers {

void PassLauncher::begin_pass() {
  by_input_only_ = !call_.pass->limit && !parts_.locality_wait && !parts_.placement && !parts_.preplaces && !parts_.near_first &&
                   parts_.remote_per_call == 0 && parts_.reduces_per_call == 0;
}

void PassLauncher::forget_skipped() {
  skipped_.clear();
  not_near_.clear();
}

bool PassLauncher::launch(const JobInfo& job) {
  if (call_.pass->limit && !call_.pass->limit->may_launch(*call_.view, job)) {
    explanations_.at_limit(job.id, std::nullopt);
    return false;
  }
  if (!finder_.may_fit(job)) {
    if (call_.last_pass) explanations_.no_capacity(job.id);
    return false;
  }
  order_stages(job);
  for (;;) {
    bool waits = false;
    if (launch_first(job, waits)) return true;
    if (!waits || call_.farthest != Locality::any || !skipped_.insert(job.id).second) return false;
    if (!parts_.locality_wait->skipped(*call_.view, job, call_.open, *call_.decisions)) return false;
  }
}

/// Of the first stage that can launch a task. `waits`: set where some stage could launch one farther from its input.
bool PassLauncher::launch_first(const JobInfo& job, bool& waits) {
  for (const StageId id : order_) {
    const StageInfo& stage = *job.stage(id);
    if (stage.pending.empty() || !call_.takes(stage) || !within_limit(job, stage)) continue;
    const Locality allowed = finder_.allowed(job, stage);
    if (finder_.launch_nearest(job, stage, allowed)) return true;
    explanations_.not_launched(job, stage, allowed);
    waits = waits || (allowed != Locality::any && prefers_nodes(stage) && !finder_.fits_nowhere(stage.demand));
  }
  return false;
}

bool PassLauncher::launch(const JobInfo& job, const StageInfo& stage, Locality farthest) {
  if (stage.pending.empty() || !call_.takes(stage) || !within_limit(job, stage)) return false;
  return finder_.launch_nearest(job, stage, std::min(farthest, finder_.allowed(job, stage)));
}

void PassLauncher::order_stages(const JobInfo& job) {
  order_.clear();
  StageOrder* const stages = call_.pass->stages ? call_.pass->stages.get() : parts_.stages.get();
  if (stages != nullptr) {
    stages->order(*call_.view, job, call_.node, order_);
  } else {
    order_.assign(job.runnable.begin(), job.runnable.end());
  }
}

bool PassLauncher::within_limit(const JobInfo& job, const StageInfo& stage) {
  if (!call_.pass->limit || call_.pass->limit->may_launch(*call_.view, job, stage)) return true;
  explanations_.at_limit(job.id, stage.id);
  return false;
}

std::optional<Pick> PassLauncher::candidate(const JobInfo& job, const StageInfo& stage) {
  const NodeInfo& node = *call_.node;
  if (call_.kept.keeps_from(node.id, job.id)) return std::nullopt;
  if (by_input_only_) return stage.pending.pick(node.id, node.host, node.rack);
  if (!within_limit(job, stage)) return std::nullopt;
  const Locality allowed = finder_.allowed(job, stage);
  if (const auto found = finder_.candidate(job, stage, allowed)) return found;
  if ((allowed != Locality::any && prefers_nodes(stage)) || finder_.placed_by_part(job, stage)) not_near_.emplace(job.id, stage.id);
  return std::nullopt;
}

std::optional<Locality> PassLauncher::nearest(const JobInfo& job, const StageInfo& stage) {
  const PendingTasks& pending = stage.pending;
  if (call_.kept.keeps_from(call_.node->id, job.id)) return std::nullopt;
  if (by_input_only_ && !pending.placed() && !pending.unconstrained().empty()) return Locality::node;  // chosen when it is launched
  const auto found = candidate(job, stage);
  if (!found) return std::nullopt;
  return pending.hosts(found->task).empty() ? Locality::node : found->locality;
}

bool PassLauncher::launch(const JobInfo& job, const StageInfo& stage, std::string_view reason, const TaskCheck& may) {
  auto found = candidate(job, stage);
  if (!found) return false;
  if (!may(found->task)) {
    if (finder_.placed_by_part(job, stage) || found->locality == Locality::node) return false;
    const auto other = choose_instead(stage, found->task, may);
    if (!other) return false;
    found->task = *other;
  }
  return finder_.launch(job, stage, *found, call_.node->id, reason);
}

bool PassLauncher::skip_node() {
  if (call_.farthest != Locality::any) return false;  // it will be offered again
  bool farther = false;
  for (const auto& [job_id, stage_id] : not_near_) {
    const JobInfo& job = *call_.view->job(job_id);
    const StageInfo& stage = *job.stage(stage_id);
    if (stage.pending.empty() || finder_.fits_nowhere(stage.demand)) continue;
    explanations_.not_launched(job, stage, finder_.allowed(job, stage));
    explanations_.skipped(job_id);
    if (finder_.placed_by_part(job, stage) || !skipped_.insert(job_id).second) continue;
    farther = parts_.locality_wait->skipped(*call_.view, job, 1, *call_.decisions) || farther;
  }
  return farther;
}

}  // namespace weft::schedulers
