#include <algorithm>

#include "storage/chunks/audit.hpp"
#include "storage/chunks/store_impl.hpp"

namespace weft::storage {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::nanoseconds kShortestRest = std::chrono::milliseconds(10);

}  // namespace

void ChunkStore::Impl::start_scrubbing() {
  if (options_.scrub_rate != 0) scrubber_ = std::thread([this] { scrub(); });
}

void ChunkStore::Impl::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (scrubber_.joinable()) scrubber_.join();
}

/// One chunk after the other, the directories taking turns, so that each disk is read at the same pace.
void ChunkStore::Impl::scrub() {
  scrub_due_ = SteadyClock::now();
  while (true) {
    std::optional<Found> next;
    {
      std::unique_lock lock(mutex_);
      if (stopping_) return;
      auto wake = SteadyClock::now() + std::max(options_.scrub_interval, kShortestRest);
      next = next_to_scrub(wake);
      if (!next) {
        wake_.wait_until(lock, wake, [this] { return stopping_; });
        continue;
      }
    }
    Directory& where = directory(next->slot);
    const auto checked = audit_chunk_file(where.chunk_path(next->info.id), next->info, where.cluster(),
                                          [this](std::uint64_t bytes) { return pace(bytes); });
    judge(next->info.id, checked);
    where.set_scrubbed(next->info.id);
  }
}

/// The next chunk of a directory whose pass is not over; otherwise `wake` is when the next pass begins.
std::optional<ChunkStore::Impl::Found> ChunkStore::Impl::next_to_scrub(SteadyClock::time_point& wake) {
  const auto now = SteadyClock::now();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    scrub_turn_ = (scrub_turn_ + 1) % static_cast<std::uint32_t>(slots_.size());
    Slot& slot = slots_[scrub_turn_];
    if (slot.chunks.empty()) continue;
    if (slot.next_pass > now) {
      wake = std::min(wake, slot.next_pass);
      continue;
    }
    auto next = slot.chunks.upper_bound(slot.scrubbed);
    if (next == slot.chunks.begin()) slot.pass_began = now;
    if (next != slot.chunks.end()) {
      slot.scrubbed = next->first;
      return Found{scrub_turn_, next->second};
    }
    slot.scrubbed = ChunkId{};
    slot.next_pass = std::max(slot.pass_began + options_.scrub_interval, now + kShortestRest);
    wake = std::min(wake, slot.next_pass);
  }
  return std::nullopt;
}

/// Waits until that many bytes may be read. False when the store closes.
bool ChunkStore::Impl::pace(std::uint64_t bytes) {
  std::unique_lock lock(mutex_);
  if (wake_.wait_until(lock, scrub_due_, [this] { return stopping_; })) return false;
  const std::chrono::duration<double> cost(static_cast<double>(bytes) / static_cast<double>(options_.scrub_rate));
  scrub_due_ = std::max(scrub_due_, SteadyClock::now()) + std::chrono::duration_cast<SteadyClock::duration>(cost);
  return true;
}

}  // namespace weft::storage
