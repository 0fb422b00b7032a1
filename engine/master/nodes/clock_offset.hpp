// How far a worker's time of day is from the master's. Nothing in weft depends on it, but people who compare logs, deadlines and
// file times do.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "base/clock.hpp"

namespace weft::master {

/// What heartbeats say about one worker's clock. A message that waited makes the clock look late, never early: the largest of the
/// last few samples is nearest the truth.
class ClockOffset {
 public:
  /// The worker's time when it sent, less the master's when it received. True once: when the clock is known to be off.
  bool add(Duration sample);
  /// Of the master's clock; negative: behind. Zero until enough samples are there.
  Duration ahead() const { return count_ < samples_.size() ? Duration(0) : *std::max_element(samples_.begin(), samples_.end()); }

 private:
  std::array<Duration, 4> samples_{};
  std::size_t count_ = 0;
  bool reported_ = false;
};

/// "12.3 s ahead", "4 min 05 s behind"; empty when it is near enough.
std::string clock_text(Duration ahead);

}  // namespace weft::master
