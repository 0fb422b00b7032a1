// What the parts of a worker share. One per registration thread: everything here belongs to the worker's reactor thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/protocol/worker.hpp"
#include "runtime/worker/data_plane.hpp"
#include "runtime/worker/options.hpp"
#include "shuffle/read/partition_reader.hpp"
#include "shuffle/store/store.hpp"
#include "storage/transfer/rack_traffic.hpp"

namespace weft::runtime {

class BinaryCache;
class JobAccounts;
class WorkerDevices;
class WorkerIsolation;

struct WorkerContext {
  rpc::Reactor& reactor;
  rpc::Reactor& background;  // executes what may take long, and what tasks wait for: putting segments into a full store
  rpc::Reactor& removals;    // removes directories, of however many files
  WorkerOptions options;
  std::string directory;
  shuffle::Store* store = nullptr;
  DataPlane* data = nullptr;
  BinaryCache* binaries = nullptr;
  JobAccounts* accounts = nullptr;
  WorkerIsolation* isolation = nullptr;
  WorkerDevices* devices = nullptr;
  shuffle::OutputNodes outputs{};                              // itself, as registered now, and those that serve map outputs
  std::function<void(std::vector<protocol::Event>)> report{};  // to the master
  std::function<void(const protocol::ReplicaEnded&)> report_replica{};
  std::function<void(std::size_t device)> on_device_crash = [](std::size_t) {};        // an executor that held it has died
  std::function<void()> on_device_back = [] {};                                        // an attempt that held one has ended
  std::function<void()> on_process_gone = [] {};                                       // an executor or driver has ended
  std::shared_ptr<storage::RackTally> racks = std::make_shared<storage::RackTally>();  // of chunks, its executors' too
  std::uint64_t next_isolated = 0;                                                     // number for WorkerIsolation
  std::uint64_t next_removed = 0;                                                      // number for remove_directory()
  Log log{"worker"};

  std::string log_path(JobId job) const;
  std::string driver_log_path(JobId job) const;
  std::string job_directory(JobId job) const;
  /// It is out of the way at once, if it is there. Removing what is in it takes time.
  void remove_directory(const std::string& path);
};

}  // namespace weft::runtime
