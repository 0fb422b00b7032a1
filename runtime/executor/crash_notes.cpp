#include "runtime/executor/crash_notes.hpp"

#include <array>
#include <csignal>
#include <memory>

#include <signal.h>

namespace weft::runtime {
namespace {

constexpr std::uint32_t kMaxSlots = 4096;
constexpr std::array<int, 5> kFatal{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t kStackBytes = 64 * 1024;

// A signal handler can reach nothing but globals; these belong to the one executor this process is.
protocol::PositionPage* page = nullptr;
std::array<std::atomic<const TaskContext*>, kMaxSlots> running{};
std::array<struct sigaction, kFatal.size()> former{};
thread_local std::uint32_t own_slot = kMaxSlots;

/// Reads what the running threads are writing: a torn value would only spoil an error message.
__attribute__((no_sanitize("thread"))) void note_all(std::uint32_t culprit) noexcept {
  if (page == nullptr) return;
  for (std::uint32_t slot = 0; slot < page->slots() && slot < kMaxSlots; ++slot)
    if (const TaskContext* context = running[slot].load(std::memory_order_acquire); context != nullptr)
      page->note(slot, context->position_path, context->position_offset, slot == culprit);
}

/// Notes, then lets the signal take its former course: a fault happens again on return, a signal that was sent is sent again.
void on_fatal(int signal, siginfo_t* info, void*) {
  note_all(own_slot);
  for (std::size_t i = 0; i < kFatal.size(); ++i)
    if (kFatal[i] == signal) sigaction(signal, &former[i], nullptr);
  if (info->si_code <= 0) raise(signal);
}

/// A stack overflow leaves no stack to note it on; each task thread has a spare one. It also takes the fatal signals, which the
/// reactor's thread, from which it was started, keeps blocked.
struct SpareStack {
  SpareStack() : memory(new std::byte[kStackBytes]) {
    sigset_t fatal;
    sigemptyset(&fatal);
    for (int number : kFatal) sigaddset(&fatal, number);
    pthread_sigmask(SIG_UNBLOCK, &fatal, nullptr);
    stack_t stack{};
    stack.ss_sp = memory.get();
    stack.ss_size = kStackBytes;
    sigaltstack(&stack, nullptr);
  }
  ~SpareStack() {
    stack_t off{};
    off.ss_flags = SS_DISABLE;
    sigaltstack(&off, nullptr);
  }
  std::unique_ptr<std::byte[]> memory;
};

}  // namespace

void install_crash_notes(protocol::PositionPage& shared) {
  page = &shared;
  struct sigaction action {};
  action.sa_sigaction = on_fatal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kFatal.size(); ++i) sigaction(kFatal[i], &action, &former[i]);
}

CrashNote::CrashNote(std::uint32_t slot, const TaskContext& context) : slot_(slot) {
  thread_local SpareStack spare;
  own_slot = slot;
  if (page != nullptr) page->begin(slot, context.attempt);
  running[slot].store(&context, std::memory_order_release);
}

CrashNote::~CrashNote() {
  running[slot_].store(nullptr, std::memory_order_release);
  if (page != nullptr) page->end(slot_);
  own_slot = kMaxSlots;
}

void note_positions() noexcept { note_all(kMaxSlots); }

}  // namespace weft::runtime
