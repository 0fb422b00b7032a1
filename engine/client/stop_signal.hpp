// SIGINT, SIGTERM and SIGHUP as a question that a driver or daemon asks: ends the current wait in good order instead of the process
// at once. A second signal ends the process.
#pragma once

#include "base/fd.hpp"

namespace weft::client {

/// Takes over the three signals while it lives. At most one at a time.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  bool requested() const;
  /// Blocks until a signal comes.
  void wait() const;
};

}  // namespace weft::client
