// How many requests run at once, by what the server says of its load.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace weft::storage::http {

/// Whether an answer's status asks for fewer requests: 429, 503.
bool is_throttled(long status);

/// Additive increase, multiplicative decrease. One thread.
class AdaptiveLimit {
 public:
  explicit AdaptiveLimit(std::uint32_t most) : most_(most), limit_(most) {}
  /// At least 1, at most `most`.
  std::size_t limit() const { return static_cast<std::size_t>(limit_); }
  /// An answer came: half as many after a throttled one, at most once in the time that requests under way take to notice; one
  /// more after as many others as run at once.
  void answered(long status, TimePoint now);

 private:
  const std::uint32_t most_;
  double limit_;
  TimePoint halved_{};  // last
};

}  // namespace weft::storage::http
