// The search for the best of several nodes for a stage's tasks, remembered for one call of a scheduler.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "schedulers/parts/offers.hpp"

namespace weft::schedulers {

/// What tries a node. `room_seen`: set where the node has room, whether it takes a task or not.
class NodeTrial {
 public:
  virtual ~NodeTrial() = default;
  virtual bool launch_on(const JobInfo& job, const StageInfo& stage, NodeId id, Locality level, bool& room_seen) = 0;
};

/// How the tasks of a stage find their nodes. placed: a placement answers for them, on any node; waiting: those that have no
/// preference are taken with those that are near.
enum class Finds : std::uint8_t { near, waiting, placed };

/// Room and pending tasks only become fewer in a call, so where nothing was found nothing will be.
class Sweeps {
 public:
  /// A call begins.
  void clear() {
    sweeps_.clear();
    hopeless_.clear();
  }
  /// Launches one task of the stage at most that far from its input, as near as possible: one per node and round, so few tasks use
  /// many nodes. Whether it did.
  bool place(const ClusterView& view, const Offers& offers, const JobInfo& job, const StageInfo& stage, Locality allowed,
             Finds finds, NodeTrial& trial);
  /// Whether it is known that such a task fits on none of the nodes.
  bool hopeless(const Resources& demand) const;
  /// Where a task without a preference went last, in any call: the next ones go to the nodes after it.
  NodeId last() const { return last_; }

 private:
  struct Sweep {
    Locality level = Locality::node;
    bool begun = false;  // the level
    bool first = true;   // round of the level, over all offers; the others are over those that had something in the one before
    NodeWalk walk;
    std::vector<NodeId> again;
    bool room_seen = false;
    bool over = false;
  };
  void begin_level(Sweep& sweep, const ClusterView& view, const Offers& offers, const StageInfo& stage, Finds finds) const;
  bool next_round(Sweep& sweep, const StageInfo& stage);

  NodeId last_;
  std::map<std::pair<JobId, StageId>, Sweep> sweeps_;
  std::vector<Resources> hopeless_;  // demands that fit nowhere
};

}  // namespace weft::schedulers
