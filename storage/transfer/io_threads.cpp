#include "storage/transfer/io_threads.hpp"

#include <algorithm>
#include <utility>

namespace weft::storage {

IoThreads::IoThreads(std::uint32_t threads) {
  for (std::uint32_t i = 0; i < std::max(threads, 1u); ++i) threads_.emplace_back([this] { work(); });
}

IoThreads::~IoThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void IoThreads::post(IoTask task) {
  if (executor_) return executor_(std::move(task));
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

bool IoThreads::idle() const {
  const std::lock_guard lock(mutex_);
  return tasks_.empty() && running_ == 0;
}

void IoThreads::work() {
  while (true) {
    IoTask task;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
      if (stopping_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      ++running_;
    }
    task();
    task = nullptr;  // with all it holds
    const std::lock_guard lock(mutex_);
    --running_;
  }
}

void IoQueue::post(IoTask task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    if (std::exchange(running_, true)) return;
  }
  threads_.post([self = shared_from_this()] { self->run_one(); });
}

/// Then to the back of the line: queues take turns.
void IoQueue::run_one() {
  IoTask task;
  {
    const std::lock_guard lock(mutex_);
    task = std::move(tasks_.front());
    tasks_.pop_front();
  }
  task();
  {
    const std::lock_guard lock(mutex_);
    if (tasks_.empty()) {
      running_ = false;
      return;
    }
  }
  threads_.post([self = shared_from_this()] { self->run_one(); });
}

}  // namespace weft::storage
