// The links between this worker and the others: how fast bytes may come over each, and how many came and went.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/clock.hpp"

namespace weft::shuffle {

/// Bytes of map outputs that came from somewhere and went there. What workers of the same host map is not counted.
struct LinkBytes {
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  bool operator==(const LinkBytes&) const = default;
};

/// What went over the links since the worker began. Plain values, so that a heartbeat can carry them.
struct LinkTraffic {
  std::map<std::string, LinkBytes> by_peer;  // by the address of the other worker's data port; "": peers beyond the number kept
  std::map<std::string, LinkBytes> by_rack;  // by the peer's rack; "": the rack is not known
  bool operator==(const LinkTraffic&) const = default;
};

/// Shared by everything in a worker that pulls from other workers or serves them. One thread.
class Links {
 public:
  /// `bytes_per_second`: what may come from each other worker, for all requests together, so that shuffles leave room on the links;
  /// 0: as fast as it comes.
  explicit Links(std::uint64_t bytes_per_second = 0) : bytes_per_second_(static_cast<double>(bytes_per_second)) {}

  /// The time from which on something may be requested there.
  TimePoint free_at(const std::string& address) const;
  /// `bytes` came for what was requested there at that time.
  void received(const std::string& address, TimePoint requested, std::uint64_t bytes);
  /// `bytes` were sent there.
  void sent(const std::string& address, std::uint64_t bytes) { bytes_of(address).sent += bytes; }
  /// Sets the rack of the worker at that address. Bytes counted before belong to that rack, too.
  void set_rack(const std::string& address, const std::string& rack);
  /// As set_rack() set it; empty: not known.
  const std::string& rack_of(const std::string& address) const;
  /// That worker is gone: another one at that address begins with an idle link. What was counted stays.
  void forget(const std::string& address) { free_at_.erase(address); }

  LinkTraffic traffic() const;

 private:
  LinkBytes& bytes_of(const std::string& address);

  const double bytes_per_second_;  // 0: no limit
  std::map<std::string, TimePoint> free_at_;
  std::map<std::string, LinkBytes> bytes_;
  std::map<std::string, std::string> racks_;
};

}  // namespace weft::shuffle
