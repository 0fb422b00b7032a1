#include "runtime/operators/partitioned_writer.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace weft::runtime {
namespace {

constexpr std::uint64_t kCacheBytes = 512U << 10;

std::size_t flush_size(const MemoryGrant& grant, std::uint32_t partitions) {
  const std::uint64_t share = grant.limit() / 4 / std::max<std::uint32_t>(partitions, 1);
  // All buffers together should stay in the second-level cache until they are copied into the segment, but a write() of less than
  // 64 KiB is slow.
  const std::uint64_t cached =
      std::clamp<std::uint64_t>(kCacheBytes / std::max<std::uint32_t>(partitions, 1), 64U << 10, 256U << 10);
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(share, 512, cached));
}

}  // namespace

PartitionedWriter::PartitionedWriter(OperatorContext& context, shuffle::SegmentWriter& segment, std::uint32_t partitions)
    : context_(context),
      segment_(segment),
      poll_(context),
      buffers_(partitions),
      flush_bytes_(flush_size(*context.memory, partitions)) {
  const std::uint64_t wanted = std::uint64_t{flush_bytes_} * partitions;
  if (context.memory->try_take(wanted)) taken_ = wanted;  // refused only with very many partitions: go on with the small buffers
}

PartitionedWriter::~PartitionedWriter() { context_.memory->give_back(taken_); }

void PartitionedWriter::flush(std::uint32_t partition) {
  PartitionBuffer& buffer = buffers_[partition];
  if (buffer.bytes.size() > flush_bytes_ + context_.memory->limit()) too_large(buffer.bytes.size());
  value_or_throw(segment_.append(partition, buffer.bytes.view(), buffer.records));
  buffer.records = 0;
  if (buffer.bytes.capacity() > 4 * flush_bytes_) {
    buffer.bytes = Encoder();  // one huge record must not keep its memory
  } else {
    buffer.bytes.clear();
  }
}

void PartitionedWriter::finish() {
  for (std::uint32_t partition = 0; partition < partitions(); ++partition) {
    if (buffers_[partition].records != 0) flush(partition);
    buffers_[partition].bytes = Encoder();
  }
  context_.memory->give_back(std::exchange(taken_, 0));
}

void PartitionedWriter::too_large(std::uint64_t bytes) const {
  throw TaskError{
      Error(Code::resource_exhausted,
            fmt::format("shuffle write: a single record takes {} bytes, more than the task's memory budget of {} bytes; "
                        "give tasks more memory or make the records smaller",
                        bytes, context_.memory->limit()))};
}

void PartitionedWriter::no_such(std::uint32_t partition) const {
  throw TaskError{Error(Code::invalid_argument, fmt::format("the partitioner returned {} where the partitions are 0 to {}",
                                                            partition, static_cast<std::int64_t>(partitions()) - 1))};
}

}  // namespace weft::runtime
