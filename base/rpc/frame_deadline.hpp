// How long a peer may take over a frame that it has begun.
#pragma once

#include <cstddef>
#include <optional>

#include "base/clock.hpp"

namespace weft::rpc {

/// A frame must be whole `time` after its first byte, and a long one at least go on: every kStep bytes give it as much time again,
/// so that a slow link is no offence and a byte a second is. Has no timer and no clock: its owner gives it the time.
class FrameDeadline {
 public:
  static constexpr std::size_t kStep = 16u << 10;

  explicit FrameDeadline(Duration time) : time_(time) {}

  /// `bytes` were received. `ended`: they ended at least one frame; `within`: they ended in the middle of one.
  void received(TimePoint now, std::size_t bytes, bool ended, bool within) {
    bytes_ += bytes;
    if (!within) {
      due_.reset();
    } else if (!due_ || ended || bytes_ >= kStep) {
      due_ = now + time_;
      bytes_ = 0;
    }
  }
  /// Nothing while no frame has begun.
  std::optional<TimePoint> due() const { return due_; }

 private:
  const Duration time_;
  std::size_t bytes_ = 0;  // since due_ was set
  std::optional<TimePoint> due_;
};

}  // namespace weft::rpc
