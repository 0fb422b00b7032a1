// bzip2. Blocks begin at any bit with a number of 48 bits, so a reader can begin in the middle of a file: each block is handed to
// the library as a stream of its own, as bzip2recover does.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include <bzlib.h>

#include "base/assert.hpp"
#include "storage/compression/bzip2_reader.hpp"

namespace weft::storage {
namespace {

constexpr std::uint64_t kBlockMagic = 0x314159265359, kEndMagic = 0x177245385090, kMagicMask = 0xffff'ffff'ffff;
constexpr std::size_t kMagicBits = 48, kChecksumBits = 32, kStreamHeaderBytes = 4;
constexpr std::size_t kLargestBzip2Block = 2u << 20;  // a block holds 900,000 bytes, which grow by a hundredth at worst
constexpr std::size_t kSearchBytes = 64u << 10;

/// For a byte of a file: whether it may be the fourth byte in which one of the two numbers lies, at some bit.
constexpr std::array<bool, 256> possible_bytes() {
  std::array<bool, 256> possible{};
  for (const std::uint64_t magic : {kBlockMagic, kEndMagic})
    for (unsigned shift = 1; shift <= 8; ++shift) possible[(magic << shift >> 24) & 0xff] = true;
  return possible;
}
constexpr std::array<bool, 256> kPossible = possible_bytes();

std::uint64_t byte_at(ByteView bytes, std::size_t at) { return at < bytes.size() ? static_cast<std::uint64_t>(bytes[at]) : 0; }

/// Up to 56 bits from a bit on; zeros behind the end.
std::uint64_t bits_at(ByteView bytes, std::size_t bit, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value = value << 8 | byte_at(bytes, bit / 8 + i);
  return value << (bit % 8) >> (64 - count);
}

struct BlockMark {
  std::size_t bit = 0;
  bool block = false;  // else the end of a stream
};

/// The first of the two numbers that begins at bit `from` or behind it and lies in `bytes` whole.
std::optional<BlockMark> find_mark(ByteView bytes, std::size_t from) {
  for (std::size_t at = from / 8; at + 6 <= bytes.size(); ++at) {
    if (!kPossible[static_cast<std::size_t>(bytes[at + 3])]) continue;
    const std::uint64_t around = bits_at(bytes, 8 * at, 56);
    for (std::size_t shift = 0; shift < 8 && 8 * at + shift + kMagicBits <= 8 * bytes.size(); ++shift) {
      const std::uint64_t number = around >> (8 - shift) & kMagicMask;
      if (8 * at + shift >= from && (number == kBlockMagic || number == kEndMagic))
        return BlockMark{8 * at + shift, number == kBlockMagic};
    }
  }
  return std::nullopt;
}

/// Appends bits, the highest first.
class BitWriter {
 public:
  explicit BitWriter(std::vector<std::byte>& bytes) : bytes_(bytes) {}
  void put(std::uint64_t value, std::size_t count) {
    while (count-- > 0) {
      open_ = static_cast<unsigned char>(std::uint64_t{open_} << 1 | (value >> count & 1));
      if (++used_ == 8) flush();
    }
  }
  void copy(ByteView from, std::size_t bit, std::size_t count) {
    WEFT_ASSERT(used_ == 0);
    const std::size_t shift = bit % 8, whole = count / 8;
    for (std::size_t at = bit / 8; at < bit / 8 + whole; ++at)
      bytes_.push_back(static_cast<std::byte>(byte_at(from, at) << shift | byte_at(from, at + 1) >> (8 - shift)));
    if (count % 8 != 0) put(bits_at(from, bit + 8 * whole, count % 8), count % 8);
  }
  void finish() {
    while (used_ != 0) put(0, 1);
  }

 private:
  void flush() {
    bytes_.push_back(std::byte{open_});
    open_ = 0;
    used_ = 0;
  }
  std::vector<std::byte>& bytes_;
  unsigned char open_ = 0;
  unsigned used_ = 0;
};

}  // namespace

struct Bzip2Reader::Library {
  bz_stream stream{};
  bool ready = false;

  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() { end(); }
  void end() {
    if (std::exchange(ready, false)) BZ2_bzDecompressEnd(&stream);
  }
  Result<void> begin(std::vector<std::byte>& bytes) {
    end();
    stream = {};
    if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK)
      return fail(Code::resource_exhausted, "there is no memory to decompress bzip2");
    ready = true;
    stream.next_in = reinterpret_cast<char*>(bytes.data());
    stream.avail_in = static_cast<unsigned>(bytes.size());
    return {};
  }
};

Bzip2Reader::Bzip2Reader(InputFile& file, std::uint64_t begin, std::uint64_t end)
    : input_(file, kLargestBzip2Block + kSearchBytes),
      begin_(begin),
      end_(std::min(end, file.size())),
      library_(std::make_unique<Library>()) {}
Bzip2Reader::~Bzip2Reader() = default;

/// The first block whose first bit is in the bytes [from, limit).
Result<std::optional<std::uint64_t>> Bzip2Reader::find_block(std::uint64_t from, std::uint64_t limit) const {
  InputBuffer bytes(input_.file(), kSearchBytes);
  bytes.seek(from);
  while (bytes.offset() < limit) {
    WEFT_TRY(bytes.hold(kSearchBytes));
    for (auto mark = find_mark(bytes.view(), 0); mark; mark = find_mark(bytes.view(), mark->bit + 1)) {
      const std::uint64_t bit = 8 * bytes.offset() + mark->bit;
      if (bit >= 8 * limit) return std::nullopt;
      if (mark->block) return bit;
    }
    if (bytes.view().size() < kSearchBytes) break;
    bytes.consume(kSearchBytes - 6);
  }
  return std::nullopt;
}

Result<void> Bzip2Reader::start() {
  if (begin_ == 0) return start_stream();
  WEFT_ASSIGN(const auto first, find_block(begin_, end_));
  if (!first) {
    over_ = true;
    return {};
  }
  checks_stream_ = false;
  return go_to(*first);
}

Result<void> Bzip2Reader::go_to(std::uint64_t bit) {
  const std::uint64_t here = input_.offset(), byte = bit / 8;
  if (byte >= here && byte - here <= input_.view().size())
    input_.consume(static_cast<std::size_t>(byte - here));
  else
    input_.seek(byte);
  bit_ = static_cast<unsigned>(bit % 8);
  return {};
}

/// At the header of a stream, or at the end of the file.
Result<void> Bzip2Reader::start_stream() {
  WEFT_TRY(input_.hold(kStreamHeaderBytes + 6));
  const std::string_view head = input_.text();
  if (head.empty()) {
    over_ = true;
    return {};
  }
  if (head.size() < kStreamHeaderBytes || !head.starts_with("BZh") || head[3] < '1' || head[3] > '9')
    return fail(damaged(input_.file(), input_.offset(), "no bzip2 stream begins here, and the file does not end"));
  input_.consume(kStreamHeaderBytes);
  bit_ = 0;
  checks_stream_ = true;
  stream_checksum_ = 0;
  return {};
}

/// Behind the last block of a stream: its checksum, and what follows.
Result<void> Bzip2Reader::finish_stream() {
  WEFT_TRY(input_.hold(16));
  const std::size_t bits = bit_ + kMagicBits + kChecksumBits;
  if (8 * input_.view().size() < bits) return fail(truncated(input_.file(), "bzip2 stream that ends", input_.offset()));
  const auto stored = static_cast<std::uint32_t>(bits_at(input_.view(), bit_ + kMagicBits, kChecksumBits));
  if (checks_stream_ && stored != stream_checksum_)
    return fail(damaged(input_.file(), input_.offset(), "the checksum of the bzip2 stream that ends here is wrong"));
  input_.consume((bits + 7) / 8);
  WEFT_TRY(input_.skip_zeros());
  return start_stream();
}

/// Gives the block at the bit to the library; nothing is given at the end of a stream.
Result<void> Bzip2Reader::start_block() {
  WEFT_TRY(input_.hold(kSearchBytes));
  const std::uint64_t number = bits_at(input_.view(), bit_, kMagicBits);
  const std::uint64_t at = 8 * input_.offset() + bit_;
  if (8 * input_.view().size() < bit_ + kMagicBits) return fail(truncated(input_.file(), "bzip2 stream that goes on", at / 8));
  if (number == kEndMagic) return finish_stream();
  if (number != kBlockMagic) return fail(damaged(input_.file(), at / 8, "no bzip2 block begins here"));
  // The reader of the next split begins here, too: both go by the same numbers, and by nothing else.
  past_end_ = past_end_ || at >= 8 * end_;
  block_bits_ = kMagicBits + kChecksumBits;
  gave_ = false;
  in_block_ = true;
  return extend_block();
}

/// Up to the next of the numbers. They may occur in a block by chance: then the block is longer.
Result<void> Bzip2Reader::extend_block() {
  std::size_t searched = bit_ + block_bits_;
  while (true) {
    if (const auto mark = find_mark(input_.view(), searched)) {
      block_bits_ = mark->bit - bit_;
      break;
    }
    const std::size_t looked_at = 8 * input_.view().size();
    searched = std::max(searched, looked_at < kMagicBits ? 0 : looked_at - kMagicBits + 1);
    if (input_.full()) return fail(damaged(input_.file(), input_.offset(), "the bzip2 block that begins here does not end"));
    WEFT_ASSIGN(const bool more, input_.more());
    if (!more) return fail(truncated(input_.file(), "bzip2 block", input_.offset()));
  }
  stream_.clear();
  BitWriter out(stream_);
  for (const char c : std::string_view("BZh9")) out.put(static_cast<unsigned char>(c), 8);
  out.copy(input_.view(), bit_, block_bits_);
  out.put(kEndMagic, kMagicBits);
  out.put(bits_at(input_.view(), bit_ + kMagicBits, kChecksumBits), kChecksumBits);  // of one block
  out.finish();
  block_bits_ += 1;  // where to look further when this is no block yet
  return library_->begin(stream_);
}

void Bzip2Reader::finish_block() {
  const auto checksum = static_cast<std::uint32_t>(bits_at(input_.view(), bit_ + kMagicBits, kChecksumBits));
  stream_checksum_ = std::rotl(stream_checksum_, 1) ^ checksum;
  const std::size_t behind = bit_ + block_bits_ - 1;
  input_.consume(behind / 8);
  bit_ = static_cast<unsigned>(behind % 8);
  in_block_ = false;
}

Result<std::size_t> Bzip2Reader::read(MutableBytes into) {
  while (!over_) {
    if (!in_block_) {
      WEFT_TRY(start_block());
      continue;
    }
    const auto room = static_cast<unsigned>(std::min<std::size_t>(into.size(), std::numeric_limits<unsigned>::max()));
    bz_stream& stream = library_->stream;
    stream.next_out = reinterpret_cast<char*>(into.data());
    stream.avail_out = room;
    const unsigned had = stream.avail_in;
    const int code = BZ2_bzDecompress(&stream);
    const std::size_t produced = room - stream.avail_out;
    if (code == BZ_STREAM_END) {
      finish_block();
    } else if (code == BZ_MEM_ERROR) {
      return fail(Code::resource_exhausted, "there is no memory to decompress bzip2");
    } else if (code != BZ_OK || (produced == 0 && stream.avail_in == had)) {
      if (gave_ || produced != 0)
        return fail(damaged(input_.file(), input_.offset(), "the checksum of the bzip2 block that begins here is wrong"));
      WEFT_TRY(extend_block());
      continue;
    }
    gave_ = gave_ || produced != 0;
    if (produced != 0) return produced;
  }
  return 0;
}

}  // namespace weft::storage
