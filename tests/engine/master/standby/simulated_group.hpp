// Several masters of one cluster in virtual time. Which followers are in sync, what promises wait for, and who may lead are decided
// by the real code (InSyncMembers, may_lead, next_record); disks, connections, the store and the faults are made here, in the
// manner of ReplicationLog, LeaseKeeper and GroupMember. Clocks are not trusted: a leader acknowledges whatever its lease says.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/master/replication/in_sync_members.hpp"
#include "engine/master/replication/leadership.hpp"
#include "engine/master/standby/membership.hpp"
#include "tests/engine/master/standby/simulated_store.hpp"
#include "tests/engine/master/standby/simulated_world.hpp"

namespace weft::master::test {

class SimulatedGroup {
 public:
  explicit SimulatedGroup(std::uint64_t seed);
  SimulatedGroup(const SimulatedGroup&) = delete;
  SimulatedGroup& operator=(const SimulatedGroup&) = delete;

  /// With faults of all kinds.
  void run(Duration length);
  /// All faults end. Whether, within that time, one leads, all others are in sync, and an entry is acknowledged.
  bool recovers(Duration limit);

  /// Broken promises, in words.
  const std::vector<std::string>& violations() const { return violations_; }
  std::uint64_t acknowledged() const { return acknowledged_.size(); }
  std::uint64_t leaderships() const { return leaderships_; }
  std::uint64_t times_in_sync() const { return times_in_sync_; }
  /// How often a member began with an older copy of its directory.
  std::uint64_t times_restored() const { return times_restored_; }

 private:
  using Process = SimulatedWorld::Process;
  using Entry = std::uint64_t;  // each is another

  /// One of two ends hears of a broken connection later than the other, or never.
  struct Connection {
    Process follower = 0, leader = 0;
    bool broken = false;
    Duration to_leader{0}, to_follower{0};  // when the last message arrives: they arrive in order
  };
  /// Of a leader.
  struct Session {
    std::string member;
    std::uint64_t connection = 0;
    bool begun = false, copied = false;                   // its copy has been taken
    std::deque<std::pair<std::uint64_t, Entry>> to_send;  // 0: of the copy
    std::deque<std::uint64_t> sent;                       // and not kept yet
    std::uint64_t kept = 0;                               // number in the log
    bool pulls = false;
    Duration heard{0};
  };
  struct Leader {
    LeaderRecord record;  // when it was taken
    InSyncMembers members;
    std::map<InSyncMembers::Session, Session> sessions;
    InSyncMembers::Session next_session = 1;
    std::size_t before = 0;  // length of the log when it was taken
    std::vector<std::pair<std::uint64_t, Entry>> promises;
    std::deque<Leadership::MarkedMembers> announcements;
    Duration renewed{0};
  };
  /// What a follower knows of its session.
  struct Link {
    std::uint64_t connection = 0, session = 0;
    std::uint64_t epoch = 0;
    std::uint64_t answered = 0;  // grows with each answer: a pull without one is given up
  };
  struct Member {
    // On its disk:
    Membership membership;
    std::vector<Entry> log;
    std::size_t synced = 0;  // entries that outlive the machine
    /// A copy of these, made while the member did not run.
    struct Backup {
      Membership membership;
      std::vector<Entry> log;
    };
    std::optional<Backup> backup;
    // Of its process:
    std::unique_ptr<Leader> leader;
    std::optional<Link> link;
    std::unique_ptr<SimulatedElection> election;
  };

  bool leads(Process process, std::uint64_t epoch) const {
    return members_[process].leader && members_[process].leader->record.epoch == epoch;
  }
  std::string name(Process process) const { return std::string(1, static_cast<char>('a' + process)); }
  void check(bool good, const std::string& what);
  void check_those_that_may_lead(const std::string& when);
  bool has_all(const Member& member) const;
  bool outdated(Process process) const;
  bool is_spared(Process process) const;
  void restore_sometimes(Process process);

  // GroupMember
  void start(Process process);
  void look(Process process);
  void look_again(Process process);
  void take(Process process, const Election::Seen& seen);
  void lead(Process process, const LeaderRecord& record);
  void follow(Process process, const LeaderRecord& record);
  void begin_copy(Process process, std::uint64_t epoch, const Link& found);
  void pull(Process process, std::size_t entries);
  void on_pulled(Process process, const std::vector<Entry>& entries);

  // LeaseKeeper
  void keep_lease(Process process);
  void step_down(Process process);

  // ReplicationLog
  void on_follow(Process process, const std::string& member, std::uint64_t connection);
  void begin(Process process, InSyncMembers::Session id);
  void take_copy(Process process, InSyncMembers::Session id);
  void on_pull(Process process, InSyncMembers::Session id, std::uint64_t connection, std::size_t entries);
  void answer(Session& session);
  void drop(Process process, InSyncMembers::Session id);
  void settle(Process process);
  void release(Process process);
  void append(Process process);
  void sync(Process process);
  void tick(Process process);

  void send(std::uint64_t connection, bool to_leader, SimulatedWorld::Action action);
  void break_connection(std::uint64_t connection);
  void fault();

  SimulatedWorld world_;
  SimulatedStore store_;
  std::vector<Member> members_;
  std::map<std::uint64_t, Connection> connections_;
  std::uint64_t next_connection_ = 1;
  Entry next_entry_ = 1;
  std::set<Entry> acknowledged_;
  std::optional<LeaderRecord> record_;
  std::uint64_t leaderships_ = 0, times_in_sync_ = 0, times_restored_ = 0, highest_epoch_ = 0;
  bool calm_ = false;
  std::vector<std::string> violations_;
};

}  // namespace weft::master::test
