// Map output: records go to one small buffer per partition, full buffers become extents of the segment.
#pragma once

#include <cstdint>
#include <vector>

#include "base/codec.hpp"
#include "runtime/operators/fault.hpp"
#include "shuffle/segment.hpp"

namespace weft::runtime {

/// One thread. Memory: about a quarter of the grant, whatever the number of partitions.
class PartitionedWriter {
 public:
  PartitionedWriter(OperatorContext& context, shuffle::SegmentWriter& segment, std::uint32_t partitions);
  template <class T>
  void write(std::uint32_t partition, const T& record);
  /// Appends what is still buffered. Sealing the segment stays with its owner.
  void finish();
  std::uint32_t partitions() const;
};

}  // namespace weft::runtime
