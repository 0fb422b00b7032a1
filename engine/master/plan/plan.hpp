// The plan: what the master knows of a job. Stages cut at shuffles, their tasks, and where their data comes from and goes.
// No closures: an executor finds those by stage id in its own run of the job's definition.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "engine/master/plan/output_kind.hpp"
#include "runtime/protocol/commands.hpp"
#include "schedulers/view/resources.hpp"
#include "storage/split.hpp"

namespace weft::plan {

/// How the tasks of a branch get their input.
enum class BranchKind : std::uint8_t {
  splits = 0,    // task i reads splits[i] (files), or generates partition i when the group is empty
  shuffles = 1,  // task i reads partition i of every shuffle in `partitioned`
};
constexpr BranchKind last_of(BranchKind) { return BranchKind::shuffles; }

/// A stage whose input is a union has one branch per member; its tasks are numbered branch after branch.
struct Branch {
  BranchKind kind = BranchKind::splits;
  std::uint32_t tasks = 0;
  std::vector<storage::SplitGroup> splits;  // BranchKind::splits of files: one per task; else empty
  std::vector<ShuffleId> partitioned;       // read at the task's own partition; all have `tasks` partitions
  std::vector<ShuffleId> broadcast;         // read whole by every task (one partition)
  /// Positions in `partitioned` of inputs whose records are treated one by one, given the other inputs whole: a hot partition of
  /// such an input may be cut by maps and given to several tasks.
  std::vector<std::uint32_t> splittable{};
  /// The number of tasks is nobody's choice: adjacent partitions that turn out to be small may be given to one task.
  bool mergeable = false;
};

struct Stage {
  StageId id;
  std::string name;                    // "reduce_by_key (wordcount.cpp:14)"
  std::vector<std::string> operators;  // fused chain in order, as the user wrote it
  std::vector<Branch> branches;
  OutputKind output = OutputKind::shuffle;
  std::uint32_t partitions = 0;                 // of the shuffle
  std::uint64_t fingerprint = 0;                // of everything the closures depend on; an executor must arrive at the same
  schedulers::Resources demand{};               // of each task; all zero: the job's
  schedulers::Time estimated_task_duration{0};  // zero: not known
  double estimated_output_ratio = 0;            // bytes written for each byte read; zero: not known
  std::vector<std::string> variants{};          // attributes of nodes for which it has a function of their own: "accelerator"
  /// A task that runs again may write other records to a partition than before. Taken as a whole the new output is as good as the
  /// former one, but tasks that have read the former must run again.
  bool indeterminate = false;

  std::uint32_t task_count() const;
};

using runtime::protocol::TaskSpec;
/// Of one task, derived from its stage. The sizes of inputs are for the caller to fill in.
TaskSpec task_spec(const Stage& stage, std::uint32_t task_index);

/// Stages handed to the master for one action: everything not handed over before that the target needs, and the target last.
struct PlanPart {
  ActionId action;
  std::vector<Stage> stages;        // in id order
  std::vector<StageId> targets;     // stages with OutputKind::result whose outputs the driver waits for
  std::vector<ShuffleId> released;  // no later stage of this job reads these (lineage may still recompute them)
};

/// Checks a part against the stages known so far: its size, inputs that come later or are missing, partition-count mismatches,
/// unknown or repeated stages, results that are read as shuffles. The error names the operator.
Result<void> validate(const PlanPart& part, const std::vector<const Stage*>& known);

/// Whether the parts consist of the same stages: what a definition makes must not depend on anything but its options and the values
/// of its actions. plan_mismatch names the first stage that differs.
Result<void> compare(const PlanPart& before, const PlanPart& now);

/// The stage graph for people: indented text, or Graphviz.
std::string explain_text(const std::vector<const Stage*>& stages);
std::string explain_dot(const std::vector<const Stage*>& stages);

/// Cap'n Proto: the fields of the structs above are those of plan.capnp, in its order (base/rpc/versioned.hpp). Decoding bounds
/// everything, refuses enumerators without a name (corrupt) and validates nothing more.
Buffer encode(const PlanPart& part);
Result<PlanPart> decode_part(ByteView bytes);

}  // namespace weft::plan
