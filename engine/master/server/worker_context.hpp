// What the server's parts for workers share.
#pragma once

#include <functional>
#include <memory>

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
  WorkerTable table{reactor};
};

}  // namespace weft::master
