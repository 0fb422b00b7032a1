// The use of nodes by tasks, by phase, and the capacities of nodes: the job profiles and capacities of RAS (Polo's thesis,
// sections 4.2.1 and 4.2.6), corrected by the measurements of workers.
//
// A task uses phase_use() (estimates.hpp): hints, then history, then its demand. Where nodes measure more or less than their tasks
// should use, each of their stages is corrected in proportion, a little in each control cycle, by a factor of eight at most. A
// nearly full node never makes tasks look smaller, because they may just get no more. A task of unknown use begins with the
// processors that stand for its slots, and a small part of the other resources. Nodes have the processors that their workers
// report, and otherwise their capacity.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <utility>

#include "schedulers/parts/slot_matrix.hpp"
#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

struct TaskUseOptions {
  Resources node;        // capacity of each node instead of the reported one; amounts that are 0 are as reported
  bool measured = true;  // measurements of nodes count
  Overcommit overcommit{2.0 / 3};
  double copies = 5;  // maps whose outputs a reader fetches at a time: while fewer run it uses less than its shuffle profile
};

class TaskUse {
 public:
  explicit TaskUse(const TaskUseOptions& options) : options_(options) {}

  void on_event(const ClusterView& view, const Notice& notice);
  /// Corrects the uses of stages by the measurements of nodes. Once in each control cycle.
  void learn(const ClusterView& view);

  /// The stage reads shuffles whose maps have not all been launched, so that its running tasks fetch.
  static bool fetches(const JobInfo& job, const StageInfo& stage);
  SlotDemand of(const ClusterView& view, const JobInfo& job, const StageInfo& stage) const;
  /// The capacity of the node for tasks where `available` of its capacity is available.
  SlotDemand capacity(const NodeInfo& node, const Resources& available) const;
  /// Whether a task of the stage fits beside the running tasks of the node, and beside its measurements. Measurements count for
  /// memory and for the resource that the task needs most, and at most half of the task must fit beside them. Any task fits an idle
  /// node.
  bool fits(const ClusterView& view, const NodeInfo& node, const Resources& available, const JobInfo& job,
            const StageInfo& stage) const;

 private:
  using Factors = std::array<double, kResourceKinds.size()>;
  using Key = std::pair<JobId, StageId>;
  Resources use_of(const ClusterView& view, const JobInfo& job, const StageInfo& stage) const;

  /// The tasks that ended on a node since its last measurement: their whole use is in that, and a part of it will be in the next.
  struct Gone {
    Time reported{0};  // the last measurement
    Resources use, part;
    Resources before;  // the part of the tasks that ended while it was measured
  };
  /// The use in the node's measurement by tasks that have ended.
  Resources gone(const ClusterView& view, const NodeInfo& node) const;

  TaskUseOptions options_;
  std::map<Key, Factors> factors_;
  std::map<NodeId, Gone> gone_;
  double per_slot_ = 1;  // processors that stand for a slot
};

}  // namespace weft::schedulers
