// The partition sizes of a map output as bytes, for messages: a task's report with a thousand partitions takes a
// few kilobytes.
#pragma once

#include <vector>

#include "base/bytes.hpp"
#include "base/encoder.hpp"
#include "base/result.hpp"
#include "shuffle/segment/segment.hpp"

namespace weft::shuffle {

/// Varints: how many, then the records and the bytes of each. Nothing for no partitions.
Encoder pack(const std::vector<PartitionSize>& sizes);
/// corrupt: cut short, too many, or followed by more. No more memory is taken than eight times the bytes.
Result<std::vector<PartitionSize>> unpack_sizes(ByteView bytes);

}  // namespace weft::shuffle
