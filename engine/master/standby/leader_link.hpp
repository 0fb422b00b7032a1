// A follower's connection to the master that leads.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/rpc/rpc.hpp"
#include "engine/master/replication/protocol.hpp"
#include "engine/master/server/binary_store.hpp"

namespace weft::master {

/// One thread. Calls block for a few seconds at most, and for longer only while their answer comes. An error says that the leader
/// is gone, or that it refuses: then the link is of no more use.
class LeaderLink {
 public:
  /// Connects, and begins to follow. From then on the leader does not count on this member, so that its old copy may go.
  static Result<std::unique_ptr<LeaderLink>> open(const std::string& address, const Follow& follow, const rpc::Security& security);
  ~LeaderLink();
  LeaderLink(const LeaderLink&) = delete;
  LeaderLink& operator=(const LeaderLink&) = delete;

  const Following& leader() const { return following_; }
  /// The next entries, or none after a while. What the pulls before gave is on this member's disk.
  Result<Pulled> pull();
  /// A piece of a program that the leader has.
  Result<BinaryStore::Piece> fetch(const ProgramId& program, std::uint64_t offset);

 private:
  explicit LeaderLink(const rpc::Security& security) : reactor_(rpc::Reactor::start("weft-follower", security)) {}
  void say_alive();
  /// Fails when nothing comes of the answer for two seconds; its header is no part of it.
  Result<rpc::Message> ask(rpc::MessageType type, rpc::Payload payload);

  std::unique_ptr<rpc::Reactor> reactor_;
  rpc::ConnectionPtr connection_;
  std::unique_ptr<rpc::Timer> alive_;
  Following following_;
  std::uint64_t pulled_ = 0;  // entries
};

}  // namespace weft::master
