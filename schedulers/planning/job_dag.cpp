#include "schedulers/planning/job_dag.hpp"

#include <algorithm>

namespace weft::schedulers {

namespace {

constexpr Time kLongestBelieved = std::chrono::hours(24 * 30);
constexpr std::uint64_t kEnoughObserved = 3;

bool can_be(const std::optional<Time>& duration) { return duration && *duration > Time(0) && *duration <= kLongestBelieved; }

bool within_node(const Parts& demand, const Parts& largest) {
  for (std::size_t kind = 0; kind < demand.size(); ++kind) {
    if (demand[kind] > largest[kind] * (1 + 1e-9)) return false;
  }
  return true;
}

}  // namespace

std::optional<Time> believed_duration(const StageInfo& stage) {
  std::optional<Time> stated, observed;
  if (stage.profile) stated = stage.profile->duration();
  if (can_be(stage.estimated_duration) || !can_be(stated)) stated = stage.estimated_duration;
  if (stage.observed_count > 0) observed = stage.observed_total / static_cast<std::int64_t>(stage.observed_count);
  if (!can_be(stated)) return can_be(observed) ? observed : std::nullopt;
  const bool contradicted =
      stage.observed_count >= kEnoughObserved && can_be(observed) && (*observed / 2 > *stated || *stated / 2 > *observed);
  return contradicted ? observed : stated;
}

std::optional<std::uint32_t> JobDag::position(StageId id) const {
  const auto found = std::lower_bound(ids.begin(), ids.end(), id);
  if (found == ids.end() || *found != id) return std::nullopt;
  return static_cast<std::uint32_t>(found - ids.begin());
}

JobDag dag_of(const JobInfo& job, const Resources& capacity, Digits digits, const Parts* largest) {
  JobDag dag;
  std::vector<bool> fit;  // each stage, and all stages before it
  for (const auto& [id, stage] : job.stages) {
    if (stage.complete()) continue;
    const auto duration = believed_duration(stage);
    if (!duration) dag.unknown.push_back(id);
    DagStage& added = dag.stages.emplace_back();
    added.demand = parts_of(stage.demand, capacity, digits);
    added.duration = duration.value_or(std::chrono::seconds(1));
    fit.push_back(largest == nullptr || within_node(added.demand, *largest));
    added.waiting = static_cast<std::uint32_t>(stage.tasks.size()) - stage.finished - stage.running;
    dag.ids.push_back(id);
  }
  for (std::uint32_t i = 0; i < dag.stages.size(); ++i) {
    for (StageId parent : job.stage(dag.ids[i])->parents) {
      const auto at = dag.position(parent);
      if (!at) continue;
      dag.stages[i].parents.push_back(*at);
      dag.stages[*at].children.push_back(i);
      fit[i] = fit[i] && fit[*at];
    }
    if (!fit[i]) dag.stages[i].waiting = 0;
  }
  return dag;
}

}  // namespace weft::schedulers
