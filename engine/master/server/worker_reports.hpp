// What workers report: heartbeats, ends of attempts and replicas, prefetched blocks, that they are leaving. Reports become events
// of the core.
#pragma once

#include <vector>

#include "base/log.hpp"
#include "engine/master/server/worker_capacities.hpp"
#include "engine/master/server/worker_context.hpp"
#include "engine/master/server/worker_losses.hpp"

namespace weft::master {

/// Reactor thread only.
class WorkerReports {
 public:
  WorkerReports(WorkerContext& context, WorkerCapacities& capacities, WorkerLosses& losses)
      : context_(context), capacities_(capacities), losses_(losses) {}

  /// Disconnects a peer that sends a malformed message.
  void on_notify(const rpc::ConnectionPtr& connection, const rpc::Message& message);
  /// A long message is on its way, and the heartbeats behind it.
  void on_part(const rpc::ConnectionPtr& connection);

 private:
  Result<void> on_message(NodeId id, RegisteredWorker& worker, const rpc::Message& message);
  void note_unknown(RegisteredWorker& worker, rpc::MessageType type);
  Result<void> on_heartbeat(NodeId id, RegisteredWorker& worker, const rpc::Message& message);
  Result<void> apply_heartbeat(NodeId id, RegisteredWorker& worker);
  Result<void> on_leaving(NodeId id, RegisteredWorker& worker, const rpc::Message& message);
  void report_remains(NodeId id, const RegisteredWorker& worker) const;
  void on_task_event(NodeId node, protocol::Event event);
  void keep_events(NodeId id, RegisteredWorker& worker);
  void on_replica_ended(NodeId node, protocol::ReplicaEnded ended);
  void on_prefetch_report(NodeId node, const std::vector<protocol::JobPrefetch>& jobs);

  WorkerContext& context_;
  WorkerCapacities& capacities_;
  WorkerLosses& losses_;
  Log log_{"master"};
};

}  // namespace weft::master
