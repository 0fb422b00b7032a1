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

/// The byte budget of one task. One thread.
class MemoryGrant {
 public:
  explicit MemoryGrant(std::uint64_t limit) : limit_(limit) {}
  bool try_take(std::uint64_t bytes) {
    if (used_ + bytes > limit_) return false;
    used_ += bytes;
    if (used_ > peak_) peak_ = used_;
    return true;
  }
  void give_back(std::uint64_t bytes) { used_ -= bytes; }
  std::uint64_t limit() const { return limit_; }
  std::uint64_t used() const { return used_; }
  std::uint64_t free() const { return limit_ - used_; }
  std::uint64_t peak() const { return peak_; }

 private:
  std::uint64_t limit_;
  std::uint64_t used_ = 0;
  std::uint64_t peak_ = 0;
};

/// What operators need of their surroundings.
struct OperatorContext {
  MemoryGrant* memory = nullptr;
  PagePool* pages = nullptr;                // large pieces of memory, used again by the next task; may be missing
  std::string spill_directory;              // for unlinked temporary files
  const std::atomic<bool>* stop = nullptr;  // set: throw TaskCancelled soon
  std::uint64_t spilled_bytes = 0;
  TimePoint spill_began{};  // of the first; the epoch: none
  Duration spill_time{0};   // compressing and writing, of all together
};

}  // namespace weft::runtime
