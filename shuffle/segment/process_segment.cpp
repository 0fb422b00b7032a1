// Segments in the memory of the process that writes and reads them: extents stay where they were encoded.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <utility>

#include "base/assert.hpp"
#include "shuffle/segment/segment.hpp"

namespace weft::shuffle {
namespace {

// The first piece of memory is small, for tasks with little to write; then they grow to huge pages.
constexpr std::size_t kSmallestPiece = 64u << 10;
constexpr std::size_t kLargestPiece = 2u << 20;
// What the last room of each partition leaves unused is lost.
constexpr std::size_t kExtent = 16u << 10;

/// Memory of the pool, handed out from front to back.
class Memory {
 public:
  Memory(std::shared_ptr<PagePool> pool, std::uint64_t limit) : pool_(std::move(pool)), limit_(limit) {}

  /// Nothing when the limit does not allow it. Throws std::bad_alloc.
  MutableBytes take(std::size_t bytes) {
    if (bytes > rest_.size() && !add_piece(bytes)) return {};
    const MutableBytes taken = rest_.first(bytes);
    rest_ = rest_.subspan(bytes);
    return taken;
  }
  /// The last `bytes` taken come back, if they were the last.
  void untake(MutableBytes unused) {
    if (unused.data() + unused.size() == rest_.data()) rest_ = {unused.data(), unused.size() + rest_.size()};
  }
  std::uint64_t size() const { return size_; }

 private:
  bool add_piece(std::size_t bytes) {
    std::size_t piece = std::max(next_, bytes);
    if (size_ + piece > limit_) piece = bytes;
    if (size_ + piece > limit_) return false;
    pieces_.push_back(Pages::uninitialized(piece, pool_.get()));
    rest_ = {pieces_.back().data(), piece};
    size_ += piece;
    next_ = std::min(2 * next_, kLargestPiece);
    return true;
  }

  std::shared_ptr<PagePool> pool_;  // outlives the pieces
  std::uint64_t limit_;
  std::uint64_t size_ = 0;
  std::size_t next_ = kSmallestPiece;
  std::vector<Pages> pieces_;
  MutableBytes rest_;
};

/// Extents name their bytes by address.
class ProcessSegment final : public Segment {
 public:
  ProcessSegment(Memory memory, std::vector<Extent> extents, std::uint32_t partitions)
      : memory_(std::move(memory)), extents_(std::move(extents)), partitions_(partitions) {
    std::stable_sort(extents_.begin(), extents_.end(), [](const Extent& a, const Extent& b) { return a.partition < b.partition; });
  }

  ByteView file() const override { return {}; }
  SegmentHome home() const override { return SegmentHome::process; }
  std::uint32_t partitions() const override { return partitions_; }
  std::uint64_t size() const override { return memory_.size() + extents_.size() * sizeof(Extent); }
  int fd() const override { return -1; }
  std::shared_ptr<const Segment> without_descriptor() const override { return nullptr; }
  std::span<const Extent> extents(std::uint32_t partition) const override {
    WEFT_ASSERT(partition < partitions());
    return extents_of(extents_, partition);
  }
  ByteView bytes(const Extent& extent) const override { return {reinterpret_cast<const std::byte*>(extent.offset), extent.length}; }
  void forget(const Extent&) const override {}

  Result<Fd> to_file(const std::string& directory) const override {
    WEFT_ASSIGN(const auto writer, SegmentWriter::on_disk(directory, partitions()));
    for (const Extent& extent : extents_) WEFT_TRY(writer->append(extent.partition, bytes(extent), extent.records));
    WEFT_ASSIGN(SealedSegment sealed, writer->seal());
    return std::move(sealed.fd);
  }

 private:
  Memory memory_;
  std::vector<Extent> extents_;  // by partition
  const std::uint32_t partitions_;
};

class ProcessWriter final : public SegmentWriter {
 public:
  ProcessWriter(std::uint32_t partitions, SegmentMemory memory, std::shared_ptr<PagePool> pool)
      : directory_(std::move(memory.directory)), memory_(std::move(pool), memory.bytes), sizes_(partitions) {}

  std::size_t good_extent() const override { return kExtent; }

  MutableBytes room(std::uint32_t partition, std::size_t bytes) override {
    WEFT_ASSERT(partition < sizes_.size());
    if (file_) return {};
    if (rooms_.empty()) rooms_.resize(sizes_.size());
    MutableBytes& room = rooms_[partition];
    if (room.size() < bytes) room = memory_.take(bytes);
    return room;
  }

  Result<void> append(std::uint32_t partition, ByteView bytes, std::uint32_t records) override {
    WEFT_ASSERT(partition < sizes_.size());
    if (bytes.empty() && records == 0) return {};
    if (!file_) {
      if (const auto kept = keep(partition, bytes)) {
        extents_.push_back({.partition = partition,
                            .records = records,
                            .offset = reinterpret_cast<std::uint64_t>(kept->data()),
                            .length = kept->size(),
                            .crc32c = 0});
        sizes_[partition].bytes += bytes.size();
        sizes_[partition].records += records;
        bytes_ += bytes.size();
        return {};
      }
      WEFT_TRY(move_to_file());
    }
    return file_->append(partition, bytes, records);
  }

  Result<SealedSegment> seal() override {
    if (file_) return file_->seal();
    const auto partitions = static_cast<std::uint32_t>(sizes_.size());
    auto segment = std::make_shared<const ProcessSegment>(std::move(memory_), std::move(extents_), partitions);
    const std::uint64_t size = segment->size();
    return SealedSegment{Fd(), size, std::move(sizes_), std::move(segment)};
  }

  std::uint64_t bytes() const override { return file_ ? file_->bytes() : bytes_; }

 private:
  /// Where the bytes are from now on: in the room they were written to, otherwise in a copy. Nothing: there is no memory for one.
  std::optional<ByteView> keep(std::uint32_t partition, ByteView bytes) {
    if (!rooms_.empty() && !bytes.empty() && rooms_[partition].data() == bytes.data()) {
      MutableBytes& room = rooms_[partition];
      WEFT_ASSERT(bytes.size() <= room.size());
      memory_.untake(room.subspan(bytes.size()));
      room = {};
      return bytes;
    }
    const MutableBytes copy = memory_.take(bytes.size());
    if (copy.size() < bytes.size()) return std::nullopt;
    if (!bytes.empty()) std::memcpy(copy.data(), bytes.data(), bytes.size());
    return copy;
  }

  /// The memory stays until the end: there may be rooms in it that are being filled.
  Result<void> move_to_file() {
    WEFT_ASSIGN(auto file, on_disk(directory_, static_cast<std::uint32_t>(sizes_.size())));
    for (const Extent& extent : std::exchange(extents_, {}))
      WEFT_TRY(file->append(extent.partition, {reinterpret_cast<const std::byte*>(extent.offset), extent.length}, extent.records));
    file_ = std::move(file);
    return {};
  }

  const std::string directory_;
  Memory memory_;
  std::vector<MutableBytes> rooms_;  // by partition; empty: none is lent. None before the first
  std::vector<Extent> extents_;
  std::vector<PartitionSize> sizes_;
  std::uint64_t bytes_ = 0;
  std::unique_ptr<SegmentWriter> file_;  // once the memory was too small
};

}  // namespace

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::in_process(std::uint32_t partitions, SegmentMemory memory,
                                                                 std::shared_ptr<PagePool> pool) {
  WEFT_TRY(detail::check_partitions(partitions));
  return std::make_unique<ProcessWriter>(partitions, std::move(memory), std::move(pool));
}

}  // namespace weft::shuffle
