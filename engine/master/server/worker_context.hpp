// What the server's parts for workers share.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "engine/master/core/core_shell.hpp"
#include "engine/master/journal/job_recorder.hpp"
#include "engine/master/nodes/topology.hpp"
#include "engine/master/server/running_jobs.hpp"
#include "engine/master/server/server.hpp"
#include "engine/master/server/worker_table.hpp"

namespace weft::master {

/// All of it outlives the parts.
struct WorkerContext {
  CoreShell& shell;
  JobRecorder& recorder;
  const RunningJobs& jobs;
  PrefetchReports& prefetched;
  rpc::Reactor& reactor;
  rpc::Reactor& background;  // what may block: asking the topology program
  Topology* topology;        // null: workers say which rack they are in
  const std::unique_ptr<StorageService>& storage;
  const ServerOptions& options;
  std::function<void(NodeId, const protocol::DriverEnded&)> driver_ended{};  // hears of ends of drivers; may be empty
  std::function<void(NodeId, const std::vector<JobId>&)> resumed{};          // hears of workers that are back, and of their drivers
  WorkerTable table{reactor};
  std::map<NodeId, NodeFact> away{};  // nodes of the master before whose workers are waited for

  /// Where the node serves its blocks, also while it is away. Nothing: it is gone.
  std::optional<protocol::NodeAddress> address_of(NodeId id) {
    if (const RegisteredWorker* const worker = table.find(id)) return worker->address(id);
    const auto found = away.find(id);
    if (found == away.end()) return std::nullopt;
    return protocol::NodeAddress{id, found->second.name, found->second.data_address, found->second.rack};
  }
};

}  // namespace weft::master
