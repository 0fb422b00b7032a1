// What running tasks draw from other nodes than their own: the network out and the disk of the machines where their input lies
// (Tetris, section 3.1 of the paper: a task with remote input needs room there, too). The core accounts for a task on its own node
// only; this is beside it, for policies that look at both.
//
// A task draws what its demand says it takes in: network_in of it, and disk_read of it where that is read. One replica of an input
// file gives all of that, the one on the node with the most network free; map outputs are drawn from every node that holds some, in
// proportion to what it holds. No node gives more than it has, so a task can run when its sources have nothing else to do.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// Where the map outputs lie that a stage reads: there are some or none, on one node or on several.
struct Home {
  bool some = false;
  std::optional<NodeId> node;  // that has all
};
Home home_of(const JobInfo& job, const StageInfo& stage);

class RemoteSources {
 public:
  struct Draw {
    NodeId node;
    double network_out = 0, disk_read = 0;  // bytes per second
  };
  using Draws = std::vector<Draw>;

  /// False: no node accounts for what sources give, so nothing is drawn.
  bool accounted() const { return accounted_; }
  void capacity_is(const Resources& capacity) { accounted_ = capacity.network_out > 0 || capacity.disk_read > 0; }

  /// What a task would draw if it ran on `at`. Nothing: some source has no room for that.
  std::optional<Draws> draws(const ClusterView& view, const JobInfo& job, const StageInfo& stage, std::uint32_t task,
                             const NodeInfo& at) const;
  /// The task was launched on `at`.
  void charge(const TaskId& task, NodeId at, Draws draws);
  /// Wants to be told everything: gives back what tasks that run no more have drawn. Whether there was any.
  bool on_event(const Notice& notice);

  /// Of the node, by tasks there and by tasks elsewhere.
  Resources used(const NodeInfo& node) const;

 private:
  struct Charge {
    NodeId at;
    Draws draws;
  };
  struct Drawn {
    Resources amounts;
    std::uint64_t tasks = 0;
  };
  using Charges = std::map<TaskId, Charge>;

  bool has_room(const NodeInfo& node, const Draw& draw) const;
  std::optional<Draw> replica(const ClusterView& view, const StageInfo& stage, std::uint32_t task) const;
  Charges::iterator release(Charges::iterator charge);

  bool accounted_ = false;
  Charges charges_;
  std::map<NodeId, Drawn> drawn_;  // from nodes that give something
};

}  // namespace weft::schedulers
