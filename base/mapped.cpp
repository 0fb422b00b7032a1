#include "base/mapped.hpp"

#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>

#include <signal.h>
#include <ucontext.h>

#include "base/crc32c.hpp"

namespace weft {
namespace {

/// What this thread is reading now, and where to go on when it cannot be had.
struct Guard {
  const std::byte* begin = nullptr;
  const std::byte* end = nullptr;
  sigjmp_buf escape;
};

// A signal handler can reach nothing but globals.
thread_local Guard guard;
struct sigaction former_bus_action;

/// Where the fault is nobody's here, the signal takes its former course: a fault happens again on return, a signal that was sent is
/// sent again.
void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto* const at = static_cast<const std::byte*>(info->si_addr);
  if (info->si_code > 0 && at >= guard.begin && at < guard.end) {
    // Not only the kernel blocks signals for a handler: the thread sanitizer blocks all of them.
    pthread_sigmask(SIG_SETMASK, &static_cast<const ucontext_t*>(context)->uc_sigmask, nullptr);
    siglongjmp(guard.escape, 1);
  }
  sigaction(signal, &former_bus_action, nullptr);
  if (info->si_code <= 0) raise(signal);
}

void install_bus_handler() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &former_bus_action);
}

/// A fault while its signal is blocked ends the process whatever the handler.
void unblock() {
  sigset_t bus;
  sigemptyset(&bus);
  sigaddset(&bus, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &bus, nullptr);
}

/// Once for all that reads: a second time the handler would be its own former one, and a fault of nobody here would never end.
void prepare() {
  [[maybe_unused]] static const bool installed = (install_bus_handler(), true);
  [[maybe_unused]] thread_local const bool unblocked = (unblock(), true);
}

/// Whether `read`, which reads these bytes and nothing else that may be missing, came to its end.
template <class Read>
bool reads(ByteView bytes, const Read& read) {
  prepare();
  guard.begin = bytes.data();
  guard.end = bytes.data() + bytes.size();
  const bool here = sigsetjmp(guard.escape, 0) == 0;
  if (here) read();
  guard.begin = guard.end = nullptr;
  return here;
}

}  // namespace

std::optional<std::uint32_t> crc32c_of_mapped(ByteView bytes) {
  std::uint32_t sum = 0;
  if (!reads(bytes, [&] { sum = crc32c(bytes); })) return std::nullopt;
  return sum;
}

bool copy_mapped(ByteView bytes, std::byte* into) {
  return reads(bytes, [&] {
    if (!bytes.empty()) std::memcpy(into, bytes.data(), bytes.size());
  });
}

}  // namespace weft
