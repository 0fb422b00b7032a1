// What the page has refused, for the master's audit log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "base/clock.hpp"
#include "base/http/server.hpp"
#include "engine/master/log/audit_log.hpp"

namespace weft::web {

/// A request that the HTTP server has refused, as the audit log has it.
master::AuditEntry entry_of(const http::RefusedRequest& refused);

/// Bounds what refusals write, so that whoever repeats them does not fill the disk. The first refusal of a peer and action is
/// written at once; of those after it a line each second, which is the last of them and says how many they were. Of peers of whom
/// nothing is known, kMostStrangers at a time have lines of their own; all others share one. Any thread.
class Refusals {
 public:
  static constexpr Duration kInterval = std::chrono::seconds(1);
  static constexpr std::size_t kMostStrangers = 16;

  /// `note` writes a line; any thread, never blocks. It outlives this.
  explicit Refusals(std::function<void(master::AuditEntry)> note) : note_(std::move(note)) {}
  /// Writes what waits.
  ~Refusals();

  void add(master::AuditEntry entry, TimePoint now);
  /// Writes the lines whose second is over. To be called about once a second.
  void write_due(TimePoint now);

 private:
  /// User, host and action; empty for all strangers that have no line of their own.
  using Key = std::tuple<std::string, std::string, std::string_view>;
  struct Repeated {
    TimePoint since{};        // when the last line was written
    std::uint64_t times = 0;  // refusals since then
    master::AuditEntry last{};
  };

  void write_those_before(TimePoint moment, TimePoint now);
  Key key_of(const master::AuditEntry& entry) const;
  void write(const Key& key, Repeated& repeated);

  const std::function<void(master::AuditEntry)> note_;
  std::mutex mutex_;  // of what follows
  std::map<Key, Repeated> repeated_;
};

}  // namespace weft::web
