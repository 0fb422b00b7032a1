// The master server: the core behind a socket. Workers and clients connect to one port; one reactor thread feeds what they send to
// the core as events and carries its commands out. Used by `weft master` and, inside the driver, by a private cluster.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/core/core.hpp"
#include "engine/master/log/audit_log.hpp"
#include "engine/master/log/event_log.hpp"
#include "engine/master/profiles/profile_store.hpp"
#include "engine/master/replication/leadership.hpp"
#include "engine/master/storage/storage_service.hpp"
#include "schedulers/default_scheduler.hpp"

namespace weft::master {

struct ServerOptions {
  std::string listen = "127.0.0.1:7077";
  std::string scheduler = schedulers::kDefaultScheduler;
  std::vector<std::string> scheduler_plugins;            // shared objects that bring more schedulers
  Duration scheduler_timeout = std::chrono::seconds(5);  // of a call, when there are plugins; then the master gives up
  Speculation speculation{};                             // when slow tasks are given a speculative attempt
  std::string journal;  // file of jobs and of ids that were given, continued when it exists; empty: none is kept
  std::uint64_t journal_checkpoint_bytes = 16u << 20;  // a journal smaller than this is not rewritten
  std::string event_log;                               // file of JSON lines, continued when it exists; empty: none is written
  LogRotation log_rotation{};                          // of the event log
  std::string audit_log{};       // file of JSON lines of who asked for what, continued when it exists; empty: none is written
  LogRotation audit_rotation{};  // of it
  std::string directory;         // uploaded programs; empty: a temporary one
  std::string topology;          // file or program that tells hosts' racks; empty: workers say theirs
  Duration heartbeat = std::chrono::milliseconds(500);
  shuffle::Mode shuffle_mode = shuffle::Mode::memory;  // of jobs that do not say
  std::uint32_t shuffle_replicas = 1;                  // of jobs that do not say: replicas of map outputs, 1 or 2
  CoreOptions core{.preplace_at = 0.05};
  StorageFactory storage;                     // the cluster's files; empty: it has none
  ProfileStoreFactory profiles;               // what is learned of programs; empty: kept in memory
  Leadership* leadership = nullptr;           // of several masters; outlives the server; null: there is only this one
  std::string page{};                         // of several masters: URL of this one's page, for lists of them; empty: not known
  rpc::Security security{};                   // of its connections
  std::vector<std::string> administrators{};  // users who may do all; empty: the user who runs the process
  /// Called once, on the server's thread, when the master cannot go on (its journal failed, its scheduler does not return). Clients
  /// that wait were answered. Must not destroy the server.
  std::function<void(const Error&)> on_fatal;
};

class Server {
 public:
  /// Serves until destroyed. Errors: port in use or address not ours, unknown scheduler, journal damaged, of another version or in
  /// use by another master.
  static Result<std::unique_ptr<Server>> start(ServerOptions options);
  virtual ~Server() = default;
  /// "host:port" as bound.
  virtual const std::string& address() const = 0;
  /// Where its events begin in the event log; the default when it writes none. Any thread.
  virtual LogPlace log_began() const = 0;
  /// Reads the scheduler's files and the topology again, soon. What is wrong is logged, and what was in force stays. Any thread.
  virtual void reload() = 0;
  /// What the cluster did over a span of time (kReadPast), as the one who takes samples says it; called on the server's thread.
  using Past = std::function<Result<std::string>(const std::string& span)>;
  /// Any thread.
  virtual void set_past(Past past) = 0;
  /// Writes into the audit log, where there is one, what was refused on the way to this master: by its page. Never blocks. Any
  /// thread.
  virtual void note(AuditEntry entry) = 0;
};

}  // namespace weft::master
