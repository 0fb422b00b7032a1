// Notices that a thread makes no progress: for shells where a scheduler that never returns cannot be given up call by call (the
// simulator applies a million events a second).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.hpp"

namespace weft::scheduling {

class StallWatch {
 public:
  /// `on_stall` is called once, on a thread of the watch's own, when alive() was not called for `timeout`.
  StallWatch(Duration timeout, std::function<void()> on_stall);
  ~StallWatch();
  StallWatch(const StallWatch&) = delete;
  StallWatch& operator=(const StallWatch&) = delete;

  /// The watched thread.
  void alive() { beats_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void watch(Duration timeout, const std::function<void()>& on_stall);

  std::atomic<std::uint64_t> beats_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace weft::scheduling
