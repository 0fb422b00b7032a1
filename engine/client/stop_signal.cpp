#include "engine/client/stop_signal.hpp"

#include <atomic>

#include <signal.h>
#include <time.h>

namespace weft::client {

namespace {

// Reached from a signal handler, hence process-wide.
std::atomic<bool> stop_requested{false};
std::atomic<bool> reload_requested{false};
struct sigaction previous_interrupt {};
struct sigaction previous_terminate {};
struct sigaction previous_hangup {};
struct sigaction previous_file_size {};

extern "C" void on_stop(int number) {
  if (stop_requested.exchange(true)) {
    ::signal(number, SIG_DFL);
    ::raise(number);
  }
}

extern "C" void on_reload(int) { reload_requested = true; }

}  // namespace

StopSignal::StopSignal(Hangup hangup) {
  struct sigaction action {};
  action.sa_handler = on_stop;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, &previous_interrupt);
  ::sigaction(SIGTERM, &action, &previous_terminate);
  if (hangup == Hangup::reloads) action.sa_handler = on_reload;
  ::sigaction(SIGHUP, &action, &previous_hangup);
  action.sa_handler = SIG_IGN;  // a write past RLIMIT_FSIZE fails, as one to a full disk does
  ::sigaction(SIGXFSZ, &action, &previous_file_size);
}

StopSignal::~StopSignal() {
  ::sigaction(SIGINT, &previous_interrupt, nullptr);
  ::sigaction(SIGTERM, &previous_terminate, nullptr);
  ::sigaction(SIGHUP, &previous_hangup, nullptr);
  ::sigaction(SIGXFSZ, &previous_file_size, nullptr);
  stop_requested.store(false);
  reload_requested.store(false);
}

bool StopSignal::take_reload() const { return reload_requested.exchange(false); }

bool StopSignal::requested() const { return stop_requested.load(); }

void StopSignal::wait() const {
  const timespec tick{0, 50'000'000};
  while (!requested()) ::nanosleep(&tick, nullptr);
}

}  // namespace weft::client
