// A process that dies of a fatal signal first writes one line to its log:
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

/// A process with this variable in its environment also appends its line to the file that the variable names, so that deaths of
/// processes whose standard error is lost (executors, private workers) can be found in one place.
inline constexpr const char* kCrashLogVariable = "WEFT_CRASH_LOG";

/// Logs the end of this process by a fatal signal from now on, under `name` ("worker w2"). std::terminate counts as SIGABRT, with
/// the message of the exception. After the line, the signal has the effect that it had before the first call, so the process's
/// wait status is the signal. Call it before there are threads; call it again to change the name. Programs with a sanitizer log
/// nothing here, because the sanitizer reports more.
void log_fatal_signals(std::string_view name);

/// Sets the one function that is called first, on the thread that got the signal; null removes it. It must be async-signal-safe
/// and need not return. It is called in programs with a sanitizer as well. Installs the handlers of log_fatal_signals(), without
/// a name.
using FatalSignalHook = void (*)(int signal) noexcept;
void set_fatal_signal_hook(FatalSignalHook hook);

/// While it lives, the thread that made it has a separate stack for signal handlers, so that a stack overflow can be reported,
/// and does not block fatal signals, because a fault whose signal is blocked ends the process without a line. Destroy it on the
/// same thread.
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
