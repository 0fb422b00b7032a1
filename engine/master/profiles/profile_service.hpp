// The server's profiles: learned from finished tasks, given to the core with plans, kept in a store, shown and changed by clients.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/core/core.hpp"
#include "engine/master/profiles/observer.hpp"
#include "engine/master/profiles/profile_store.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/replication/changes.hpp"
#include "engine/master/replication/replication_log.hpp"

namespace weft::master {

/// Reactor thread only. It never fails a job.
class ProfileService {
 public:
  explicit ProfileService(rpc::Reactor& reactor) : reactor_(reactor) {}

  /// Without a factory, or if that returns no store, profiles last as long as the master.
  Result<void> open(const ProfileStoreFactory& factory);
  /// Followers get what is learned, as it is written.
  void replicate_to(ReplicationLog& log);
  /// For the driver of the core.
  profiles::Observer& observer() { return observer_; }
  /// After each event: what was learned is written soon, and at once when a job has ended.
  void save_after(const std::vector<Command>& commands);
  Result<rpc::Payload> answer(const rpc::Message& message);
  /// Writes what is not written yet, and ends the store.
  void close();

 private:
  Result<client::ProfileReply> reply_to(client::ProfileRequest request);
  Result<void> restore(ProfileRecords records);
  void save_soon(bool now);
  void save();
  Changes all() const;

  rpc::Reactor& reactor_;
  profiles::History history_;
  profiles::Observer observer_{history_};
  std::unique_ptr<ProfileStore> store_;
  ReplicationLog* followers_ = nullptr;  // null: nobody follows
  std::unique_ptr<rpc::Timer> timer_;    // until changes are written
  Log log_{"master"};
};

}  // namespace weft::master
