// What happens when a user's function crashes a thread of the embedded engine. The thread is parked, and the crash becomes a
// report that the driver's thread picks up, so that it can clean up and end the process with one line. Crashes outside tasks keep
// their usual meaning.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/executor/task.hpp"

namespace weft::client {

/// Takes the process's fatal signals (base/fatal_signal.hpp) while it lives. At most one at a time: they belong to the process.
class CrashGuard {
 public:
  /// Crashes are announced by a write to `event_fd` (an eventfd that outlives this).
  explicit CrashGuard(int event_fd);
  ~CrashGuard();
  CrashGuard(const CrashGuard&) = delete;
  CrashGuard& operator=(const CrashGuard&) = delete;

  struct Crash {
    int signal = 0;
    const runtime::TaskContext* task = nullptr;  // of the parked thread; stays valid
  };
  /// The first crash, if there was one.
  static Crash crash();
};

}  // namespace weft::client
