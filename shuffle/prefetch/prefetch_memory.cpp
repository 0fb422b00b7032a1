#include "shuffle/prefetch/prefetch_memory.hpp"

#include <algorithm>
#include <utility>

namespace weft::shuffle {
namespace {

std::uint64_t bytes_of(const std::vector<HeldPtr>& blocks) {
  std::uint64_t sum = 0;
  for (const HeldPtr& held : blocks) sum += held->blocks.size;
  return sum;
}

}  // namespace

bool PrefetchMemory::make_room(const Turn* next, std::uint64_t bytes) {
  while (stats_.held_bytes + returning_bytes_ + bytes > options_.memory_bytes || stats_.held_segments >= options_.segments) {
    const std::optional<Turn> last = expected_.last_in_memory();
    if (!last || (next != nullptr && last->round <= next->round)) return false;
    evict(last->key(), last->partition);
  }
  return true;
}

void PrefetchMemory::keep(const Turn& what, ExpectedPartition& partition, std::vector<MapAttempt> maps, SealedSegment blocks) {
  accounts_.count(what.job, &PrefetchStats::prefetched_bytes, blocks.size);
  auto room = std::make_shared<const SegmentRoom>(rooms_.reserve_exactly(what.job, blocks.size));
  starved_ = room->bytes() == 0;
  if (starved_ || !make_room(&what, blocks.size)) return accounts_.count(what.job, &PrefetchStats::wasted_bytes, blocks.size);
  partition.unread += blocks.size;
  stats_.held_bytes += blocks.size;
  ++stats_.held_segments;
  partition.cache.add(std::make_shared<const HeldBlocks>(HeldBlocks{std::move(blocks), std::move(maps), std::move(room)}));
}

void PrefetchMemory::evict(const Key& key, std::uint32_t number) {
  expected_.unlist(key, number);
  BlockCache& cache = expected_.shuffles().at(key).partitions.at(number).cache;
  const std::uint64_t bytes = bytes_of(cache.in_memory());
  stats_.held_bytes -= bytes;
  stats_.held_segments -= cache.in_memory().size();
  const std::uint64_t move = ++moves_;
  ++leaving_;
  mover_.write(cache.leave(move), [this, key, number, move, bytes](Result<BlockMover::FilePtr> file) {
    --leaving_;
    starved_ = false;
    if (ExpectedPartition* partition = expected_.find(key, number); partition != nullptr && partition->cache.moving(move))
      left(key, number, *partition, bytes, std::move(file));
    for (auto& [of, shuffle] : expected_.shuffles())
      for (auto& [expected, partition] : shuffle.partitions)
        if (partition.taken) bring_back_taken(of, expected, partition);
    moved_();
  });
}

void PrefetchMemory::left(const Key& key, std::uint32_t number, ExpectedPartition& partition, std::uint64_t bytes,
                          Result<BlockMover::FilePtr> file) {
  if (file) {
    ++stats_.evictions;
    accounts_.count(key.first, &PrefetchStats::evicted_bytes, bytes);
    accounts_.count(key.first, &PrefetchStats::evicted_file_bytes, (*file)->file_bytes());
    partition.cache.left(*std::move(file));
    warned_ = false;
  } else {
    if (!options_.quiet && !std::exchange(warned_, true))
      log_.warn("prefetched blocks are given up, to be fetched again: {}", file.error().to_string());
    lose(key.first, partition, bytes);
  }
  expected_.list(key, number);
  settle(key, number);
}

void PrefetchMemory::stay(ExpectedPartition& partition) {
  if (!partition.cache.leaving()) return;
  const std::uint64_t before = bytes_of(partition.cache.in_memory());
  const std::size_t segments = partition.cache.in_memory().size();
  partition.cache.stay();
  stats_.held_bytes += bytes_of(partition.cache.in_memory()) - before;
  stats_.held_segments += partition.cache.in_memory().size() - segments;
}

void PrefetchMemory::settle(const Key& key, std::uint32_t number) {
  const ExpectedShuffle& shuffle = expected_.shuffles().at(key);
  const ExpectedPartition& partition = shuffle.partitions.at(number);
  const BlockCache& cache = partition.cache;
  if (!shuffle.deferred.contains(number) || partition.taken || partition.flights > 0 || cache.in_memory().empty()) return;
  if (!cache.leaving() && !cache.returning()) evict(key, number);
}

bool PrefetchMemory::bring_back(const Turn& what) {
  BlockCache& cache = expected_.partition_of(what).cache;
  const std::uint64_t bytes = cache.next_file_bytes();
  auto room = std::make_shared<const SegmentRoom>(rooms_.reserve_exactly(what.job, bytes));
  starved_ = room->bytes() < bytes;
  if (starved_) return false;
  expected_.unlist(what.key(), what.partition);
  const std::uint64_t move = ++moves_;
  ++returning_;
  returning_bytes_ += bytes;
  mover_.read(cache.bring_back(move), std::move(room), [this, what, move, bytes](Result<std::vector<HeldPtr>> blocks) {
    --returning_;
    returning_bytes_ -= bytes;
    ExpectedPartition* partition = expected_.find(what.key(), what.partition);
    if (partition != nullptr && partition->cache.moving(move)) came_back(what, *partition, bytes, std::move(blocks));
    moved_();
  });
  return true;
}

void PrefetchMemory::came_back(const Turn& what, ExpectedPartition& partition, std::uint64_t bytes,
                               Result<std::vector<HeldPtr>> blocks) {
  if (blocks) {
    stats_.held_bytes += bytes_of(*blocks);
    stats_.held_segments += blocks->size();
    accounts_.count(what.job, &PrefetchStats::returned_bytes, bytes);
    partition.cache.back(*std::move(blocks));
  } else {
    log_.warn("prefetched blocks that lay on disk are fetched again: {}", blocks.error().to_string());
    lose(what.job, partition, bytes);
  }
  expected_.list(what.key(), what.partition);
  settle(what.key(), what.partition);
  bring_back_taken(what.key(), what.partition, partition);
}

void PrefetchMemory::lose(JobId job, ExpectedPartition& partition, std::uint64_t bytes) {
  stats_.dropped_bytes += bytes;
  release(job, partition);
  partition.at.clear();
}

void PrefetchMemory::bring_back_taken(const Key& key, std::uint32_t number, ExpectedPartition& partition) {
  if (!partition.cache.in_files() || partition.cache.returning()) return;
  const std::uint64_t bytes = partition.cache.next_file_bytes();
  const bool fits = bytes <= options_.memory_bytes && make_room(nullptr, bytes);
  if (fits && bring_back(expected_.turn(key, number))) return;
  if (fits && leaving()) return;  // once more when that is written
  const std::uint64_t lost = std::min(partition.cache.bytes_in_files(), partition.unread);
  stats_.dropped_bytes += lost;
  partition.unread -= lost;
  accounts_.count(key.first, &PrefetchStats::wasted_bytes, lost);
  partition.cache.forget_files();
}

void PrefetchMemory::release(JobId job, ExpectedPartition& partition) {
  stats_.held_bytes -= bytes_of(partition.cache.in_memory());
  stats_.held_segments -= partition.cache.in_memory().size();
  if (!partition.cache.in_memory().empty()) starved_ = false;
  partition.cache.clear();
  if (partition.unread > 0) accounts_.count(job, &PrefetchStats::wasted_bytes, std::exchange(partition.unread, 0));
}

}  // namespace weft::shuffle
