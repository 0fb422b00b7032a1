// What a process says when it dies of a fatal signal: one line, before it goes.
//
//   2026-01-31T12:00:00Z error worker w2 (process 4711): died of SIGBUS at address 0x7f12; backtrace: weft+0x1d2f30
//   libc.so.6+0x3c050
//
// `addr2line -Cfe PROGRAM OFFSET …` makes functions and lines of a backtrace.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string_view>

#include <signal.h>

namespace weft {

inline constexpr std::array<int, 5> kFatalSignals = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};

/// Every process to which this variable comes appends its line to the file that it names, too: what died where standard error is
/// lost (executors, private workers) can be found in one place.
inline constexpr const char* kCrashLogVariable = "WEFT_CRASH_LOG";

/// From now on the end of this process by one of the fatal signals is logged, under this name ("worker w2"). std::terminate is one
/// too, as SIGABRT with what the exception said. Afterwards the signal takes the course it had before the first call, so that the
/// process's wait status is the signal. To be called when the process knows what it is, before there are threads; again for another
/// name. Programs with a sanitizer say nothing here: the sanitizer says more.
void log_fatal_signals(std::string_view name);

/// Called first on the thread that the signal came to: it must be async-signal-safe, and need not return. At most one; null: none.
/// It is called in programs with a sanitizer as well. Installs what log_fatal_signals() installs, without a name.
using FatalSignalHook = void (*)(int signal) noexcept;
void set_fatal_signal_hook(FatalSignalHook hook);

/// For the calling thread, as long as this lives: a stack of its own for signal handlers, so that a stack that overflows can be
/// reported; and fatal signals are not blocked, because a fault whose signal is blocked ends the process without a word.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
  stack_t previous_{};
};

}  // namespace weft
