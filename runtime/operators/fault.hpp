// How operators fail: they throw, because they run inside user-facing frames. The task runner turns it into an outcome.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "base/result.hpp"
#include "runtime/operators/memory.hpp"

namespace weft::runtime {

/// Thrown inside a task when it was asked to stop (kill, timeout, fenced). Never caught by operators.
struct TaskCancelled {};

/// Carries an Error through user-facing frames (operators throw it, the task runner turns it into a task failure).
struct TaskError {
  Error error;
};

/// Throws TaskError when the result failed, otherwise its value.
template <class T>
T value_or_throw(Result<T>&& result) {
  if (!result) throw TaskError{std::move(result).error()};
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

/// Looks at the stop flag every few thousand records.
class StopPoll {
 public:
  explicit StopPoll(const OperatorContext& context) : stop_(context.stop) {}
  [[gnu::always_inline]] void operator()(std::uint32_t records = 1) {
    records_ += records;
    if (records_ >= kEvery) [[unlikely]] {
      records_ = 0;
      now();
    }
  }
  [[gnu::noinline]] void now() const {
    if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) throw TaskCancelled{};
  }

 private:
  static constexpr std::uint32_t kEvery = 2048;
  const std::atomic<bool>* stop_;
  std::uint32_t records_ = 0;
};

}  // namespace weft::runtime
