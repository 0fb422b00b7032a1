// Workers that are lost: how that is noticed, and what follows.
#pragma once

#include <deque>
#include <string>

#include "base/log.hpp"
#include "engine/master/nodes/lost_workers.hpp"
#include "engine/master/server/worker_capacities.hpp"
#include "engine/master/server/worker_context.hpp"

namespace weft::master {

/// Reactor thread only.
class WorkerLosses {
 public:
  WorkerLosses(WorkerContext& context, WorkerCapacities& capacities) : context_(context), capacities_(capacities) {}

  const std::deque<LostWorker>& recent() { return lost_.recent(context_.shell.now()); }
  /// False when it was no worker's connection.
  bool on_close(const rpc::ConnectionPtr& connection, const Error& error);
  Result<void> on_dying(const rpc::ConnectionPtr& connection, const rpc::Message& message);
  /// The worker is lost, and its connection ends.
  void expel(NodeId id, const std::string& why);
  void carry_out(NodeLost& lost);

 private:
  void forget(NodeId id, const std::string& why);
  void note(const NodeLost& lost, const RegisteredWorker& worker);

  WorkerContext& context_;
  WorkerCapacities& capacities_;
  LostWorkers lost_;
  Log log_{"master"};
};

}  // namespace weft::master
