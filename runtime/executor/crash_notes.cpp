#include "runtime/executor/crash_notes.hpp"

#include <array>

#include "base/fatal_signal.hpp"

namespace weft::runtime {
namespace {

constexpr std::uint32_t kMaxSlots = 4096;

// A signal handler can reach nothing but globals; these belong to the one executor this process is.
protocol::PositionPage* page = nullptr;
std::array<std::atomic<const TaskContext*>, kMaxSlots> running{};
thread_local std::uint32_t own_slot = kMaxSlots;

/// Reads what the running threads are writing: a torn value would only spoil an error message.
__attribute__((no_sanitize("thread"))) void note_all(std::uint32_t culprit) noexcept {
  if (page == nullptr) return;
  for (std::uint32_t slot = 0; slot < page->slots() && slot < kMaxSlots; ++slot)
    if (const TaskContext* context = running[slot].load(std::memory_order_acquire); context != nullptr)
      page->note(slot, context->position_path, context->position_offset, slot == culprit);
}

void on_fatal(int) noexcept { note_all(own_slot); }

}  // namespace

void install_crash_notes(protocol::PositionPage& shared) {
  page = &shared;
  set_fatal_signal_hook(on_fatal);
}

CrashNote::CrashNote(std::uint32_t slot, const TaskContext& context) : slot_(slot) {
  thread_local SignalStack stack;
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
