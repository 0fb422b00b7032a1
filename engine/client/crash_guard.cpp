#include "engine/client/crash_guard.hpp"

#include <signal.h>
#include <unistd.h>

#include "base/fatal_signal.hpp"

namespace weft::client {

namespace {

constexpr unsigned kSecondsToCleanUp = 5;

// What a signal handler needs; it can be reached in no other way.
std::atomic<int> announce_to{-1};
std::atomic<int> first_signal{0};
std::atomic<const runtime::TaskContext*> first_task{nullptr};

void on_crash(int number) noexcept {
  const runtime::TaskContext* task = runtime::current_task();
  if (task == nullptr) return;  // not ours
  int none = 0;
  if (first_signal.compare_exchange_strong(none, number)) {
    first_task.store(task);
    ::alarm(kSecondsToCleanUp);  // the crash may hold a lock the driver needs
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto ignored = ::write(announce_to.load(), &one, sizeof one);
  }
  while (true) ::pause();
}

}  // namespace

CrashGuard::CrashGuard(int event_fd) {
  announce_to.store(event_fd);
  set_fatal_signal_hook(on_crash);
}

CrashGuard::~CrashGuard() {
  announce_to.store(-1);
  // After a crash the process is about to end with an error: a further task that crashes meanwhile waits for that, too.
  if (first_signal.load() == 0) set_fatal_signal_hook(nullptr);
}

CrashGuard::Crash CrashGuard::crash() {
  Crash crash;
  crash.task = first_task.load();
  if (crash.task != nullptr) crash.signal = first_signal.load();
  return crash;
}

}  // namespace weft::client
