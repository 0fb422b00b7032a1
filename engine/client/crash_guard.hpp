// What happens when a user's function crashes a thread of the embedded engine. The thread is parked, and the crash becomes a
// report that the driver's thread picks up, so that it can clean up and end the process with one line. Crashes outside tasks keep
// their usual meaning.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "runtime/executor/task.hpp"

namespace weft::client {

/// Installs the process's signal handlers while it lives. At most one at a time: signal handlers belong to the process.
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

  /// Gives the calling thread a stack of its own for signal handlers, so that a stack overflow can be reported too. Keep it
  /// as long as the thread runs.
  class Stack {
   public:
    Stack();
    ~Stack();
    Stack(const Stack&) = delete;
    Stack& operator=(const Stack&) = delete;

   private:
    std::unique_ptr<std::byte[]> memory_;
  };
};

}  // namespace weft::client
