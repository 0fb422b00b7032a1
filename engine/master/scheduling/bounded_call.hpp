// Calls of code that may never return, bounded in time.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/clock.hpp"

namespace weft::scheduling {

/// To be called once a thread was left behind in somebody else's code: it may touch what static destructors destroy, so the process
/// ends without them.
void end_without_destructors();

/// The result of `call`, which runs on a thread of its own; nothing when it has not returned after `timeout`. Then the thread is
/// left alone, so `call` must own everything that it touches.
template <class T>
std::optional<T> call_within(Duration timeout, std::function<T()> call) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<T> result;
  };
  auto shared = std::make_shared<Shared>();
  std::thread thread([shared, call = std::move(call)] {
    T result = call();
    const std::lock_guard lock(shared->mutex);
    shared->result = std::move(result);
    shared->changed.notify_all();
  });
  std::unique_lock lock(shared->mutex);
  const bool returned = shared->changed.wait_for(lock, timeout, [&] { return shared->result.has_value(); });
  lock.unlock();
  if (!returned) {
    thread.detach();
    end_without_destructors();
    return std::nullopt;
  }
  thread.join();
  return std::move(shared->result);
}

}  // namespace weft::scheduling
