// Whether compressing spilled blocks pays on this machine: what a byte costs to compress against what it costs to write.
#pragma once

#include <cstdint>

#include "base/clock.hpp"

namespace weft::runtime {

/// Decides by the time that each block took what to do with the next one. A spill file that is absorbed by memory is written faster
/// than LZ4 compresses; one on a slow disk is not. The first block is compressed, and later one in kProbe is, because both change.
class CompressionChoice {
 public:
  static constexpr std::uint32_t kProbe = 32;

  bool try_next() { return blocks_++ % kProbe == 0 || pays(); }

  /// `stored` is `raw` when it could not be made smaller.
  void compressed(std::uint64_t raw, std::uint64_t stored, Duration took) {
    const double share = static_cast<double>(stored) / static_cast<double>(raw);
    smooth(share_, share);
    smooth(compress_, per_byte(took, raw));
  }
  void written(std::uint64_t stored, Duration took) { smooth(write_, per_byte(took, stored)); }

 private:
  static constexpr double kDecompress = 0.25;  // of the time to compress

  bool pays() const { return compress_ * (1 + kDecompress) < (1 - share_) * write_; }
  static double per_byte(Duration took, std::uint64_t bytes) {
    return static_cast<double>(took.count()) / static_cast<double>(bytes != 0 ? bytes : 1);
  }
  static void smooth(double& average, double value) { average = average < 0 ? value : average + (value - average) / 4; }

  std::uint32_t blocks_ = 0;
  double share_ = -1;     // of the bytes that compression leaves
  double compress_ = -1;  // nanoseconds per byte; negative: not known
  double write_ = -1;
};

}  // namespace weft::runtime
