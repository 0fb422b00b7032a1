#include "shuffle/segment/segment.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/assert.hpp"
#include "base/crc32c.hpp"
#include "base/file.hpp"
#include "base/unlinked_file.hpp"
#include "shuffle/segment/segment_format.hpp"

namespace weft::shuffle {
namespace {

tl::unexpected<Error> damaged(const char* what) { return fail(Code::corrupt, std::string("damaged map output: ") + what); }

class Mapped final : public Segment {
 public:
  Mapped(Fd fd, const std::byte* data, std::uint64_t size) : fd_(std::move(fd)), data_(data), size_(size) {}
  ~Mapped() override { ::munmap(const_cast<std::byte*>(data_), size_); }

  /// Called once, before the segment is shared.
  Result<void> load() {
    WEFT_ASSIGN(const auto footer, read_footer());
    return read_index(footer);
  }

  std::uint32_t partitions() const override { return static_cast<std::uint32_t>(first_.size() - 1); }
  std::uint64_t size() const override { return size_; }
  int fd() const override { return fd_.get(); }

  std::span<const Extent> extents(std::uint32_t partition) const override {
    WEFT_ASSERT(partition < partitions());
    return {extents_.data() + first_[partition], extents_.data() + first_[partition + 1]};
  }
  ByteView bytes(const Extent& extent) const override { return {data_ + extent.offset, extent.length}; }
  SegmentHome home() const override { return home_; }

  ByteView file() const override { return {data_, size_}; }

  Result<Fd> to_file(const std::string& directory) const override {
    WEFT_ASSIGN(Fd file, unlinked_file(directory));
    WEFT_TRY(write_all(file.get(), {data_, size_}));
    return file;
  }

  void forget(const Extent& extent) const override {
    constexpr std::uint64_t kAround = 64u << 10;  // a fault maps the cached pages around it, too
    const std::uint64_t from = extent.offset / kAround * kAround;
    const std::uint64_t to = std::min(size_, (extent.offset + extent.length + kAround - 1) / kAround * kAround);
    ::madvise(const_cast<std::byte*>(data_) + from, to - from, MADV_DONTNEED);
  }

 private:
  Result<format::Footer> read_footer() {
    format::Header header;
    std::memcpy(&header, data_, sizeof header);
    if (header.magic != format::kMagic) return damaged("not a segment");
    if (header.version != format::kVersion)
      return fail(Code::version_mismatch, "map output has format version " + std::to_string(header.version) +
                                              ", this program reads " + std::to_string(format::kVersion));
    format::Footer footer;
    const std::byte* at = data_ + size_ - sizeof footer;
    std::memcpy(&footer, at, sizeof footer);
    if (footer.magic != format::kMagic) return damaged("the footer is missing");
    const std::uint32_t crc = crc32c({at, offsetof(format::Footer, header_crc32c)}, crc32c({data_, sizeof header}));
    if (crc != footer.header_crc32c) return damaged("the footer's checksum is wrong");
    if (header.partitions == 0 || header.partitions > format::kMaxPartitions) return damaged("impossible partition count");
    first_.resize(std::size_t{header.partitions} + 1);
    return footer;
  }

  Result<void> read_index(const format::Footer& footer) {
    const std::uint64_t end = size_ - sizeof footer;
    if (footer.index_offset < sizeof(format::Header) || footer.index_offset > end ||
        (end - footer.index_offset) % sizeof(format::IndexEntry) != 0 ||
        (end - footer.index_offset) / sizeof(format::IndexEntry) != footer.index_entries)
      return damaged("the index has an impossible size");
    const ByteView index{data_ + footer.index_offset, end - footer.index_offset};
    if (crc32c(index) != footer.index_crc32c) return damaged("the index's checksum is wrong");
    extents_.reserve(footer.index_entries);
    for (std::size_t at = 0; at < index.size(); at += sizeof(format::IndexEntry)) {
      format::IndexEntry entry;
      std::memcpy(&entry, index.data() + at, sizeof entry);
      if (!plausible(entry, footer.index_offset)) return damaged("the index has an impossible entry");
      extents_.push_back({entry.partition, entry.records, entry.offset, entry.length, entry.crc32c});
      ++first_[entry.partition + 1];
    }
    for (std::size_t i = 1; i < first_.size(); ++i) first_[i] += first_[i - 1];
    return {};
  }

  bool plausible(const format::IndexEntry& entry, std::uint64_t end) const {
    return entry.partition < partitions() && entry.offset >= sizeof(format::Header) && entry.offset <= end &&
           entry.length <= end - entry.offset && (extents_.empty() || extents_.back().partition <= entry.partition);
  }

  static bool is_sealed_memory(int fd) {
    const int seals = ::fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & (F_SEAL_WRITE | F_SEAL_FUTURE_WRITE)) != 0;
  }

  Fd fd_;
  const SegmentHome home_ = is_sealed_memory(fd_.get()) ? SegmentHome::memory : SegmentHome::file;
  const std::byte* data_;
  std::uint64_t size_;
  std::vector<Extent> extents_;
  std::vector<std::size_t> first_;  // extents of partition p: [first_[p], first_[p + 1])
};

}  // namespace

Result<std::shared_ptr<const Segment>> Segment::open(Fd fd) {
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return fail(errno_error("opening map output", errno));
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || size < sizeof(format::Header) + sizeof(format::Footer)) return damaged("it is too short");
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return fail(errno_error("mapping map output", errno));
  auto segment = std::make_shared<Mapped>(std::move(fd), static_cast<const std::byte*>(data), size);
  WEFT_TRY(segment->load());
  return segment;
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
  return damaged(("checksum mismatch in an extent of partition " + std::to_string(extent.partition)).c_str());
}

}  // namespace weft::shuffle
