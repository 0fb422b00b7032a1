#include "recorded_part.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace weft::detail {
namespace {

std::string stage_text(const plan::Stage& stage) { return "stage " + std::to_string(stage.id.value()) + " '" + stage.name + "'"; }

std::string operator_at(const plan::Stage& stage, std::size_t at) {
  return at < stage.operators.size() ? "'" + stage.operators[at] + "'" : std::string("nothing");
}

/// Empty: they are the same.
std::string difference(const plan::Stage& now, const plan::Stage& before) {
  if (now.name != before.name)
    return "stage " + std::to_string(now.id.value()) + " is '" + now.name + "', and was '" + before.name + "'";
  const auto length = std::max(now.operators.size(), before.operators.size());
  for (std::size_t i = 0; i < length; ++i)
    if (operator_at(now, i) != operator_at(before, i))
      return stage_text(now) + " has the operator " + operator_at(now, i) + ", and had " + operator_at(before, i);
  if (now.fingerprint == before.fingerprint) return {};
  return stage_text(now) + " has the operators that it had, but other types, inputs or numbers of partitions";
}

}  // namespace

Error differs(const std::string& how) {
  return {Code::plan_mismatch,
          "this run of the job's definition differs from the one before: " + how + "; define() must do the same in every run"};
}

Result<void> check_same_part(const std::vector<plan::Stage>& now, const std::vector<StageId>& targets,
                             const plan::PlanPart& recorded) {
  const std::size_t stages = std::max(now.size(), recorded.stages.size());
  for (std::size_t i = 0; i < stages; ++i) {
    const bool is = i < now.size() && (i >= recorded.stages.size() || now[i].id <= recorded.stages[i].id);
    const bool was = i < recorded.stages.size() && (i >= now.size() || recorded.stages[i].id <= now[i].id);
    if (!was) return fail(differs(stage_text(now[i]) + " is needed here, and was not"));
    if (!is) return fail(differs(stage_text(recorded.stages[i]) + " was needed here, and is not"));
    if (std::string how = difference(now[i], recorded.stages[i]); !how.empty()) return fail(differs(how));
  }
  if (targets != recorded.targets)
    return fail(differs("action " + std::to_string(recorded.action.value()) + " has the results of other stages"));
  return {};
}

}  // namespace weft::detail
