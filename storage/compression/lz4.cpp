// LZ4 frames (LZ4 frame format description 1.6).
#include <array>

#include <lz4frame.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "storage/compression/compressor.hpp"
#include "storage/compression/frame_codec.hpp"

namespace weft::storage {
namespace {

/// What the header of a frame says, as far as it is needed to find its end.
struct Lz4Header {
  std::size_t bytes = 0;  // 0: there is no such header
  bool block_checksums = false, content_checksum = false;
  std::uint64_t largest_block = 0;
};

Lz4Header lz4_header(std::string_view bytes) {
  if (bytes.size() < 7 || !bytes.starts_with(kLz4Magic)) return {};
  const auto flags = static_cast<unsigned char>(bytes[4]), sizes = static_cast<unsigned char>(bytes[5]);
  if (flags >> 6 != 1 || (flags & 0x02) != 0 || (sizes & 0x8f) != 0 || sizes >> 4 < 4) return {};
  const std::size_t described = 2u + ((flags & 0x08) != 0 ? 8u : 0u) + ((flags & 0x01) != 0 ? 4u : 0u);
  if (bytes.size() < 4 + described + 1) return {};
  const auto checksum = static_cast<unsigned char>(bytes[4 + described]);
  if (checksum != (XXH32(bytes.data() + 4, described, 0) >> 8 & 0xff)) return {};
  return {4 + described + 1, (flags & 0x10) != 0, (flags & 0x04) != 0, std::uint64_t{1} << (8 + 2 * (sizes >> 4))};
}

class Lz4Codec final : public FrameCodec {
 public:
  std::string_view noun() const override { return "lz4 frame"; }
  Result<void> begin() override {
    LZ4F_dctx* made = context_.get();
    if (made == nullptr && LZ4F_isError(LZ4F_createDecompressionContext(&made, LZ4F_VERSION)) == 0) context_.reset(made);
    if (!context_) return fail(Code::resource_exhausted, "there is no memory to decompress lz4");
    LZ4F_resetDecompressionContext(context_.get());
    return {};
  }
  Step step(ByteView in, MutableBytes out) override {
    std::size_t consumed = in.size(), produced = out.size();
    const std::size_t hint = LZ4F_decompress(context_.get(), out.data(), &produced, in.data(), &consumed, nullptr);
    if (LZ4F_isError(hint) != 0) return {.fault = LZ4F_getErrorName(hint)};
    return {.consumed = consumed, .produced = produced, .ended = hint == 0, .fault = {}};
  }

  FrameKind kind(std::string_view head) const override {
    if (head.starts_with(kLz4Magic)) return FrameKind::block;
    return is_skippable_frame(head) ? FrameKind::other : FrameKind::none;
  }
  std::string_view magic() const override { return kLz4Magic; }
  Result<FrameExtent> extent(InputFile& file, std::uint64_t at, std::size_t headers) const override {
    std::array<std::byte, kFrameHead + 1> bytes;
    WEFT_ASSIGN(const std::string_view head, peek(file, at, bytes));
    if (is_skippable_frame(head)) return FrameExtent{.valid = true, .end = at + skippable_bytes(head)};
    const Lz4Header header = lz4_header(head);
    if (header.bytes == 0) return FrameExtent{};
    for (at += header.bytes; headers > 0; --headers) {
      std::array<std::byte, 4> four;
      WEFT_ASSIGN(const std::string_view block, peek(file, at, four));
      if (block.size() < four.size()) break;  // truncated: its reader reports that
      const std::uint64_t length = little_endian(block) & 0x7fff'ffff;
      at += four.size() + length + (header.block_checksums ? 4 : 0);
      if (little_endian(block) == 0)
        return FrameExtent{.valid = true, .end = at - (header.block_checksums ? 4 : 0) + (header.content_checksum ? 4 : 0)};
      if (length > header.largest_block) return FrameExtent{};
    }
    return FrameExtent{.valid = true};
  }

 private:
  struct Free {
    void operator()(LZ4F_dctx* context) const { LZ4F_freeDecompressionContext(context); }
  };
  std::unique_ptr<LZ4F_dctx, Free> context_;
};

class Lz4Compressor final : public Compressor {
 public:
  std::size_t block_bytes() const override { return 4u << 20; }
  Result<void> compress(ByteView text, std::string& out) override {
    LZ4F_preferences_t preferences{};
    preferences.frameInfo.blockSizeID = LZ4F_max256KB;
    preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
    const std::size_t begin = out.size();
    out.resize(begin + LZ4F_compressFrameBound(text.size(), &preferences));
    const std::size_t size = LZ4F_compressFrame(out.data() + begin, out.size() - begin, text.data(), text.size(), &preferences);
    if (LZ4F_isError(size) != 0) return fail(Code::internal, std::string("lz4 cannot compress: ") + LZ4F_getErrorName(size));
    out.resize(begin + size);
    return {};
  }
};

}  // namespace

std::unique_ptr<Compressor> lz4_compressor() { return std::make_unique<Lz4Compressor>(); }
std::unique_ptr<FrameCodec> lz4_codec() { return std::make_unique<Lz4Codec>(); }

}  // namespace weft::storage
