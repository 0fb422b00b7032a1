// SIGINT, SIGTERM and SIGHUP as a question that a driver or daemon asks: ends the current wait in good order instead of the process
// at once. A second signal ends the process. To a daemon that can, SIGHUP says to read its files again instead.
#pragma once

#include <cstdint>

#include "base/fd.hpp"

namespace weft::client {

/// Takes over the three signals while it lives. At most one at a time.
class StopSignal {
 public:
  enum class Hangup : std::uint8_t { stops, reloads };
  explicit StopSignal(Hangup hangup = Hangup::stops);
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const;
  /// True once for each SIGHUP (or several in a row) with Hangup::reloads.
  bool take_reload() const;
  /// Blocks until a signal comes.
  void wait() const;
};

}  // namespace weft::client
