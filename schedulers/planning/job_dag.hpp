// The DAG of a job's unfinished stages, as schedulers see it, for dag_packing.hpp.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "schedulers/planning/dag_packing.hpp"
#include "schedulers/view/view.hpp"

namespace weft::schedulers {

/// How long a task of the stage is believed to take: what the program, history or observation says (estimates.hpp), the first that
/// is more than nothing and at most thirty days; but what is observed of three tasks and more counts before what it contradicts by
/// a factor of two. Nothing: nobody said anything that can be believed.
std::optional<Time> believed_duration(const StageInfo& stage);

struct JobDag {
  Dag stages;
  std::vector<StageId> ids;      // of each, ascending
  std::vector<StageId> unknown;  // of no believable duration: it counts as a second

  /// The position of the stage; nothing: it is not there, or was finished.
  std::optional<std::uint32_t> position(StageId id) const;
};

/// Demands as parts of `capacity`. Has no running tasks: those of a plan that keeps account of them are added by its owner. Of a
/// stage whose demand is more than `largest`, what any node has at most of each resource, no task waits, nor of those behind it.
JobDag dag_of(const JobInfo& job, const Resources& capacity, Digits digits = {}, const Parts* largest = nullptr);

}  // namespace weft::schedulers
