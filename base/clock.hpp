// Time as a parameter: code that needs the time is given a Clock, or a TimePoint where it does no I/O, so that tests and
// simulations control it.
#pragma once

#include <atomic>

#include "base/lean/chrono.hpp"

namespace weft {

using Duration = std::chrono::nanoseconds;
/// Nanoseconds since an arbitrary origin that never moves (steady clock). Not comparable between machines.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Duration>;

constexpr double in_seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

class Clock {
 public:
  virtual ~Clock() = default;
  /// Returns the current time, which never goes backwards. Any thread may call it; it does not block.
  virtual TimePoint now() const = 0;
};

class SystemClock final : public Clock {
 public:
  TimePoint now() const override { return std::chrono::steady_clock::now(); }
};

/// Stands still except for advance(). Any thread may use it.
class ManualClock final : public Clock {
 public:
  explicit ManualClock(TimePoint start = TimePoint{}) : now_(start.time_since_epoch().count()) {}
  TimePoint now() const override { return TimePoint(Duration(now_.load(std::memory_order_acquire))); }
  void advance(Duration by) { now_.fetch_add(by.count(), std::memory_order_acq_rel); }

 private:
  std::atomic<Duration::rep> now_;
};

}  // namespace weft
