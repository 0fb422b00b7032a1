#include "storage/namespace/repair_queue.hpp"

#include <algorithm>

namespace weft::storage {
namespace {

constexpr std::uint8_t kMostRank = kOneRack - 1;
constexpr Time kBlockedPause =
    std::chrono::seconds(2);  // between looks at what found no room: copies and writers that end leave some

}  // namespace

void RepairQueue::remove(Chunk& chunk) {
  const ChunkId id = chunk.info.id;
  if (chunk.rank != kNotQueued) lacking_.erase({chunk.rank, id});
  chunk.rank = kNotQueued;
  if (std::exchange(chunk.blocked, false)) blocked_.erase(id);
  surplus_.erase(id);
  missing_.erase(id);
}

void RepairQueue::lacks(Chunk& chunk, std::size_t replicas) {
  chunk.rank = static_cast<std::uint8_t>(std::min<std::size_t>(replicas, kMostRank));
  lacking_.emplace(chunk.rank, chunk.info.id);
}

void RepairQueue::only_one_rack(Chunk& chunk) {
  chunk.rank = kOneRack;
  lacking_.emplace(chunk.rank, chunk.info.id);
}

void RepairQueue::block(Chunk& chunk) {
  remove(chunk);
  chunk.blocked = true;
  blocked_.insert(chunk.info.id);
}

std::vector<ChunkId> RepairQueue::blocked_in_turn(std::size_t most, Time now) {
  std::vector<ChunkId> some;
  if (blocked_.empty() || now < blocked_due_) return some;
  blocked_due_ = now + kBlockedPause;
  auto at = blocked_.upper_bound(last_retried_);
  if (at == blocked_.end()) at = blocked_.begin();
  for (; at != blocked_.end() && some.size() < most; ++at) some.push_back(*at);
  last_retried_ = some.back();
  return some;
}

}  // namespace weft::storage
