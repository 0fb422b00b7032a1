// How a worker joins: under a name that is its own, in its rack, with an id that no later master can give to another.
#pragma once

#include <cstdint>
#include <optional>

#include "base/log.hpp"
#include "engine/master/server/worker_capacities.hpp"
#include "engine/master/server/worker_context.hpp"
#include "engine/master/server/worker_losses.hpp"

namespace weft::master {

/// Reactor thread only.
class WorkerAdmission {
 public:
  WorkerAdmission(WorkerContext& context, WorkerCapacities& capacities, WorkerLosses& losses)
      : context_(context), capacities_(capacities), losses_(losses) {}

  /// Answers when the worker has joined and its id is safe, or with why it is refused.
  void on_register(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder);

 private:
  /// The registered worker of that name, unless it is this process itself.
  std::optional<NodeId> rival_of(const protocol::Register& info) const;
  /// Makes sure that no other worker has the name: what is left of the same process goes, a worker without a name of its own gets
  /// another.
  Result<void> settle_name(protocol::Register& info);
  /// The node that the worker was for the master before, if that one is waited for.
  std::optional<NodeId> returning(const protocol::Register& info) const;
  void resume_job(NodeId id, RegisteredWorker& worker, JobId job);
  Result<rpc::Payload> rejoin(const rpc::ConnectionPtr& connection, WorkerTag& tag, NodeId id, protocol::Register info);
  /// A worker by that name was started again: the node that it was is lost.
  void lose_predecessor(const protocol::Register& info);
  /// Of this master's leadership; 0: it is the only one.
  std::uint64_t epoch() const;
  /// Where the worker is of a release that knows no keys of jobs.
  void warn_without_keys(const RegisteredWorker& worker) const;
  protocol::Registered answer_to(NodeId id, const RegisteredWorker& worker, bool resumed) const;
  Result<rpc::Payload> join(const rpc::ConnectionPtr& connection, WorkerTag& tag, NodeId id, protocol::Register info,
                            const schedulers::UplinkRate& uplink);

  WorkerContext& context_;
  WorkerCapacities& capacities_;
  WorkerLosses& losses_;
  Log log_{"master"};
};

}  // namespace weft::master
