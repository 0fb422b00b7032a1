// The settings of a worker: from the command line, a TOML file, or the driver of a private cluster.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/config.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "runtime/worker/chunk_service.hpp"

namespace weft::runtime {

namespace protocol {
struct Heartbeat;
}

/// Of WorkerOptions::cgroup: jobs have no control groups of their own.
inline constexpr std::string_view kNoCgroup = "none";
/// Of WorkerOptions::run_as, beside the names of users: what a job's processes run as.
inline constexpr std::string_view kRunAsSelf = "self";            // the worker's user
inline constexpr std::string_view kRunAsSubmitter = "submitter";  // the job's user, where the machine has him
/// Which chunks a worker hands over before it ends: those that no other worker has, since the rest return with it; or all.
inline constexpr std::string_view kDrainChunksSole = "sole", kDrainChunksAll = "all";

struct WorkerOptions {
  std::string master = "127.0.0.1:7077";          // or a list (rpc::Endpoint::parse_list)
  std::string name;                               // default: <host>-<pid>
  std::string host;                               // default: this machine's name; what splits' hosts are compared with
  std::string rack = "default";                   // unless the master knows better (weft master --topology)
  std::uint32_t slots = 0;                        // tasks at a time; 0: one per processor
  std::uint64_t memory_bytes = 0;                 // of an executor's tasks together; 0: a quarter of the machine's
  std::uint64_t store_bytes = 0;                  // map outputs kept in memory; 0: a quarter of the machine's
  std::uint64_t link_rate = 0;                    // bytes a second of map outputs from each other worker; 0: as fast as they come
  std::string directory;                          // work directory; empty: a temporary one, removed at the end
  std::string listen = "127.0.0.1:0";             // where other workers fetch blocks
  std::string advertise;                          // host part of the address that they get; default: that of `listen`
  std::string capacity;                           // other resources than slots, "disk_read=200MB,network_in=1GB"; memory: as above
  std::string capacity_from;                      // file of what tasks may take at present; empty: all
  std::string forecast;                           // file of what tasks may take, by the hours of a day; empty: not known
  bool yield = false;                             // to others on its machine
  std::vector<std::string> attributes;            // "gpu=1" (base/attributes.hpp)
  std::string devices = "none";                   // that tasks may hold: choose_devices()
  std::vector<std::string> local_data;            // directories whose files lie on this machine
  Duration stop_grace = std::chrono::seconds(2);  // for a task that is asked to stop; then its executor is killed
  Duration drain{0};                              // longest time for handing over after a stop request; 0: it ends at once
  Duration master_patience = std::chrono::minutes(10);  // for which its tasks go on without a master that keeps jobs; 0: not at all
  std::string drain_chunks = "sole";  // which chunks must be copied before it ends: kDrainChunksSole or kDrainChunksAll
  ChunkServiceFactory chunks;         // of the cluster's files; empty: it keeps none
  std::string run_as = std::string(kRunAsSelf);
  bool sandbox = false;  // jobs' processes see files read-only, and none of other jobs; needs another run_as than kRunAsSelf
  std::vector<std::string> writable;   // directories that they can write to then
  std::string cgroup = "auto";         // where jobs' control groups are made (GroupParent::open()), or kNoCgroup
  std::uint32_t job_processes = 4096;  // of a job, threads included, besides those of its tasks; 0: as many as the system allows
  bool share = true;                   // map outputs, with workers of the same machine
  bool compress = true;                // map outputs for workers of other machines, where that saves enough
  /// Called with each heartbeat that is sent, on the worker's thread; must not block. May be empty.
  std::function<void(const protocol::Heartbeat&)> on_heartbeat{};
  /// Called when the worker has registered with a master, or lost it; on the same terms.
  std::function<void(bool registered)> on_registration{};
  rpc::Security security{};      // of its connections
  bool named = true;             // set by complete(): false where the name is the default
  bool private_cluster = false;  // ends with its master instead of waiting for it
  bool own_process = false;      // it is all that this process does: children that it has not started are what jobs left behind
};

/// The keys of the file given by `weft worker --config`.
void declare(Config& config, WorkerOptions& options);

/// Fills what was left to defaults and checks the rest.
Result<void> complete(WorkerOptions& options);

}  // namespace weft::runtime
