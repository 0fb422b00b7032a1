// Threads that wait for disks, and queues of calls that come one after the other. Private to storage/transfer.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace weft::storage {

using IoTask = std::function<void()>;

class IoThreads {
 public:
  explicit IoThreads(std::uint32_t threads);
  /// Without threads: `executor` runs what it is given, later and in whatever order, or drops it. For simulations.
  explicit IoThreads(std::function<void(IoTask)> executor) : executor_(std::move(executor)) {}
  /// Waits for the tasks that run and drops the others.
  ~IoThreads();
  void post(IoTask task);
  /// No task runs or waits: what they posted elsewhere is there. Any thread.
  bool idle() const;

 private:
  void work();

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<IoTask> tasks_;
  std::uint32_t running_ = 0;
  bool stopping_ = false;
  const std::function<void(IoTask)> executor_;
  std::vector<std::thread> threads_;
};

/// Runs its tasks in order, one at a time. `threads` outlives the posting.
class IoQueue : public std::enable_shared_from_this<IoQueue> {
 public:
  explicit IoQueue(IoThreads& threads) : threads_(threads) {}
  void post(IoTask task);

 private:
  void run_one();

  IoThreads& threads_;
  std::mutex mutex_;
  std::deque<IoTask> tasks_;
  bool running_ = false;
};

}  // namespace weft::storage
