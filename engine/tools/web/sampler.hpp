// Looks at the cluster now and then.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/clock.hpp"

namespace weft::web {

/// Calls `look` at once, and then every ten seconds, on a thread of its own, until it is destroyed; a call that has begun is waited
/// for.
class Sampler {
 public:
  explicit Sampler(std::function<void()> look, Duration pause = std::chrono::seconds(10));

 private:
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace weft::web
