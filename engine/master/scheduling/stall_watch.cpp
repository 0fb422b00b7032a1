#include "engine/master/scheduling/stall_watch.hpp"

namespace weft::scheduling {

StallWatch::StallWatch(Duration timeout, std::function<void()> on_stall)
    : thread_([this, timeout, on_stall = std::move(on_stall)] { watch(timeout, on_stall); }) {}

StallWatch::~StallWatch() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StallWatch::watch(Duration timeout, const std::function<void()>& on_stall) {
  std::unique_lock lock(mutex_);
  std::uint64_t seen = beats_.load(std::memory_order_relaxed);
  while (!changed_.wait_for(lock, timeout, [this] { return over_; })) {
    const std::uint64_t now = beats_.load(std::memory_order_relaxed);
    if (now == seen) return on_stall();
    seen = now;
  }
}

}  // namespace weft::scheduling
