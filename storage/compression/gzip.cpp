// gzip, and bgzip: gzip in small members, each of which has an extra field "BC" that says how long it is (SAM specification, 4.1).
#include <algorithm>
#include <array>
#include <limits>

#include <zlib.h>

#include "storage/compression/compressor.hpp"
#include "storage/compression/frame_codec.hpp"

namespace weft::storage {
namespace {

constexpr std::size_t kBgzipSizeAt = 16;
// Four bytes of every bgzip member: no comment, name or checksum of the header, but an extra field.
constexpr std::string_view kBgzipMagic{"\x1f\x8b\x08\x04", 4};

class GzipCodec final : public FrameCodec {
 public:
  explicit GzipCodec(bool blocks) : blocks_(blocks) {}
  GzipCodec(const GzipCodec&) = delete;
  GzipCodec& operator=(const GzipCodec&) = delete;
  ~GzipCodec() override {
    if (ready_) inflateEnd(&stream_);
  }

  std::string_view noun() const override { return "gzip member"; }
  Result<void> begin() override {
    constexpr int kWithGzipHeader = 16;
    const int code = ready_ ? inflateReset(&stream_) : inflateInit2(&stream_, MAX_WBITS + kWithGzipHeader);
    if (code != Z_OK) return fail(Code::resource_exhausted, "there is no memory to decompress gzip");
    ready_ = true;
    return {};
  }
  Step step(ByteView in, MutableBytes out) override {
    constexpr std::size_t kMost = std::numeric_limits<uInt>::max();
    const auto given = static_cast<uInt>(std::min(in.size(), kMost)), room = static_cast<uInt>(std::min(out.size(), kMost));
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(in.data()));
    stream_.avail_in = given;
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = room;
    const int code = inflate(&stream_, Z_NO_FLUSH);
    Step step{
        .consumed = given - stream_.avail_in, .produced = room - stream_.avail_out, .ended = code == Z_STREAM_END, .fault = {}};
    if (!step.ended && code != Z_OK && code != Z_BUF_ERROR) step.fault = stream_.msg != nullptr ? stream_.msg : zError(code);
    return step;
  }

  FrameKind kind(std::string_view head) const override {
    if (blocks_ && is_bgzip_member(head)) return FrameKind::block;
    return !head.starts_with(kGzipMagic) ? FrameKind::none : blocks_ ? FrameKind::other : FrameKind::block;
  }
  bool padded() const override { return true; }
  std::string_view magic() const override { return blocks_ ? kBgzipMagic : std::string_view(); }
  Result<FrameExtent> extent(InputFile& file, std::uint64_t at, std::size_t) const override {
    std::array<std::byte, kFrameHead> bytes;
    WEFT_ASSIGN(const std::string_view head, peek(file, at, bytes));
    if (!is_bgzip_member(head)) return FrameExtent{.valid = head.starts_with(kGzipMagic)};
    return FrameExtent{.valid = true, .end = at + little_endian(head.substr(kBgzipSizeAt, 2)) + 1};
  }

 private:
  const bool blocks_;
  bool ready_ = false;
  z_stream stream_{};
};

class GzipCompressor final : public Compressor {
 public:
  GzipCompressor() = default;
  GzipCompressor(const GzipCompressor&) = delete;
  GzipCompressor& operator=(const GzipCompressor&) = delete;
  ~GzipCompressor() override {
    if (ready_) deflateEnd(&stream_);
  }

  std::size_t block_bytes() const override { return 0xff00; }  // which are less than 64 KiB even where they cannot be compressed
  Result<void> compress(ByteView text, std::string& out) override {
    constexpr int kMemory = 8;
    const int code = ready_ ? deflateReset(&stream_)
                            : deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, kMemory, Z_DEFAULT_STRATEGY);
    if (code != Z_OK) return fail(Code::resource_exhausted, "there is no memory to compress by gzip");
    ready_ = true;
    const std::size_t begin = out.size(), header = kFrameHead, trailer = 8;
    out.append(std::string_view("\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\0\0", header));
    out.resize(begin + (1u << 16));
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(text.data()));
    stream_.avail_in = static_cast<uInt>(text.size());
    stream_.next_out = reinterpret_cast<Bytef*>(out.data() + begin + header);
    stream_.avail_out = static_cast<uInt>((1u << 16) - header - trailer);
    if (deflate(&stream_, Z_FINISH) != Z_STREAM_END) return fail(Code::internal, "a block of gzip became longer than 64 KiB");
    out.resize(out.size() - trailer - stream_.avail_out);
    append_number(out, crc32(0, reinterpret_cast<const Bytef*>(text.data()), static_cast<uInt>(text.size())));
    append_number(out, text.size());
    const std::size_t last = out.size() - begin - 1;
    out[begin + kBgzipSizeAt] = static_cast<char>(last & 0xff);
    out[begin + kBgzipSizeAt + 1] = static_cast<char>(last >> 8);
    return {};
  }

 private:
  static void append_number(std::string& out, std::uint64_t number) {
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(number >> shift & 0xff));
  }
  bool ready_ = false;
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<Compressor> gzip_compressor() { return std::make_unique<GzipCompressor>(); }

bool is_bgzip_member(std::string_view bytes) {
  return bytes.size() >= kFrameHead && bytes.starts_with(kBgzipMagic) &&
         bytes.substr(10).starts_with(std::string_view("\x06\0BC\x02\0", 6)) && little_endian(bytes.substr(kBgzipSizeAt, 2)) > 18;
}

std::unique_ptr<FrameCodec> gzip_codec(bool blocks) { return std::make_unique<GzipCodec>(blocks); }

}  // namespace weft::storage
