// Replicas of map outputs (JobOptions::shuffle_replicas): where each is made, and how one takes the place of an output that is
// lost, so that no map runs again. A stage's own account is its StageReplicas.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/master/core/context.hpp"
#include "engine/master/core/replica_placement.hpp"

namespace weft::master {

class OutputReplicas {
 public:
  explicit OutputReplicas(CoreContext& context) : context_(context) {}

  /// The node is in the view.
  void node_joined(NodeId node);
  void node_left(NodeId node) { placement_.remove(node); }

  /// Has a replica made of an output that has none (ReplicateOutput), if its job wants replicas, or its node is leaving, and there
  /// is a node for it; else the output waits for one.
  void replicate(JobRecord& job, StageRecord& stage, std::uint32_t map);
  /// The node is leaving: its outputs get replicas elsewhere, whatever their jobs want, and those it has of others are made on
  /// another node as well.
  void node_leaves(JobRecord& job, StageRecord& stage, NodeId node);
  /// There is a node more for outputs that wait.
  void replicate_waiting();

  /// The output is to have a replica, if one is wanted and there is none, at the next replicate_waiting().
  void await(JobRecord& job, StageRecord& stage, std::uint32_t map);
  /// The node has a replica of that output, which was not known. It counts if one is wanted and there is none.
  void found(JobRecord& job, StageRecord& stage, std::uint32_t map, NodeId node);

  // What workers say of replicas they were to make. not_found or cancelled when nobody waits for that one.
  Result<void> made(const OutputReplica& copy);
  Result<void> failed(const OutputReplica& copy, const std::string& message);

  /// The output is gone, and so is its replica. Its bytes may stay where they are until the shuffle is released.
  void forget(StageRecord& stage, std::uint32_t map);
  void forget_all(StageRecord& stage);
  /// The output is lost where it was. Returns where its replica is, which takes its place and is a replica no more; the caller
  /// records that in the task and has another one made. Nothing when it has none.
  std::optional<NodeId> take_over(StageRecord& stage, std::uint32_t map);
  /// The node is gone; replicas it had are made on another one.
  void lose_on(JobRecord& job, StageRecord& stage, NodeId node);

 private:
  bool wanted(const JobRecord& job, const StageRecord& stage, std::uint32_t map) const;
  bool found_late(const OutputReplica& copy);
  void replicate_elsewhere(JobRecord& job, StageRecord& stage, std::uint32_t map);
  Result<StageRecord*> replicating_stage(const OutputReplica& copy);

  CoreContext& context_;
  ReplicaPlacement placement_;
};

}  // namespace weft::master
