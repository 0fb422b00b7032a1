#include "engine/master/plan/plan.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::plan {

namespace {

// What no plan may have more of: a master that took it would not live long.
constexpr std::uint64_t kMaxTasks = 1u << 24;          // of a job so far; and partitions of a shuffle
constexpr std::size_t kMaxStages = 1u << 16;           // of a job so far
constexpr std::size_t kMaxInputs = 1u << 10;           // shuffles whose partitions the tasks of a branch read
constexpr std::size_t kMaxNameBytes = 16u << 10;       // of a stage or an operator
constexpr std::size_t kMaxTaskSplitBytes = 32u << 20;  // of the splits of one task, which travel with its launch

using Stages = std::map<StageId, const Stage*>;

std::string described(const Stage& stage) {
  return stage.name.empty() ? fmt::format("stage {}", stage.id.value())
                            : fmt::format("{} [stage {}]", stage.name, stage.id.value());
}

tl::unexpected<Error> wrong(const Stage& stage, std::string what) {
  return fail(Code::invalid_argument, fmt::format("{}: {}", described(stage), what));
}

template <class Visit>
void for_each_input(const Stage& stage, Visit visit) {
  for (const Branch& branch : stage.branches) {
    for (ShuffleId input : branch.partitioned) visit(input, &branch);
    for (ShuffleId input : branch.broadcast) visit(input, nullptr);
  }
}

/// About what they take in a message.
std::size_t bytes_of(const storage::SplitGroup& splits) {
  constexpr std::size_t kNumbers = 96;
  std::size_t bytes = 0;
  for (const storage::Split& split : splits) {
    bytes += kNumbers + split.path.size() + split.version.tag.size();
    for (const std::string& host : split.hosts) bytes += sizeof(std::uint64_t) + host.size();
  }
  return bytes;
}

Result<void> check_names(const Stage& stage) {
  const auto too_long = [](const std::string& name) { return name.size() > kMaxNameBytes; };
  if (too_long(stage.name) || std::any_of(stage.operators.begin(), stage.operators.end(), too_long) ||
      std::any_of(stage.variants.begin(), stage.variants.end(), too_long))
    return fail(Code::invalid_argument, fmt::format("stage {} or an operator of it has a name of more than {}", stage.id.value(),
                                                    human_bytes(kMaxNameBytes)));
  return {};
}

/// Each is read once, whatever reads it.
Result<void> check_inputs(const Stage& stage, const Branch& branch) {
  if (branch.partitioned.size() > kMaxInputs)
    return wrong(stage, fmt::format("reads {} shuffles; at most {} are possible", branch.partitioned.size(), kMaxInputs));
  if (const std::set<ShuffleId> inputs(branch.partitioned.begin(), branch.partitioned.end());
      inputs.size() < branch.partitioned.size())
    return wrong(stage, "reads the same shuffle twice");
  if (const std::set<std::uint32_t> splittable(branch.splittable.begin(), branch.splittable.end());
      splittable.size() < branch.splittable.size())
    return wrong(stage, "may be split by the same input twice");
  for (std::uint32_t input : branch.splittable) {
    if (input >= branch.partitioned.size()) return wrong(stage, "may be split by an input that it does not have");
  }
  return {};
}

Result<void> check_branch(const Stage& stage, const Branch& branch) {
  WEFT_TRY(check_inputs(stage, branch));
  if (branch.mergeable && branch.kind != BranchKind::shuffles) return wrong(stage, "may merge partitions, and reads none");
  if (branch.kind != BranchKind::splits && branch.kind != BranchKind::shuffles) return wrong(stage, "unknown kind of input");
  if (branch.kind == BranchKind::splits) {
    if (!branch.partitioned.empty()) return wrong(stage, "reads both files and a shuffle in one branch");
    if (!branch.splits.empty() && branch.splits.size() != branch.tasks) {
      return wrong(stage, fmt::format("has {} input splits for {} tasks", branch.splits.size(), branch.tasks));
    }
    for (const storage::SplitGroup& splits : branch.splits) {
      if (const std::size_t bytes = bytes_of(splits); bytes > kMaxTaskSplitBytes)
        return wrong(stage, fmt::format("has a task with {} input files, whose names take {}; at most {} are possible",
                                        splits.size(), human_bytes(bytes), human_bytes(kMaxTaskSplitBytes)));
    }
    return {};
  }
  if (branch.partitioned.empty()) return wrong(stage, "has no input: it reads neither files nor a shuffle");
  if (!branch.splits.empty()) return wrong(stage, "has file splits in a branch that reads shuffles");
  return {};
}

Result<void> check_shape(const Stage& stage) {
  WEFT_TRY(check_names(stage));
  if (stage.branches.empty()) return wrong(stage, "has no input");
  std::uint64_t tasks = 0;
  for (const Branch& branch : stage.branches) {
    WEFT_TRY(check_branch(stage, branch));
    tasks += branch.tasks;
  }
  if (tasks > kMaxTasks) return wrong(stage, fmt::format("has {} tasks; at most {} are possible", tasks, kMaxTasks));
  if (stage.output != OutputKind::shuffle && stage.output != OutputKind::result) return wrong(stage, "unknown kind of output");
  if (stage.output == OutputKind::shuffle && (stage.partitions == 0 || stage.partitions > kMaxTasks)) {
    return wrong(stage, fmt::format("writes a shuffle of {} partitions; 1 to {} are possible", stage.partitions, kMaxTasks));
  }
  return {};
}

Result<void> check_input(const Stage& stage, ShuffleId input, const Branch* partitioned, const Stages& all) {
  auto found = all.find(StageId(input.value()));
  if (found == all.end()) return wrong(stage, fmt::format("reads shuffle {}, which no stage writes", input.value()));
  const Stage& producer = *found->second;
  // So there is no cycle, either.
  if (producer.id >= stage.id) return wrong(stage, fmt::format("reads {}, which is not defined before it", described(producer)));
  if (producer.output != OutputKind::shuffle) {
    return wrong(stage,
                 fmt::format("reads the output of {}, which is a result for the driver and no shuffle", described(producer)));
  }
  if (partitioned != nullptr && producer.partitions != partitioned->tasks) {
    return wrong(stage, fmt::format("has {} tasks but its input {} has {} partitions; partition both sides alike",
                                    partitioned->tasks, described(producer), producer.partitions));
  }
  if (partitioned == nullptr && producer.partitions != 1) {
    return wrong(stage,
                 fmt::format("reads {} as broadcast, but that has {} partitions, not 1", described(producer), producer.partitions));
  }
  return {};
}

/// Of all stages of a job together.
Result<void> check_size(const Stages& all) {
  std::uint64_t tasks = 0;
  for (const auto& [id, stage] : all) tasks += stage->task_count();
  if (tasks > kMaxTasks)
    return fail(Code::invalid_argument, fmt::format("the job has {} tasks so far; at most {} are possible", tasks, kMaxTasks));
  if (all.size() > kMaxStages)
    return fail(Code::invalid_argument,
                fmt::format("the job has {} stages so far; at most {} are possible", all.size(), kMaxStages));
  return {};
}

Result<void> check_ends(const PlanPart& part, const Stages& all) {
  std::set<StageId> targets, own;
  for (const Stage& stage : part.stages) own.insert(stage.id);
  for (StageId target : part.targets) {
    auto found = all.find(target);
    if (found == all.end() || !own.contains(target)) {
      return fail(Code::invalid_argument,
                  fmt::format("the action's target, stage {}, is not part of what it submits", target.value()));
    }
    if (found->second->output != OutputKind::result) return wrong(*found->second, "is the target of an action but gives no result");
    if (!targets.insert(target).second) return wrong(*found->second, "is the target of the action twice");
  }
  for (const Stage& stage : part.stages) {
    if (stage.output == OutputKind::result && !targets.contains(stage.id)) return wrong(stage, "gives a result nobody asked for");
  }
  for (ShuffleId shuffle : part.released) {
    auto found = all.find(StageId(shuffle.value()));
    if (found == all.end() || found->second->output != OutputKind::shuffle) {
      return fail(Code::invalid_argument, fmt::format("shuffle {} is released, but no stage writes it", shuffle.value()));
    }
  }
  return {};
}

}  // namespace

std::uint32_t Stage::task_count() const {
  std::uint32_t tasks = 0;
  for (const Branch& branch : branches) tasks += branch.tasks;
  return tasks;
}

TaskSpec task_spec(const Stage& stage, std::uint32_t task_index) {
  TaskSpec spec;
  spec.fingerprint = stage.fingerprint;
  spec.output_partitions = stage.output == OutputKind::shuffle ? stage.partitions : 0;
  spec.partition = task_index;
  for (const Branch& branch : stage.branches) {
    if (spec.partition < branch.tasks) {
      if (!branch.splits.empty()) spec.splits = branch.splits[spec.partition];
      for (ShuffleId input : branch.partitioned) spec.inputs.push_back({input, {}, 0});
      return spec;
    }
    spec.partition -= branch.tasks;
    ++spec.branch;
  }
  return spec;
}

Result<void> validate(const PlanPart& part, const std::vector<const Stage*>& known) {
  Stages all;
  for (const Stage* stage : known) all.emplace(stage->id, stage);
  for (const Stage& stage : part.stages) {
    WEFT_TRY(check_shape(stage));
    auto [other, added] = all.emplace(stage.id, &stage);
    if (!added) return wrong(stage, fmt::format("its id is that of {} already", described(*other->second)));
  }
  WEFT_TRY(check_size(all));
  for (const Stage& stage : part.stages) {
    Result<void> checked;
    for_each_input(stage, [&](ShuffleId input, const Branch* branch) {
      if (checked) checked = check_input(stage, input, branch, all);
    });
    WEFT_TRY(std::move(checked));
  }
  return check_ends(part, all);
}

Result<void> compare(const PlanPart& before, const PlanPart& now) {
  const auto differs = [&](const Stage& stage, const std::string& how) {
    return fail(Code::plan_mismatch, fmt::format("action {}: stage {} ({}) {}; define() must do the same in every run",
                                                 before.action.value(), stage.id.value(), stage.name, how));
  };
  for (std::size_t i = 0; i < before.stages.size(); ++i) {
    const Stage& was = before.stages[i];
    if (i >= now.stages.size()) return differs(was, "was there before, and is missing now");
    const Stage& is = now.stages[i];
    if (was.id != is.id || was.name != is.name)
      return differs(is, fmt::format("is where stage {} ({}) was before", was.id.value(), was.name));
    if (was.fingerprint != is.fingerprint || was.output != is.output)
      return differs(is, "has other operators or types than before");
  }
  if (now.stages.size() > before.stages.size()) return differs(now.stages[before.stages.size()], "was not there before");
  if (now.targets != before.targets) return fail(Code::plan_mismatch, "the action has other targets than before");
  return {};
}

}  // namespace weft::plan
