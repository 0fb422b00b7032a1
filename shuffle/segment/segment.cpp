#include "shuffle/segment/segment.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/assert.hpp"
#include "base/crc32c.hpp"
#include "base/file.hpp"
#include "base/mapped.hpp"
#include "base/unlinked_file.hpp"
#include "shuffle/segment/segment_format.hpp"

namespace weft::shuffle {
namespace {

tl::unexpected<Error> damaged(const char* what) { return fail(Code::corrupt, std::string("damaged map output: ") + what); }

tl::unexpected<Error> mismatch(const Extent& extent) {
  return damaged(("checksum mismatch in an extent of partition " + std::to_string(extent.partition)).c_str());
}

constexpr const char* kUnreadable = "its disk does not deliver it";

/// Of mapped bytes: of a file they may be missing.
std::optional<std::uint32_t> checksum(ByteView bytes, SegmentHome home) {
  return home == SegmentHome::file ? crc32c_of_mapped(bytes) : crc32c(bytes);
}

/// Pages that its writer reserved and did not need may follow the extents. Those of a program that means harm would become memory,
/// or space on disk, of whoever reads or moves them.
std::uint64_t most_bytes_of(const struct stat& memory) {
  constexpr std::uint64_t kBlock = 512, kReserve = 64u << 20;  // the unit of st_blocks, and what any may have
  return 4 * static_cast<std::uint64_t>(memory.st_blocks) * kBlock + kReserve;
}

/// A mapped file and its index.
class Contents {
 public:
  Contents(const std::byte* data, std::uint64_t size, SegmentHome home) : data_(data), size_(size), home_(home) {}
  ~Contents() { ::munmap(const_cast<std::byte*>(data_), size_); }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  /// Called once, before the segment is shared.
  Result<void> load() {
    WEFT_ASSIGN(const auto footer, read_footer());
    return read_index(footer);
  }

  std::uint32_t partitions() const { return partitions_; }
  SegmentHome home() const { return home_; }
  ByteView file() const { return {data_, size_}; }
  ByteView bytes(const Extent& extent) const { return {data_ + extent.offset, extent.length}; }
  std::span<const Extent> extents(std::uint32_t partition) const { return extents_of(extents_, partition); }

  void forget(const Extent& extent) const {
    constexpr std::uint64_t kAround = 64u << 10;  // a fault maps the cached pages around it, too
    const std::uint64_t from = extent.offset / kAround * kAround;
    const std::uint64_t to = std::min(size_, (extent.offset + extent.length + kAround - 1) / kAround * kAround);
    ::madvise(const_cast<std::byte*>(data_) + from, to - from, MADV_DONTNEED);
  }

 private:
  Result<format::Footer> read_footer() {
    format::Header header;
    if (!read(data_, header)) return damaged(kUnreadable);
    if (header.magic != format::kMagic) return damaged("not a segment");
    if (header.version != format::kVersion)
      return fail(Code::version_mismatch, "map output has format version " + std::to_string(header.version) +
                                              ", this program reads " + std::to_string(format::kVersion));
    format::Footer footer;
    if (!read(data_ + size_ - sizeof footer, footer)) return damaged(kUnreadable);
    if (footer.magic != format::kMagic) return damaged("the footer is missing");
    const std::uint32_t begin = crc32c({reinterpret_cast<const std::byte*>(&header), sizeof header});
    const std::uint32_t crc = crc32c({reinterpret_cast<const std::byte*>(&footer), offsetof(format::Footer, header_crc32c)}, begin);
    if (crc != footer.header_crc32c) return damaged("the footer's checksum is wrong");
    if (header.partitions == 0 || header.partitions > format::kMaxPartitions) return damaged("impossible partition count");
    partitions_ = header.partitions;
    return footer;
  }

  Result<void> read_index(const format::Footer& footer) {
    const std::uint64_t end = size_ - sizeof footer;
    constexpr std::uint64_t kMostIndex = std::uint64_t{1} << 30;
    if (end - std::min(end, footer.index_offset) > kMostIndex) return damaged("the index is larger than 1 GiB");
    if (footer.index_offset < sizeof(format::Header) || footer.index_offset > end ||
        (end - footer.index_offset) % sizeof(format::IndexEntry) != 0 ||
        (end - footer.index_offset) / sizeof(format::IndexEntry) != footer.index_entries)
      return damaged("the index has an impossible size");
    ByteView index{data_ + footer.index_offset, end - footer.index_offset};
    Buffer copy;
    if (home_ == SegmentHome::file) {
      copy = Buffer(index.size());
      if (!copy_mapped(index, copy.data())) return damaged(kUnreadable);
      index = copy.view();
    }
    if (crc32c(index) != footer.index_crc32c) return damaged("the index's checksum is wrong");
    extents_.reserve(footer.index_entries);
    std::uint64_t left = footer.index_offset - sizeof(format::Header);  // extents do not overlap
    for (std::size_t at = 0; at < index.size(); at += sizeof(format::IndexEntry)) {
      format::IndexEntry entry;
      std::memcpy(&entry, index.data() + at, sizeof entry);
      if (!plausible(entry, footer.index_offset) || entry.length > left) return damaged("the index has an impossible entry");
      left -= entry.length;
      extents_.push_back({entry.partition, entry.records, entry.offset, entry.length, entry.crc32c});
    }
    return {};
  }

  /// False: its disk does not deliver it, or whoever wrote the file has cut it off.
  template <class Struct>
  bool read(const std::byte* at, Struct& into) const {
    if (home_ == SegmentHome::file) return copy_mapped({at, sizeof into}, reinterpret_cast<std::byte*>(&into));
    std::memcpy(&into, at, sizeof into);
    return true;
  }

  bool plausible(const format::IndexEntry& entry, std::uint64_t end) const {
    return entry.partition < partitions_ && entry.offset >= sizeof(format::Header) && entry.offset <= end &&
           entry.length <= end - entry.offset && (extents_.empty() || extents_.back().partition <= entry.partition);
  }

  const std::byte* const data_;
  const std::uint64_t size_;
  const SegmentHome home_;
  std::uint32_t partitions_ = 0;
  std::vector<Extent> extents_;  // by partition
};

class Mapped final : public Segment {
 public:
  Mapped(Fd fd, std::shared_ptr<const Contents> contents) : fd_(std::move(fd)), contents_(std::move(contents)) {}

  std::uint32_t partitions() const override { return contents_->partitions(); }
  std::uint64_t size() const override { return contents_->file().size(); }
  int fd() const override { return fd_.get(); }
  std::shared_ptr<const Segment> without_descriptor() const override { return std::make_shared<Mapped>(Fd(), contents_); }

  std::span<const Extent> extents(std::uint32_t partition) const override {
    WEFT_ASSERT(partition < partitions());
    return contents_->extents(partition);
  }
  ByteView bytes(const Extent& extent) const override { return contents_->bytes(extent); }
  SegmentHome home() const override { return contents_->home(); }
  ByteView file() const override { return contents_->file(); }

  Result<Fd> to_file(const std::string& directory) const override {
    WEFT_ASSIGN(Fd file, unlinked_file(directory));
    WEFT_TRY(write_all(file.get(), contents_->file()));
    return file;
  }

  void forget(const Extent& extent) const override { contents_->forget(extent); }

 private:
  const Fd fd_;
  const std::shared_ptr<const Contents> contents_;
};

}  // namespace

bool is_sealed_memory(int fd) {
  const int seals = ::fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0;
}

Result<std::shared_ptr<const Segment>> Segment::open(Fd fd) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail(errno_error("opening map output", errno));
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || size < sizeof(format::Header) + sizeof(format::Footer)) return damaged("it is too short");
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return fail(errno_error("mapping map output", errno));
  const SegmentHome home = is_sealed_memory(fd.get()) ? SegmentHome::memory : SegmentHome::file;
  if (home == SegmentHome::memory && size > most_bytes_of(info)) {
    ::munmap(data, size);
    return damaged("most of it was never written");
  }
  const auto contents = std::make_shared<Contents>(static_cast<const std::byte*>(data), size, home);
  WEFT_TRY(contents->load());
  return std::make_shared<Mapped>(std::move(fd), contents);
}

Result<std::shared_ptr<const Segment>> Segment::map(Fd fd) {
  WEFT_ASSIGN(const auto segment, open(std::move(fd)));
  return segment->without_descriptor();
}

std::span<const Extent> extents_of(std::span<const Extent> all, std::uint32_t partition) {
  if (partition < all.size() && all[partition].partition == partition) {  // as where every partition has one: no search
    std::size_t first = partition, last = partition + 1;
    while (first > 0 && all[first - 1].partition == partition) --first;
    while (last < all.size() && all[last].partition == partition) ++last;
    return all.subspan(first, last - first);
  }
  struct Before {
    bool operator()(const Extent& extent, std::uint32_t number) const { return extent.partition < number; }
    bool operator()(std::uint32_t number, const Extent& extent) const { return number < extent.partition; }
  };
  const auto [first, last] = std::equal_range(all.begin(), all.end(), partition, Before());
  return {first, last};
}

format::Footer format::footer_of(const Header& header, std::uint64_t index_offset, ByteView index) {
  Footer footer;
  footer.index_offset = index_offset;
  footer.index_entries = index.size() / sizeof(IndexEntry);
  footer.index_crc32c = crc32c(index);
  const std::uint32_t of_header = crc32c({reinterpret_cast<const std::byte*>(&header), sizeof header});
  footer.header_crc32c = crc32c({reinterpret_cast<const std::byte*>(&footer), offsetof(Footer, header_crc32c)}, of_header);
  return footer;
}

Result<void> verify(ByteView bytes, const Extent& extent) {
  if (bytes.size() == extent.length && crc32c(bytes) == extent.crc32c) return {};
  return mismatch(extent);
}

Result<ByteView> verified(const Segment& segment, const Extent& extent) {
  const ByteView bytes = segment.bytes(extent);
  if (segment.home() == SegmentHome::process) return bytes;
  const auto crc = checksum(bytes, segment.home());
  if (!crc) return damaged(kUnreadable);
  if (*crc != extent.crc32c) return mismatch(extent);
  return bytes;
}

Result<Buffer> verified_copy(const Segment& segment, const Extent& extent) {
  WEFT_ASSIGN(Buffer copy, readable_copy(segment, segment.bytes(extent)));
  if (segment.home() != SegmentHome::process && crc32c(copy.view()) != extent.crc32c) return mismatch(extent);
  return copy;
}

Result<void> check_readable(const Segment& segment, ByteView bytes) {
  if (checksum(bytes, segment.home())) return {};
  return damaged(kUnreadable);
}

Result<Buffer> readable_copy(const Segment& segment, ByteView bytes) {
  if (segment.home() != SegmentHome::file) return Buffer::copy_of(bytes);
  Buffer copy(bytes.size());
  if (!copy_mapped(bytes, copy.data())) return damaged(kUnreadable);
  return copy;
}

}  // namespace weft::shuffle
