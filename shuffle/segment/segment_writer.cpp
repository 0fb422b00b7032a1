#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.hpp"
#include "base/crc32c.hpp"
#include "base/file.hpp"
#include "base/timed.hpp"
#include "base/unlinked_file.hpp"
#include "shuffle/segment/segment.hpp"
#include "shuffle/segment/segment_format.hpp"

namespace weft::shuffle {
namespace {

// write() into a memfd runs at about 2.8 GB/s when called with 64 KiB or more, against 1.7 GB/s for storing into a fresh shared
// mapping (which also zeroes the pages first) and 1 GB/s for a write() per 512-byte extent. So small extents are gathered here.
constexpr std::size_t kBufferBytes = 64u << 10;
// From this size on copying costs more than the system call it saves.
constexpr std::size_t kDirectBytes = 32u << 10;

class Writer final : public SegmentWriter {
 public:
  /// `memory.bytes`: how far a memfd may grow; 0: the file lies on a disk.
  Writer(Fd fd, std::uint32_t partitions, SegmentMemory memory)
      : fd_(std::move(fd)), memory_(std::move(memory)), on_disk_(memory_.bytes == 0), buffer_(kBufferBytes), sizes_(partitions) {
    const format::Header header{.partitions = partitions};
    std::memcpy(buffer_.data(), &header, sizeof header);
    used_ = sizeof header;
  }

  std::size_t good_extent() const override { return kBufferBytes; }

  Result<void> append(std::uint32_t partition, ByteView bytes, std::uint32_t records) override {
    WEFT_ASSERT(fd_.valid() && partition < sizes_.size());
    if (bytes.empty() && records == 0) return {};
    return timed(time_, [&] {
      index_.push_back({.partition = partition,
                        .records = records,
                        .offset = flushed_ + used_,
                        .length = bytes.size(),
                        .crc32c = crc32c(bytes),
                        .zero = 0});
      sizes_[partition].bytes += bytes.size();
      sizes_[partition].records += records;
      return store(bytes);
    });
  }

  Result<SealedSegment> seal() override {
    WEFT_ASSERT(fd_.valid());
    WEFT_TRY(timed(time_, [&] { return write_index(); }));
    return SealedSegment{std::move(fd_), flushed_, std::move(sizes_), {}, time_};
  }

  std::uint64_t bytes() const override { return flushed_ + used_; }

 private:
  Result<void> write_index() {
    sort_index();
    const ByteView index{reinterpret_cast<const std::byte*>(index_.data()), index_.size() * sizeof(format::IndexEntry)};
    const auto footer = format::footer_of({.partitions = static_cast<std::uint32_t>(sizes_.size())}, flushed_ + used_, index);
    WEFT_TRY(store(index));
    WEFT_TRY(store({reinterpret_cast<const std::byte*>(&footer), sizeof footer}));
    WEFT_TRY(flush({}));
    return protect();
  }

  Result<void> store(ByteView bytes) {
    if (bytes.size() >= kDirectBytes) return flush(bytes);
    if (used_ + bytes.size() > buffer_.size()) WEFT_TRY(flush({}));
    if (!bytes.empty()) std::memcpy(buffer_.data() + used_, bytes.data(), bytes.size());
    used_ += bytes.size();
    return {};
  }

  /// Writes the buffer and then `tail`, in one call where the kernel takes it all.
  Result<void> flush(ByteView tail) {
    ByteView head{buffer_.data(), used_};
    if (!on_disk_ && flushed_ + head.size() + tail.size() > memory_.bytes) WEFT_TRY(move_to_disk());
    while (!head.empty() || !tail.empty()) {
      iovec parts[2] = {{const_cast<std::byte*>(head.data()), head.size()}, {const_cast<std::byte*>(tail.data()), tail.size()}};
      const ssize_t written = head.empty() ? ::writev(fd_.get(), parts + 1, 1) : ::writev(fd_.get(), parts, 2);
      if (written < 0) {
        if (errno == EINTR) continue;
        return fail(cannot_write(errno));
      }
      auto count = static_cast<std::size_t>(written);
      flushed_ += count;
      const std::size_t from_head = std::min(count, head.size());
      head = head.subspan(from_head);
      tail = tail.subspan(count - from_head);
    }
    used_ = 0;
    return {};
  }

  Result<void> move_to_disk() {
    WEFT_ASSIGN(Fd file, unlinked_file(memory_.directory));
    off_t offset = 0;
    while (static_cast<std::uint64_t>(offset) < flushed_) {
      const ssize_t sent = ::sendfile(file.get(), fd_.get(), &offset, flushed_ - static_cast<std::uint64_t>(offset));
      if (sent < 0 && errno == EINTR) continue;
      if (sent < 0) {
        on_disk_ = true;
        return fail(cannot_write(errno));
      }
      if (sent == 0) return fail(Code::internal, "map output in memory is shorter than what was written to it");
    }
    fd_ = std::move(file);
    on_disk_ = true;
    return {};
  }

  Error cannot_write(int code) const {
    if (!on_disk_) return errno_error("map output: cannot write it to memory", code);
    return errno_error("map output: it may use " + std::to_string(memory_.bytes) + " bytes of memory, and cannot be written to " +
                           memory_.directory,
                       code);
  }

  /// Extents of a partition stay in the order of writing.
  void sort_index() {
    std::stable_sort(index_.begin(), index_.end(),
                     [](const format::IndexEntry& a, const format::IndexEntry& b) { return a.partition < b.partition; });
  }

  Result<void> protect() {
    if (on_disk_) return {};
    if (::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0)
      return fail(errno_error("sealing map output", errno));
    return {};
  }

  Fd fd_;
  const SegmentMemory memory_;
  bool on_disk_;
  Buffer buffer_;
  std::size_t used_ = 0;
  std::uint64_t flushed_ = 0;
  std::vector<format::IndexEntry> index_;
  std::vector<PartitionSize> sizes_;
  Duration time_{0};  // spent in append() and seal()
};

Result<std::unique_ptr<SegmentWriter>> start(Fd fd, std::uint32_t partitions, SegmentMemory memory) {
  WEFT_TRY(detail::check_partitions(partitions));
  return std::make_unique<Writer>(std::move(fd), partitions, std::move(memory));
}

}  // namespace

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::in_memory(std::uint32_t partitions, SegmentMemory memory) {
  Fd fd(::memfd_create("weft-segment", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return fail(errno_error("creating map output in memory", errno));
  return start(std::move(fd), partitions, std::move(memory));
}

Result<std::unique_ptr<SegmentWriter>> SegmentWriter::on_disk(const std::string& directory, std::uint32_t partitions) {
  WEFT_ASSIGN(Fd fd, unlinked_file(directory));
  return start(std::move(fd), partitions, {0, directory});
}

namespace detail {

Result<void> check_partitions(std::uint32_t partitions) {
  if (partitions != 0 && partitions <= format::kMaxPartitions) return {};
  return fail(Code::invalid_argument, "a shuffle has 1 to 16777216 partitions, not " + std::to_string(partitions));
}

}  // namespace detail
}  // namespace weft::shuffle
