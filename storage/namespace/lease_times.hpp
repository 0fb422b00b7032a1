// How long holders of leases are silent, restarts of the master included.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "storage/namespace/types.hpp"

namespace weft::storage {

/// Leases end when nobody renews them. The time that a holder was silent is recorded in steps, because a restarted master would
/// otherwise give all leases their full time again, and with masters that live shorter than a lease none would ever end. Time
/// without a master does not count, as nobody could renew then. A pure function of its calls; as thread-safe as a map.
class LeaseTimes {
 public:
  /// Which leases have a record: all, or those whose holder was silent for a step.
  enum class Recorded { silent, all };

  /// `length`: of a usual lease. Holders renew at a third of it, which is shorter than a step: those cause no records.
  explicit LeaseTimes(Time length, Recorded recorded = Recorded::silent)
      : step_(std::max(length * 2 / 5, Time(1))), recorded_(recorded) {}

  /// A new lease, or after a restart one of before, which goes on with the time that it had (restore()): a step at least, because
  /// its last renewal may not have been recorded.
  void begin(std::uint64_t lease, Time length, Time now);
  /// The lease has its full time again. Nothing happens when it is over.
  void renew(std::uint64_t lease, Time now);
  void end(std::uint64_t lease);
  bool contains(std::uint64_t lease) const { return leases_.contains(lease); }
  /// Those that nobody has renewed in time, in order; they are over.
  std::vector<std::uint64_t> take_expired(Time now);

  /// Restart: a record as take_changed() gave it, before the leases begin. False: it is damaged.
  bool restore(std::uint64_t lease, std::string_view record);
  /// Leases of before that have a record and have not begun begin now,
  void begin_others(Time length, Time now);
  /// or are over, and so are their records.
  void end_others();
  /// The records that are other ones than at the last call. nothing: none is needed.
  std::vector<std::pair<std::uint64_t, std::optional<std::string>>> take_changed();

 private:
  struct Lease {
    Time length{0}, ends{0};
    Time silent{0};  // as it is recorded
  };

  void set_silent(std::uint64_t id, Lease& lease, Time silent);
  bool is_recorded(const Lease& lease) const { return recorded_ == Recorded::all || lease.silent > Time(0); }

  Time step_;
  Recorded recorded_;
  std::map<std::uint64_t, Lease> leases_;
  std::map<std::uint64_t, Time> before_;  // restart: how long holders of leases that have not begun were silent
  std::set<std::uint64_t> dirty_;
};

}  // namespace weft::storage
