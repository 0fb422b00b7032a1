#include "runtime/operators/partitioned_writer.hpp"

#include <algorithm>
#include <bit>

#include <fmt/core.h>

#include "shuffle/segment/segment.hpp"

namespace weft::runtime {
namespace {

constexpr std::uint64_t kCacheBytes = 512U << 10;  // of the second-level cache, for all buffers until they are copied
constexpr std::uint32_t kOverhang = 4;             // room for the record that fills a buffer: as many of the usual size

/// A power of two, so that buffers fill the segment's pieces of memory.
std::uint32_t buffer_size(const MemoryGrant& grant, const shuffle::SegmentWriter& segment, std::uint32_t partitions) {
  const std::uint64_t share = grant.limit() / 4 / std::max<std::uint32_t>(partitions, 1);
  const std::uint64_t good = segment.good_extent();
  const std::uint64_t cached = std::clamp<std::uint64_t>(kCacheBytes / std::max<std::uint32_t>(partitions, 1), good, 4 * good);
  return static_cast<std::uint32_t>(std::bit_floor(std::clamp<std::uint64_t>(share, 512, cached)));
}

}  // namespace

PartitionedWriter::PartitionedWriter(OperatorContext& context, shuffle::SegmentWriter& segment, std::uint32_t partitions)
    : context_(context),
      segment_(segment),
      poll_(context),
      partitions_(partitions),
      buffer_bytes_(buffer_size(*context.memory, segment, partitions)) {
  const std::uint64_t wanted = std::uint64_t{buffer_bytes_} * partitions;
  if (context.memory->try_take(wanted)) taken_ = wanted;  // refused only with very many partitions: go on with the small buffers
}

PartitionedWriter::~PartitionedWriter() { context_.memory->give_back(taken_); }

void PartitionedWriter::append(std::uint32_t partition) {
  PartitionBuffer& buffer = buffers_[partition];
  if (buffer.bytes.size() > buffer_bytes_ + context_.memory->limit()) too_large(buffer.bytes.size());
  value_or_throw(segment_.append(partition, buffer.bytes.view(), buffer.records));
  buffer.records = 0;
}

void PartitionedWriter::flush(std::uint32_t partition) {
  PartitionBuffer& buffer = buffers_[partition];
  const auto usual = static_cast<std::uint32_t>(std::min<std::size_t>(buffer.bytes.size() / buffer.records, buffer_bytes_));
  append(partition);
  // A partition that filled a buffer will fill more: they are encoded where they are to stay, if the segment has room.
  const MutableBytes room = segment_.room(partition, buffer_bytes_);
  if (!room.empty()) {
    buffer.bytes = Encoder(room);
    buffer.flush_at = buffer_bytes_ - std::min(kOverhang * usual, buffer_bytes_ / 2);
    return;
  }
  buffer.flush_at = buffer_bytes_;
  if (!buffer.bytes.owns_memory() || buffer.bytes.capacity() > 4 * buffer_bytes_) {
    buffer.bytes = Encoder();  // the memory is the segment's now; or that of one huge record, which must not be kept
  } else {
    buffer.bytes.clear();
  }
}

void PartitionedWriter::finish() {
  for (std::uint32_t partition = 0; partition < ready_; ++partition) {
    if (buffers_[partition].records != 0) append(partition);
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

void PartitionedWriter::begin_first(std::uint32_t partition) {
  if (partition >= partitions_)
    throw TaskError{Error(Code::invalid_argument, fmt::format("the partitioner returned {} where the partitions are 0 to {}",
                                                              partition, static_cast<std::int64_t>(partitions()) - 1))};
  buffers_ = std::make_unique<PartitionBuffer[]>(partitions_);
  for (std::uint32_t i = 0; i < partitions_; ++i) buffers_[i].flush_at = buffer_bytes_;
  ready_ = partitions_;
}

}  // namespace weft::runtime
