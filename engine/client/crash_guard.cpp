#include "engine/client/crash_guard.hpp"

#include <array>

#include <signal.h>
#include <unistd.h>

namespace weft::client {

namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t kStackBytes = 64 << 10;
constexpr unsigned kSecondsToCleanUp = 5;

// The only process-wide state of the engine: a signal handler can be reached in no other way.
std::atomic<int> announce_to{-1};
std::atomic<int> first_signal{0};
std::atomic<const runtime::TaskContext*> first_task{nullptr};
std::array<struct sigaction, kSignals.size()> previous{};

extern "C" void on_crash(int number) {
  const runtime::TaskContext* task = runtime::current_task();
  if (task == nullptr) {  // not ours: die as if we were not here
    ::signal(number, SIG_DFL);
    ::raise(number);
    return;
  }
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
  struct sigaction action {};
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  ::sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &previous[i]);
}

CrashGuard::~CrashGuard() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &previous[i], nullptr);
  announce_to.store(-1);
}

CrashGuard::Crash CrashGuard::crash() {
  Crash crash;
  crash.task = first_task.load();
  if (crash.task != nullptr) crash.signal = first_signal.load();
  return crash;
}

CrashGuard::Stack::Stack() : memory_(new std::byte[kStackBytes]) {
  stack_t stack{};
  stack.ss_sp = memory_.get();
  stack.ss_size = kStackBytes;
  ::sigaltstack(&stack, nullptr);
}

CrashGuard::Stack::~Stack() {
  stack_t stack{};
  stack.ss_flags = SS_DISABLE;
  ::sigaltstack(&stack, nullptr);
}

}  // namespace weft::client
