// Many calls that mostly wait for a disk or a service, on several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace weft::storage {

/// Calls `each(i)` for all i below `count` from at most `threads` threads, this one included; all of them, whatever fails. The
/// first failure.
template <class Each>
Result<void> in_parallel(std::size_t threads, std::size_t count, Each&& each) {
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::optional<Error> failure;
  const auto some = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      Result<void> done = each(i);
      const std::lock_guard lock(mutex);
      if (!done && !failure) failure = std::move(done).error();
    }
  };
  std::vector<std::jthread> others;
  try {
    while (others.size() + 1 < std::min(threads, count)) others.emplace_back(some);
  } catch (const std::system_error&) {  // fewer will do
  }
  some();
  others.clear();
  if (failure) return fail(*std::move(failure));
  return {};
}

}  // namespace weft::storage
