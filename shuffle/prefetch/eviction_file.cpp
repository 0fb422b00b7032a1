#include "shuffle/prefetch/eviction_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <lz4.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/unlinked_file.hpp"

namespace weft::shuffle {
namespace {

constexpr std::size_t kBufferBytes = 1u << 20;
constexpr std::size_t kLeastToCompress = 512;

/// LZ4 gives up early when the result would be larger than this.
std::size_t most_compressed(std::size_t raw) { return raw - raw / 8; }

/// An extent in a file.
struct Piece {
  std::uint32_t map = 0;  // position in `maps`
  std::uint32_t records = 0;
  std::uint64_t length = 0;  // of the extent
  std::uint64_t stored = 0;  // in the file; the same unless compressed
  std::uint32_t crc32c = 0;  // of the extent's bytes
};

/// Gathers what is written.
class Writer {
 public:
  explicit Writer(int fd) : fd_(fd), buffer_(kBufferBytes) {}

  /// The number of bytes that it takes in the file.
  Result<std::uint64_t> store(ByteView bytes) {
    if (bytes.size() >= kLeastToCompress && bytes.size() <= LZ4_MAX_INPUT_SIZE) {
      const std::size_t most = most_compressed(bytes.size());
      if (scratch_.size() < most) scratch_ = Buffer(most);
      const int size = LZ4_compress_default(reinterpret_cast<const char*>(bytes.data()), reinterpret_cast<char*>(scratch_.data()),
                                            static_cast<int>(bytes.size()), static_cast<int>(most));
      if (size > 0) bytes = {scratch_.data(), static_cast<std::size_t>(size)};
    }
    if (used_ + bytes.size() > buffer_.size()) WEFT_TRY(flush());
    if (bytes.size() > buffer_.size()) {
      WEFT_TRY(write_all(fd_, bytes));
    } else if (!bytes.empty()) {
      std::memcpy(buffer_.data() + used_, bytes.data(), bytes.size());
      used_ += bytes.size();
    }
    return bytes.size();
  }
  Result<void> flush() {
    WEFT_TRY(write_all(fd_, {buffer_.data(), used_}));
    used_ = 0;
    return {};
  }

 private:
  const int fd_;
  Buffer buffer_, scratch_;
  std::size_t used_ = 0;
};

/// Reads from the front to the back.
class Reader {
 public:
  explicit Reader(int fd) : fd_(fd) {}

  /// The next bytes, until the next call. corrupt when the file ends before.
  Result<ByteView> next(std::size_t bytes) {
    if (bytes > have_ - at_) WEFT_TRY(fill(bytes));
    const ByteView view{buffer_.data() + at_, bytes};
    at_ += bytes;
    return view;
  }
  /// The next extent, until the next call.
  Result<ByteView> extent(const Piece& piece) {
    WEFT_ASSIGN(const ByteView stored, next(piece.stored));
    if (piece.stored == piece.length) return stored;
    if (scratch_.size() < piece.length) scratch_ = Buffer(piece.length);
    const int size = LZ4_decompress_safe(reinterpret_cast<const char*>(stored.data()), reinterpret_cast<char*>(scratch_.data()),
                                         static_cast<int>(stored.size()), static_cast<int>(piece.length));
    if (size < 0 || static_cast<std::uint64_t>(size) != piece.length) return fail(Code::corrupt, "compressed bytes are no LZ4");
    return ByteView{scratch_.data(), piece.length};
  }

 private:
  Result<void> fill(std::size_t wanted) {
    const std::size_t rest = have_ - at_;
    Buffer larger(std::max(wanted, kBufferBytes));
    if (rest > 0) std::memcpy(larger.data(), buffer_.data() + at_, rest);
    buffer_ = std::move(larger);
    at_ = 0;
    have_ = rest;
    while (have_ < wanted) {
      const ssize_t got = ::pread(fd_, buffer_.data() + have_, buffer_.size() - have_, static_cast<off_t>(offset_));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail(errno_error("reading blocks back", errno));
      if (got == 0) return fail(Code::corrupt, "the file is too short");
      have_ += static_cast<std::size_t>(got);
      offset_ += static_cast<std::uint64_t>(got);
    }
    return {};
  }

  const int fd_;
  Buffer buffer_, scratch_;
  std::size_t at_ = 0, have_ = 0;
  std::uint64_t offset_ = 0;
};

class UnnamedFile final : public EvictionFile {
 public:
  explicit UnnamedFile(Fd file) : file_(std::move(file)) {}
  Result<void> fill(std::span<const HeldPtr> blocks);
  Result<std::vector<HeldPtr>> read(std::shared_ptr<const SegmentRoom> room) const override;
  bool has(const MapAttempt& map) const override;

 private:
  struct Blocks {
    std::vector<MapAttempt> maps;
    std::vector<Piece> pieces;  // as they follow each other in the file
  };

  const Fd file_;
  std::vector<Blocks> blocks_;
};

Result<void> UnnamedFile::fill(std::span<const HeldPtr> blocks) {
  Writer writer(file_.get());
  for (const HeldPtr& held : blocks) {
    Fd copy(::fcntl(held->blocks.fd.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy.valid()) return fail(errno_error("opening prefetched blocks", errno));
    WEFT_ASSIGN(const auto segment, Segment::open(std::move(copy)));
    Blocks& written = blocks_.emplace_back(Blocks{held->maps, {}});
    for (std::uint32_t map = 0; map < segment->partitions(); ++map) {
      for (const Extent& extent : segment->extents(map)) {
        WEFT_ASSIGN(const std::uint64_t stored, writer.store(segment->bytes(extent)));
        written.pieces.push_back({map, extent.records, extent.length, stored, extent.crc32c});
        file_bytes_ += stored;
      }
    }
    memory_bytes_ += held->blocks.size;
  }
  return writer.flush();
}

Result<std::vector<HeldPtr>> UnnamedFile::read(std::shared_ptr<const SegmentRoom> room) const {
  std::vector<HeldPtr> all;
  Reader reader(file_.get());
  for (const Blocks& blocks : blocks_) {
    WEFT_ASSIGN(const auto writer, SegmentWriter::in_memory(static_cast<std::uint32_t>(blocks.maps.size())));
    for (const Piece& piece : blocks.pieces) {
      WEFT_ASSIGN(const ByteView bytes, reader.extent(piece));
      WEFT_TRY(verify(bytes, {.partition = piece.map, .length = piece.length, .crc32c = piece.crc32c}));
      WEFT_TRY(writer->append(piece.map, bytes, piece.records));
    }
    WEFT_ASSIGN(SealedSegment sealed, writer->seal());
    all.push_back(std::make_shared<const HeldBlocks>(HeldBlocks{std::move(sealed), blocks.maps, room}));
  }
  return all;
}

bool UnnamedFile::has(const MapAttempt& map) const {
  return std::any_of(blocks_.begin(), blocks_.end(), [&](const Blocks& blocks) {
    return std::find(blocks.maps.begin(), blocks.maps.end(), map) != blocks.maps.end();
  });
}

}  // namespace

Result<std::unique_ptr<EvictionFile>> EvictionFile::write(const std::string& directory, std::span<const HeldPtr> blocks) {
  WEFT_ASSIGN(Fd file, unlinked_file(directory));
  auto made = std::make_unique<UnnamedFile>(std::move(file));
  WEFT_TRY(made->fill(blocks));
  return made;
}

}  // namespace weft::shuffle
