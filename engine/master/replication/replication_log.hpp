// The log of a master that leads: what it makes durable, in order, for the masters that follow it. Nothing that was promised to
// anybody may be lost when one of those takes over. So a promise waits for all followers that are in sync, besides the leader's own
// disk; and a follower that is not in sync cannot take over.
//
// Which followers are in sync is known to all masters (Leadership::set_in_sync), and both changes of it are safe at every moment: a
// promise waits for a new follower before that is announced, and for one that is gone until it is announced that it is not in sync
// (InSyncMembers).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/rpc/late_posts.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/replication/follower.hpp"
#include "engine/master/replication/in_sync_members.hpp"
#include "engine/master/replication/leadership.hpp"
#include "engine/master/replication/snapshot.hpp"

namespace weft::master {

/// Reactor thread only, construction and destruction too.
class ReplicationLog {
 public:
  /// `deposed` is called once, when this master does not lead any more. Both references outlive the log.
  ReplicationLog(Leadership& leadership, rpc::Reactor& reactor, std::function<void(const Error&)> deposed);
  ~ReplicationLog();
  ReplicationLog(const ReplicationLog&) = delete;
  ReplicationLog& operator=(const ReplicationLog&) = delete;

  /// Before the first follower comes. Snapshots are taken in the order of the calls.
  void add(SnapshotSource source) { sources_.push_back(std::move(source)); }
  /// Whether anybody follows, or may still take over. If not, nothing need be appended.
  bool followed() const { return members_.any(); }
  /// To be sent to all followers. The caller makes it durable here, too.
  void append(LogEntry entry);
  /// Number of the last entry.
  std::uint64_t appended() const { return members_.appended(); }
  /// Calls `then` when the entries up to this number are kept by all followers in sync; at once when they are. With an error when
  /// the log is destroyed before.
  void when_kept(std::uint64_t number, std::function<void(const Result<void>&)> then);
  /// Why nothing that is appended now is kept soon: a follower in sync is gone, and the store does not take the record that says
  /// so. `unavailable`, with the store's error. Nothing: promises are released as soon as the followers in sync keep them.
  std::optional<Error> obstacle() const;
  struct FollowerStatus {
    std::string member, address;
    bool in_sync = false;
    std::uint64_t behind = 0;  // entries that it does not keep yet
    Duration heard{0};         // ago
    std::string page{};        // URL, when it leads; empty: not known
  };
  std::vector<FollowerStatus> followers() const;
  /// How many followers have begun: it grows when there is one that lacks what was appended before.
  std::uint64_t begun() const { return begun_; }

  void on_follow(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder);
  void on_pull(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder);
  /// What a follower shows besides its pulls: that it is alive, or that it also gets on with what it was sent.
  enum class Sign : std::uint8_t { of_life, of_progress };
  /// Does nothing when the connection is not a follower's.
  void heard_of(const rpc::ConnectionPtr& connection, Sign sign);
  /// False: no follower's.
  bool on_close(const rpc::ConnectionPtr& connection, const Error& why);

 private:
  struct Session {
    std::string member, address, page;
    bool keeps_mark = false;
    rpc::ConnectionPtr connection;
    std::unique_ptr<Follower> follower;       // null: it waits until it is announced that the member is not in sync
    std::optional<rpc::Responder> following;  // until it begins
    TimePoint heard{};
  };
  using Sessions = std::map<std::uint64_t, Session>;

  const Session* twin_of(const Follow& follow, const rpc::ConnectionPtr& connection) const;
  Session* session_on(const rpc::ConnectionPtr& connection, std::uint64_t id);
  void begin(std::uint64_t id, Session& session);
  void add_snapshot(std::uint64_t id, Result<std::unique_ptr<StoreSnapshot>> snapshot);
  void drop(Sessions::iterator session, const Error& why);
  void drop_soon(std::uint64_t id, const Error& why);
  void settle();
  void announce(const std::set<std::string>& members);
  void announced(const Result<void>& result);
  void release();
  void tick();

  Leadership& leadership_;
  rpc::Reactor& reactor_;
  std::function<void(const Error&)> deposed_;
  std::vector<SnapshotSource> sources_;
  Sessions followers_;
  std::uint64_t next_session_ = 1;
  InSyncMembers members_;
  std::multimap<std::uint64_t, std::function<void(const Result<void>&)>> waiting_;
  std::uint64_t begun_ = 0;
  std::unique_ptr<rpc::Reactor> disk_;  // reads snapshots
  std::unique_ptr<rpc::Timer> timer_;
  const rpc::LatePosts from_threads_;  // whose callbacks may come after the end of the log and of its reactor
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Log log_{"master"};
};

}  // namespace weft::master
