// What tasks take of their nodes by phase, and what nodes have: the job profiles and capacities of RAS (Polo's thesis, sections
// 4.2.1 and 4.2.6), put right by what workers measure.
//
// A task takes what phase_use() says (estimates.hpp): hints, then history, then its demand. Where nodes measure more or less than
// what their tasks should take, each stage there is corrected by its part of that, a little in each control cycle; a profile that
// is wrong by a factor of eight is found out. A node that is nearly full of anything never makes anybody's tasks look smaller: they
// may just get no more. Where nobody knows what a task takes, it begins with the processors that stand for its slots, and a small
// part of the node else. Nodes have the processors that their workers report, and otherwise what their capacity says.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <utility>

#include "schedulers/parts/slot_matrix.hpp"
#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

struct TaskUseOptions {
  Resources node;        // what each node has, where that is not what it reports; amounts that are 0 are as reported
  bool measured = true;  // nodes' measurements count
  Overcommit overcommit{2.0 / 3};
  double copies = 5;  // maps whose outputs a reader fetches at a time: with fewer placed it takes less than its shuffle profile
};

class TaskUse {
 public:
  explicit TaskUse(const TaskUseOptions& options) : options_(options) {}

  void on_event(const ClusterView& view, const Notice& notice);
  /// Compares what nodes measure with what their tasks should take. Once in each control cycle.
  void learn(const ClusterView& view);

  /// The stage reads shuffles whose maps have not all been launched: what runs of it fetches.
  static bool fetches(const JobInfo& job, const StageInfo& stage);
  SlotDemand of(const ClusterView& view, const JobInfo& job, const StageInfo& stage) const;
  /// What the node has for tasks where this much of its capacity can be given away.
  SlotDemand capacity(const NodeInfo& node, const Resources& available) const;
  /// Whether what runs on the node, and what is measured there, leaves room for a task of the stage. Measurements need leave room
  /// for half of it at most, and they count for memory and for what the task takes most of. A node without tasks has room for any.
  bool has_room(const ClusterView& view, const NodeInfo& node, const Resources& available, const JobInfo& job,
                const StageInfo& stage) const;

 private:
  using Factors = std::array<double, kResourceKinds.size()>;
  using Key = std::pair<JobId, StageId>;
  Resources use_of(const ClusterView& view, const JobInfo& job, const StageInfo& stage) const;

  /// What ended on a node since it was heard of, of which its measurement has all; and the part that the next one will have of it.
  struct Gone {
    Time heard{0};
    Resources use, part;
    Resources before;  // the part of what ended in the time that was measured
  };
  /// What the node's measurement has of tasks that have ended.
  Resources gone(const ClusterView& view, const NodeInfo& node) const;

  TaskUseOptions options_;
  std::map<Key, Factors> factors_;
  std::map<NodeId, Gone> gone_;
  double per_slot_ = 1;  // processors that stand for a slot
};

}  // namespace weft::schedulers
