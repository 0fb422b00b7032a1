// What was prefetched of one partition: in memory, on its way to a file, in files, or on its way back. Private to the prefetcher.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "shuffle/prefetch/block_mover.hpp"

namespace weft::shuffle {

/// Knows where blocks are; PrefetchMemory moves them. Reactor thread.
class BlockCache {
 public:
  const std::vector<HeldPtr>& in_memory() const { return in_memory_; }
  bool leaving() const { return !leaving_.empty(); }
  bool returning() const { return returning_; }
  bool in_files() const { return !files_.empty(); }
  /// Something of it is not in memory.
  bool away() const { return leaving() || returning_ || in_files(); }
  /// What the next file takes of memory when it is back. There must be one.
  std::uint64_t next_file_bytes() const { return files_.back()->memory_bytes(); }
  std::uint64_t bytes_in_files() const {
    std::uint64_t sum = 0;
    for (const BlockMover::FilePtr& file : files_) sum += file->memory_bytes();
    return sum;
  }
  bool has(const MapAttempt& map) const {
    const auto holds = [&](const HeldPtr& held) {
      return std::find(held->maps.begin(), held->maps.end(), map) != held->maps.end();
    };
    return std::any_of(in_memory_.begin(), in_memory_.end(), holds) || std::any_of(leaving_.begin(), leaving_.end(), holds) ||
           std::any_of(files_.begin(), files_.end(), [&](const BlockMover::FilePtr& file) { return file->has(map); });
  }
  /// Whether that move, by the number it was given, still counts.
  bool moving(std::uint64_t move) const { return move_ == move; }

  void add(HeldPtr blocks) { in_memory_.push_back(std::move(blocks)); }

  /// All that is in memory is being written from now on, by that move. Returns the blocks.
  std::vector<HeldPtr> leave(std::uint64_t move) {
    move_ = move;
    leaving_ = std::exchange(in_memory_, {});
    return leaving_;
  }
  /// They are written to that file.
  void left(BlockMover::FilePtr file) {
    leaving_.clear();
    files_.push_back(std::move(file));
  }
  /// They stay in memory: what is written of them is void.
  void stay() {
    move_ = 0;
    in_memory_.insert(in_memory_.end(), leaving_.begin(), leaving_.end());
    leaving_.clear();
  }

  /// The next file to be read, by that move from now on.
  const BlockMover::FilePtr& bring_back(std::uint64_t move) {
    move_ = move;
    returning_ = true;
    return files_.back();
  }
  void back(std::vector<HeldPtr> blocks) {
    returning_ = false;
    files_.pop_back();
    for (HeldPtr& held : blocks) in_memory_.push_back(std::move(held));
  }

  /// Nothing of it is wanted that is not in memory.
  void forget_files() {
    move_ = 0;
    leaving_.clear();
    files_.clear();
    returning_ = false;
  }
  void clear() {
    forget_files();
    in_memory_.clear();
  }

 private:
  std::vector<HeldPtr> in_memory_, leaving_;
  std::vector<BlockMover::FilePtr> files_;
  bool returning_ = false;  // the last of the files
  std::uint64_t move_ = 0;  // under way
};

}  // namespace weft::shuffle
