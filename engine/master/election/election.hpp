// Which of several masters leads, decided by a store that is not ours: etcd, or the API server of Kubernetes.
//
// The store has one record, which every leader replaces, and a lease, which the leader prolongs. The record is only ever replaced
// by compare-and-swap, so what is safe does not depend on clocks; the lease decides only how soon another may try to lead.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace weft::master {

/// What everybody may know of a group of masters.
struct LeaderRecord {
  std::string cluster;               // id, made by the first leader
  std::uint64_t epoch = 0;           // one higher with every leader
  std::string leader;                // member id of the one that leads, or led last
  std::string address;               // HOST:PORT where it listens
  std::vector<std::string> in_sync;  // member ids that have everything that the leader acknowledged, itself among them
  /// Of members in sync, by id: with which copy a member came into sync, so that an older copy of its data directory is recognised.
  /// None of a member of a release before there were marks.
  std::map<std::string, std::string> marks{};
  friend bool operator==(const LeaderRecord&, const LeaderRecord&) = default;
};

/// The shortest lease that may be asked for: etcd gives none that is shorter. Leases are whole seconds; fractions are rounded up.
constexpr Duration kShortestLease = std::chrono::seconds(2);
constexpr Duration kLongestLease = std::chrono::hours(1);

/// One member's part in the election. One thread. Calls block, each at most for the `patience` of the options.
///
/// Errors: unavailable when the store cannot be reached in time or answers what makes no sense, invalid_argument when it refuses
/// the login, the rights or what the options say, or when its certificate is not trusted; corrupt when the record there is not one
/// of ours. After an error it is not known whether the store did what was wanted, and it may still do it a moment later; the next
/// calls tell. Repeating the call is always right.
class Election {
 public:
  struct Seen {
    std::optional<LeaderRecord> record;  // none: no master has led yet
    bool led = false;                    // a lease is held, by another or by this member: nobody else may lead
    std::string version;                 // of the record, for take(); empty: there is none
  };
  virtual ~Election() = default;

  virtual Result<Seen> look() = 0;
  /// This member leads from now on, with this record, if nobody leads and the record is as it was seen. False: another was quicker.
  /// True also when an earlier call with this record had been carried out, and its answer was lost.
  virtual Result<bool> take(const Seen& seen, const LeaderRecord& record) = 0;

  // The leader's. They are false for an object that has not led since it was made or since resign().

  /// Prolongs the lease by its full length. False: it ended, and this member does not lead any more.
  virtual Result<bool> renew() = 0;
  /// Replaces the record while this member leads, atomically with respect to take() of others. False: it does not lead any more,
  /// and the record is not replaced.
  virtual Result<bool> replace(const LeaderRecord& record) = 0;
  /// Ends the lease at once, so that another can lead. Errors are passed over: the lease ends by itself then.
  virtual void resign() = 0;
};

}  // namespace weft::master
