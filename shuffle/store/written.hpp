// For which partitions maps wrote something. Most maps of a shuffle with many partitions and little data write for few of them: a
// reader that knows which looks at nothing else, so that what is empty costs nothing, however many maps and partitions there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "shuffle/segment/segment.hpp"

namespace weft::shuffle {

/// The partitions for which one map wrote something, ascending. Nothing: it is not known, any of them may have something.
using Written = std::optional<std::vector<std::uint32_t>>;

/// A map that wrote for more partitions than that is not described: what it wrote is then worth looking for.
inline constexpr std::size_t kMostWritten = 256;

/// By the sizes of all partitions of its output.
Written written_of(std::span<const PartitionSize> sizes);

/// Whether the map may have written something for the partition.
bool may_have(const Written& written, std::uint32_t partition);

/// All outputs of a shuffle by what they have. Immutable, any thread. It takes about eight bytes for each entry of `written`.
class WrittenIndex {
 public:
  /// By output; missing at the end: not known of these.
  explicit WrittenIndex(std::span<const Written> written);

  /// The positions in [first, end), ascending, of outputs that may have something of the partition.
  std::vector<std::uint32_t> outputs_with(std::uint32_t partition, std::uint32_t first, std::uint32_t end) const;

 private:
  std::uint32_t described_ = 0;                                   // outputs from there on are not known
  std::vector<std::pair<std::uint32_t, std::uint32_t>> entries_;  // partition, position; sorted
  std::vector<std::uint32_t> unknown_;                            // positions, ascending
};

}  // namespace weft::shuffle
