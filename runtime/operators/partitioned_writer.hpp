// Map output: records go to one small buffer per partition, full buffers become extents of the segment.
#pragma once

#include <cstdint>
#include <memory>

#include "base/assert.hpp"
#include "base/codec.hpp"
#include "runtime/operators/fault.hpp"

namespace weft::shuffle {
class SegmentWriter;
}

namespace weft::runtime {

/// One thread. Memory: at most about a quarter of the grant, and at least 512 bytes per partition.
class PartitionedWriter {
 public:
  PartitionedWriter(OperatorContext& context, shuffle::SegmentWriter& segment, std::uint32_t partitions);
  ~PartitionedWriter();
  PartitionedWriter(const PartitionedWriter&) = delete;
  PartitionedWriter& operator=(const PartitionedWriter&) = delete;

  template <class T>
  void write(std::uint32_t partition, const T& record) {
    Codec<T>::encode(record, begin(partition));
    end(partition);
  }

  /// Where to encode one record of `partition`; end(partition) follows. A partition that does not exist is a user error (a custom
  /// partitioner).
  Encoder& begin(std::uint32_t partition) {
    if (partition >= ready_) [[unlikely]]
      begin_first(partition);
    return buffers_[partition].bytes;
  }
  void end(std::uint32_t partition) {
    PartitionBuffer& buffer = buffers_[partition];
    ++buffer.records;
    // The processor follows fewer streams of stores than there are partitions; by the next record of this one, its place is here.
    const std::byte* next = buffer.bytes.view().data() + buffer.bytes.size();
    __builtin_prefetch(next + 64, 1);
    __builtin_prefetch(next + 128, 1);
    if (buffer.bytes.size() >= buffer.flush_at) [[unlikely]]
      flush(partition);
    poll_();
  }

  /// Appends what is still buffered. Sealing the segment stays with its owner.
  void finish();
  std::uint32_t partitions() const { return partitions_; }

 private:
  struct PartitionBuffer {
    Encoder bytes;
    std::uint32_t records = 0;
    std::uint32_t flush_at = 0;  // bytes
  };

  void append(std::uint32_t partition);
  /// Appends, and makes ready for more.
  void flush(std::uint32_t partition);
  [[noreturn]] void too_large(std::uint64_t bytes) const;
  /// The buffers, before the first record: nearly all tasks may have none.
  void begin_first(std::uint32_t partition);

  OperatorContext& context_;
  shuffle::SegmentWriter& segment_;
  StopPoll poll_;
  const std::uint32_t partitions_;
  std::uint32_t ready_ = 0;  // partitions that have buffers
  std::unique_ptr<PartitionBuffer[]> buffers_;
  const std::uint32_t buffer_bytes_;
  std::uint64_t taken_ = 0;
};

}  // namespace weft::runtime
