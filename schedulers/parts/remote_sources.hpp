// What running tasks draw from other nodes: network_out and disk_read of the machines where their input lies (Tetris, section 3.1
// of the paper: a task with remote input needs free capacity there, too). The core accounts for a task on its own node only; this
// account is beside it, for policies that look at both.
//
// A task draws the network_in and disk_read of its demand from the nodes with its input. An input file is drawn from one replica,
// the one on the node with the most free network; map outputs from every node that holds some, in proportion. A draw is never more
// than the node's capacity, so that a task can run when its sources are idle.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// The place of the map outputs that a stage reads.
struct Home {
  bool some = false;           // there are outputs
  std::optional<NodeId> node;  // that holds all of them; nothing: several nodes hold some
};
Home home_of(const JobInfo& job, const StageInfo& stage);

class RemoteSources {
 public:
  struct Draw {
    NodeId node;
    double network_out = 0, disk_read = 0;  // bytes per second
  };
  using Draws = std::vector<Draw>;

  /// False: no node accounts for network_out or disk_read, so nothing is drawn.
  bool accounted() const { return accounted_; }
  void capacity_is(const Resources& capacity) { accounted_ = capacity.network_out > 0 || capacity.disk_read > 0; }

  /// What a task would draw if it ran on `at`. Nothing: some source has too little free capacity.
  std::optional<Draws> draws(const ClusterView& view, const JobInfo& job, const StageInfo& stage, std::uint32_t task,
                             const NodeInfo& at) const;
  /// The task was launched on `at`.
  void charge(const TaskId& task, NodeId at, Draws draws);
  /// Needs every notice: releases the draws of tasks that have stopped.
  void on_event(const Notice& notice);

  /// The used amounts of the node, including the draws of tasks elsewhere.
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

  bool can_give(const NodeInfo& node, const Draw& draw) const;
  std::optional<Draw> replica(const ClusterView& view, const StageInfo& stage, std::uint32_t task) const;
  Charges::iterator release(Charges::iterator charge);

  bool accounted_ = false;
  Charges charges_;
  std::map<NodeId, Drawn> drawn_;  // by the node that is drawn from
};

}  // namespace weft::schedulers
