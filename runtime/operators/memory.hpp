// Memory grants and spill space. Every operator accounts its memory here and spills when it is refused more.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft {
class PagePool;
}

namespace weft::runtime {

class SharedTables;

/// A byte budget that several grants take from. Any thread.
class MemoryPool {
 public:
  explicit MemoryPool(std::uint64_t limit) : limit_(limit) {}
  bool try_take(std::uint64_t bytes) {
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return true;
    give_back(bytes);
    return false;
  }
  void give_back(std::uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  std::uint64_t limit() const { return limit_; }

 private:
  const std::uint64_t limit_;
  std::atomic<std::uint64_t> used_{0};
};

/// The byte budget of one task, or of one part of what tasks hold together. One thread.
class MemoryGrant {
 public:
  /// `pool`: where the bytes must be free, too; null: nowhere.
  explicit MemoryGrant(std::uint64_t limit, MemoryPool* pool = nullptr) : limit_(limit), pool_(pool) {}
  bool try_take(std::uint64_t bytes) {
    if (used_ + bytes > limit_) return false;
    if (pool_ != nullptr && !pool_->try_take(bytes)) return false;
    used_ += bytes;
    if (used_ > peak_) peak_ = used_;
    return true;
  }
  void give_back(std::uint64_t bytes) {
    used_ -= bytes;
    if (pool_ != nullptr) pool_->give_back(bytes);
  }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t free() const { return limit_ - used_; }
  std::uint64_t peak() const { return peak_; }

 private:
  std::uint64_t limit_;
  MemoryPool* pool_;
  std::uint64_t used_ = 0;
  std::uint64_t peak_ = 0;
};

/// What operators need of their surroundings.
struct OperatorContext {
  MemoryGrant* memory = nullptr;
  PagePool* pages = nullptr;                // large pieces of memory, used again by the next task; may be missing
  SharedTables* tables = nullptr;           // that all tasks of the process read; null: each task has its own
  std::string spill_directory;              // for unlinked temporary files
  const std::atomic<bool>* stop = nullptr;  // set: throw TaskCancelled soon
  std::uint64_t spilled_bytes = 0;
  TimePoint spill_began{};  // of the first; the epoch: none
  Duration spill_time{0};   // compressing and writing, of all together
};

}  // namespace weft::runtime
