// Which followers of a leader are in sync, and up to where they keep its log: the decisions of ReplicationLog, without connections,
// disks or clocks. tests/engine/master/standby/group_simulation_test.cpp runs it through random faults.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weft::master {

/// A follower is a session, one of a member; the caller numbers sessions. A member is *required* while promises wait for it: when
/// it is announced as in sync, or that is being announced, or it has nearly everything and is to be announced soon.
class InSyncMembers {
 public:
  using Session = std::uint64_t;

  /// The number of a new entry of the log.
  std::uint64_t append() { return ++appended_; }
  std::uint64_t appended() const { return appended_; }
  /// Up to where all required members keep the log.
  std::uint64_t kept() const;
  /// Whether anybody follows or is required.
  bool any() const { return !sessions_.empty() || !kept_.empty(); }
  bool announced(const std::string& member) const { return announced_.contains(member); }
  /// Whether a required member keeps the log no more, because its session is over: promises wait until it is announced that it is
  /// not in sync.
  bool waits_for_lost() const;

  /// A follower that has to wait for next(), because its copy is about to be replaced by one that is not whole at first. The member
  /// has no other session.
  void add(Session session, std::string member);
  void remove(Session session);
  /// It keeps the log up to this number, of which its snapshots count as the beginning.
  void keeps(Session session, std::uint64_t number);
  /// It has nearly everything, so promises wait for it from now on. It is in sync when it also keeps the entries up to here, whose
  /// promises did not wait for it.
  void require(Session session);

  struct Next {
    std::optional<std::set<std::string>> announce;  // these, and only these, may lead after this leader; then call announced()
    std::vector<Session> begin;                     // they get their copy from here on, which has all entries up to appended()
  };
  /// What is to be done after any of the above, once.
  Next next();

  struct Change {
    std::vector<std::string> added, removed;
  };
  /// What next() wanted is known to all who may lead. Then it is time for next() again.
  Change announced();

 private:
  struct Follower {
    std::string member;
    std::optional<std::uint64_t> kept;           // nothing: it waits to begin
    std::optional<std::uint64_t> required_from;  // promises wait for it; it is in sync once it keeps the log up to here
  };
  bool may_lead(const std::string& member) const;
  void stop_waiting();

  std::map<Session, Follower> sessions_;
  std::uint64_t appended_ = 0;
  std::set<std::string> announced_;
  std::optional<std::set<std::string>> announcing_;
  std::map<std::string, std::uint64_t> kept_;  // of the required members: up to which entry
};

}  // namespace weft::master
