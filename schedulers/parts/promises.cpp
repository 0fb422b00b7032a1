#include "schedulers/parts/promises.hpp"

namespace weft::schedulers {

bool Promises::keeps(const ClusterView& view, JobId job, const StageInfo& stage, std::uint32_t task, NodeId node) {
  const MaybeNode promised = stage.tasks[task].preplaced;
  if (!first_ || !promised || promised == node) return false;
  const Time since = since_.try_emplace({job, stage.id}, view.now()).first->second;
  if (view.now() - since >= kLongestKept) return false;
  kept_ = true;
  return true;
}

void Promises::launched(JobId job, const StageInfo& stage, std::uint32_t task, NodeId node) {
  if (!since_.empty() && stage.tasks[task].preplaced == node) since_.erase({job, stage.id});
}

void Promises::ended(JobId job) {
  since_.erase(since_.lower_bound({job, StageId(0)}), since_.lower_bound({JobId(job.value() + 1), StageId(0)}));
}

}  // namespace weft::schedulers
