// The DAG of a job's unfinished stages, for dag_packing.hpp.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "schedulers/planning/dag_packing.hpp"
#include "schedulers/view/view.hpp"

namespace weft::schedulers {

/// The believed duration of a task of the stage: the first of program, history and observation (estimates.hpp) that is more than 0
/// and at most thirty days. Where at least three tasks have ended and their mean differs from it by more than a factor of two,
/// their mean. Nothing: there is no credible duration.
std::optional<Time> believed_duration(const StageInfo& stage);

struct JobDag {
  Dag stages;
  std::vector<StageId> ids;      // of each, ascending
  std::vector<StageId> unknown;  // stages without a credible duration, which count as a second

  /// The position of the stage; nothing: it does not exist, or was finished.
  std::optional<std::uint32_t> position(StageId id) const;
};

/// Demands are parts of `capacity`. The owner of a plan adds the running tasks. `largest`: the most of each resource that any node
/// has; a stage whose demand is larger, and all stages after it, have no waiting tasks.
JobDag dag_of(const JobInfo& job, const Resources& capacity, Digits digits = {}, const Parts* largest = nullptr);

}  // namespace weft::schedulers
