// The search for the best of several nodes for a stage's tasks, remembered for one call of a scheduler.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "schedulers/parts/free_nodes.hpp"

namespace weft::schedulers {

/// Tries to launch a task of a stage on a node.
class NodeTrial {
 public:
  virtual ~NodeTrial() = default;
  /// `fitted`: set where a task of the stage fits the node, whether the node takes one or not.
  virtual bool launch_on(const JobInfo& job, const StageInfo& stage, NodeId id, Locality level, bool& fitted) = 0;
};

/// How the tasks of a stage find their nodes. near: by their input. waiting: by their input, and under a locality wait tasks
/// without a preference count as near. placed: a placement answers for them, on any node.
enum class Finds : std::uint8_t { near, waiting, placed };

/// Free capacity and pending tasks only become fewer in a call, so where nothing was found nothing will be.
class NodeSearch {
 public:
  /// Forgets what was found: a call begins, or a round of it.
  void clear() {
    searches_.clear();
    fits_nowhere_.clear();
  }
  /// Launches one task of the stage at most that far from its input, as near as possible: one per node and round, so that few tasks
  /// use many nodes. False: no node took one.
  bool launch(const ClusterView& view, const FreeNodes& nodes, const JobInfo& job, const StageInfo& stage, Locality allowed,
              Finds finds, NodeTrial& trial);
  /// True: such a task is known to fit on none of the nodes.
  bool fits_nowhere(const Resources& demand) const;
  /// Where a task without a preference went last, in any call: the next ones go to the nodes after it.
  NodeId last() const { return last_; }

 private:
  struct Search {
    Locality level = Locality::node;
    bool begun = false;  // the level
    bool first = true;   // round of the level, over all nodes; later ones are over those that took a task in the round before
    NodeWalk walk;
    std::vector<NodeId> again;
    bool fitted = false;
    bool over = false;
  };
  void begin_level(Search& search, const ClusterView& view, const FreeNodes& nodes, const StageInfo& stage, Finds finds) const;
  bool next_round(Search& search, const StageInfo& stage);

  NodeId last_;
  std::map<std::pair<JobId, StageId>, Search> searches_;
  std::vector<Resources> fits_nowhere_;  // demands that fit nowhere
};

}  // namespace weft::schedulers
