// What workers may be given at present. Files of workers, operators, and other processes of their machines limit it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "engine/master/nodes/node_capacities.hpp"
#include "engine/master/server/worker_context.hpp"

namespace weft::master {

/// Reactor thread only.
class WorkerCapacities {
 public:
  explicit WorkerCapacities(WorkerContext& context) : context_(context) {}

  /// An operator's limit (NodeCapacities::set), at once.
  Result<void> set(const std::string& name, std::string_view text, std::string_view reason);
  /// The limits that operators set under an earlier master. Before any worker joins.
  void restore(const std::vector<NodeSetting>& settings);

  void joined(NodeId id, const protocol::Register& info, const schedulers::Resources& capacity);
  void left(NodeId id) { capacities_.left(id); }
  void measured(NodeId id, const schedulers::Resources& worker, const schedulers::Resources& machine);
  Result<void> on_texts(NodeId id, const RegisteredWorker& worker, const rpc::Message& message);

  /// Gives the core what has changed of the node's capacity.
  void update(NodeId id);

 private:
  WorkerContext& context_;
  NodeCapacities capacities_;
  Log log_{"master"};
};

}  // namespace weft::master
