// A definition that runs again: whether it makes the stages that an earlier driver of the job has run.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/master/plan/plan.hpp"

namespace weft::detail {

/// plan_mismatch, naming the first operator that differs, unless the stages (ids, names, operators and fingerprints count) and
/// targets that the definition has for an action now are those that are recorded for it.
Result<void> check_same_part(const std::vector<plan::Stage>& now, const std::vector<StageId>& targets,
                             const plan::PlanPart& recorded);

/// plan_mismatch, of a definition that differs in this way.
Error differs(const std::string& how);

}  // namespace weft::detail
