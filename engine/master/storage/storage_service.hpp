// The cluster's files behind the master's socket. An interface, so that masters inside of job programs link no database; that of
// `weft master --data-dir` is in file_service.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/log/audit_log.hpp"
#include "engine/master/replication/replication_log.hpp"
#include "engine/master/storage/caller.hpp"

namespace weft::master {

/// A worker as the server knows it.
struct WorkerSite {
  NodeId id;
  std::string name, host, rack;
};

/// Since 1970: what files and snapshots are dated with.
inline std::int64_t unix_milliseconds() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

inline constexpr rpc::MessageType kFirstStorageMessage = 500, kLastStorageMessage = 599;
inline constexpr rpc::MessageType kFirstWorkerStorageMessage = 510;

/// Messages 500 to 599, those of workers from 510 on. On the server's reactor thread, construction and destruction too.
class StorageService {
 public:
  virtual ~StorageService() = default;
  /// The first id that no worker has had.
  virtual NodeId first_node() const = 0;
  /// Id of the cluster whose files these are.
  virtual const std::string& cluster() const = 0;
  /// Whether note_journal() was called in the time of a master before.
  virtual bool has_journal() const = 0;
  /// The jobs of this cluster are kept in a journal, which is on the disk: from now on a master that finds none has lost it.
  /// Durably, soon.
  virtual void note_journal() = 0;
  /// `caller`: the user for whom it is. Where no user is known, what the message says of owners is believed.
  virtual void on_client_request(const Caller& caller, const rpc::Message& message, rpc::Responder responder) = 0;
  virtual void on_worker_request(const WorkerSite& worker, const rpc::Message& message, rpc::Responder responder) = 0;
  /// An error disconnects the worker.
  virtual Result<void> on_worker_notify(NodeId worker, const rpc::Message& message) = 0;
  /// A worker that keeps chunks is about to end. With `returns` it comes back with them and its tables, so that what other workers
  /// hold, too, need not be copied.
  /// It may not have reported yet what it keeps.
  virtual void worker_leaves(const WorkerSite& worker, bool returns) = 0;
  /// Chunks and partitions of tables for which a worker that leaves should stay a little longer; some, as long as it has not
  /// reported what it keeps.
  virtual std::uint64_t to_hand_over(const WorkerSite& worker) const = 0;
  virtual void worker_lost(NodeId worker) = 0;
  /// Of all that the service keeps, for a follower (SnapshotSource).
  virtual void snapshot(std::function<void(Result<std::unique_ptr<StoreSnapshot>>)> then) = 0;
};

/// What it needs of the server.
struct StorageShell {
  rpc::Reactor& reactor;
  std::function<void(NodeId, rpc::MessageType, rpc::Payload)> send;  // to a worker; dropped when that is gone
  std::function<void(const Error&)> give_up;                         // the master cannot go on
  ReplicationLog* log = nullptr;                                     // outlives the service; null: nobody follows
  std::function<void(AuditEntry)> audit{};                           // notes a request; may be empty
};
/// Called when what was to be made durable is so, or cannot be.
using Published = std::function<void(const Result<void>& written)>;
using StorageFactory = std::function<Result<std::unique_ptr<StorageService>>(StorageShell)>;

}  // namespace weft::master
