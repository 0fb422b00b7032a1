// One of several masters. At each moment one leads, decided by a lease in a store that is not ours (Election); the others follow it
// and keep copies of what it keeps. A member that has everything that was acknowledged (LeaderRecord::in_sync) leads when the one
// before is gone.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/election/election.hpp"
#include "engine/master/replication/leadership.hpp"
#include "engine/master/standby/membership.hpp"
#include "engine/master/standby/replica.hpp"

namespace weft::master {

struct GroupOptions {
  std::string data_directory;
  StorePaths paths;
  std::string address;   // where others find this master when it leads
  std::string page{};    // URL of its page then, for those who look at another's; empty: not known
  bool standby = false;  // it does not begin a cluster: where none has led, it waits for another to lead
  Duration lease = std::chrono::seconds(3);
  rpc::Security security{};  // of its connection to the one that leads
  /// Whether this master could serve now: asked before it takes the lead, which it leaves to others while it could not. Null: it
  /// can.
  std::function<Result<void>()> can_serve{};
};

/// One thread.
class GroupMember {
 public:
  using MakeElection = std::function<Result<std::unique_ptr<Election>>(const std::string& member)>;
  /// Makes the directory a member's when it is not. unavailable: another master has it.
  static Result<std::unique_ptr<GroupMember>> open(GroupOptions options, const MakeElection& make);

  /// Follows the master that leads, and returns when this one leads, on the stores of its directory; a leadership that was lost is
  /// destroyed before the next call. Null when `stop` says so, which is asked every second at least. What may pass is waited for
  /// and logged; errors are those that an operator has to mend: the directory is of another cluster, or has not all that its
  /// cluster keeps, the store refuses the login.
  Result<std::unique_ptr<Leadership>> lead(const std::function<bool()>& stop);
  /// The server of a member that leads has made its journal and its namespace: from now on it does not lead without them.
  void stores_are_made();

 private:
  GroupMember(GroupOptions options, Membership membership, Fd claim, std::unique_ptr<Election> election)
      : options_(std::move(options)),
        membership_(std::move(membership)),
        claim_(std::move(claim)),
        election_(std::move(election)) {}
  Result<void> check(const Election::Seen& seen) const;
  bool has_stores() const;
  bool has_all_stores() const;
  Result<std::string> check_stores(const Election::Seen& seen) const;
  Result<std::unique_ptr<Leadership>> take(const Election::Seen& seen);
  Error incomplete(const std::string& what) const;
  Result<void> save(Membership membership);
  void follow(const LeaderRecord& leader, const std::function<bool()>& stop);
  Error follow_until_gone(const LeaderRecord& leader, const std::function<bool()>& stop);
  void say(const std::string& what);
  void say_what_is_awaited(const Election::Seen& seen);

  const GroupOptions options_;
  Membership membership_;
  Fd claim_;
  std::unique_ptr<Election> election_;
  TimePoint follow_at_{};  // not before: this member could not keep what it was sent, or was refused
  bool twin_ = false;      // another process with its member id followed when it wanted to: it must not lead with its copy
  std::string said_;       // last
  TimePoint said_at_{};
  Log log_{"master"};
};

}  // namespace weft::master
