// Zstandard (RFC 8878).
#include <array>

#include <zstd.h>
#include <zstd_errors.h>

#include "storage/compression/compressor.hpp"
#include "storage/compression/frame_codec.hpp"

namespace weft::storage {
namespace {

constexpr int kLargestWindowLog = 27;  // 128 MiB
constexpr std::uint64_t kLargestZstdBlock = 128u << 10;

/// Bytes of the header of the frame that begins with these; 0 when there is no such header.
std::size_t zstd_header_bytes(std::string_view bytes) {
  if (bytes.size() < 5 || !bytes.starts_with(kZstdMagic)) return 0;
  const auto flags = static_cast<unsigned char>(bytes[4]);
  if ((flags & 0x08) != 0) return 0;  // reserved
  const bool single = (flags & 0x20) != 0;
  constexpr std::array<std::size_t, 4> kDictionary{0, 1, 2, 4};
  const std::size_t content = flags >> 6 == 0 ? (single ? 1 : 0) : std::size_t{1} << (flags >> 6);
  return 5 + (single ? 0 : 1) + kDictionary[flags & 3] + content;
}

class ZstdCodec final : public FrameCodec {
 public:
  std::string_view noun() const override { return "zstd frame"; }
  Result<void> begin() override {
    if (!context_) context_.reset(ZSTD_createDCtx());
    if (!context_) return fail(Code::resource_exhausted, "there is no memory to decompress zstd");
    ZSTD_DCtx_reset(context_.get(), ZSTD_reset_session_only);
    ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, kLargestWindowLog);
    return {};
  }
  Step step(ByteView in, MutableBytes out) override {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    ZSTD_outBuffer output{out.data(), out.size(), 0};
    const std::size_t left = ZSTD_decompressStream(context_.get(), &output, &input);
    Step step{.consumed = input.pos, .produced = output.pos, .ended = left == 0, .fault = {}};
    if (ZSTD_isError(left) == 0) return step;
    step.ended = false;
    step.fault = ZSTD_getErrorName(left);
    if (ZSTD_getErrorCode(left) == ZSTD_error_frameParameter_windowTooLarge)
      step.fault = "its window is larger than 128 MiB; compress it again without --long or --ultra";
    return step;
  }

  FrameKind kind(std::string_view head) const override {
    if (head.starts_with(kZstdMagic)) return FrameKind::block;
    return is_skippable_frame(head) ? FrameKind::other : FrameKind::none;
  }
  std::string_view magic() const override { return kZstdMagic; }
  Result<FrameExtent> extent(InputFile& file, std::uint64_t at, std::size_t headers) const override {
    std::array<std::byte, kFrameHead> bytes;
    WEFT_ASSIGN(const std::string_view head, peek(file, at, bytes));
    if (is_skippable_frame(head)) return FrameExtent{.valid = true, .end = at + skippable_bytes(head)};
    const std::size_t size = zstd_header_bytes(head);
    if (size == 0) return FrameExtent{};
    const bool has_checksum = (head[4] & 0x04) != 0;
    for (at += size; headers > 0; --headers) {
      std::array<std::byte, 3> three;
      WEFT_ASSIGN(const std::string_view block, peek(file, at, three));
      if (block.size() < three.size()) break;  // truncated: its reader reports that
      const std::uint64_t header = little_endian(block), type = header >> 1 & 3, length = header >> 3;
      if (type == 3 || length > kLargestZstdBlock) return FrameExtent{};
      at += three.size() + (type == 1 ? 1 : length);
      if ((header & 1) != 0) return FrameExtent{.valid = true, .end = at + (has_checksum ? 4 : 0)};
    }
    return FrameExtent{.valid = true};
  }

 private:
  struct Free {
    void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
  };
  std::unique_ptr<ZSTD_DCtx, Free> context_;
};

class ZstdCompressor final : public Compressor {
 public:
  std::size_t block_bytes() const override { return 4u << 20; }
  Result<void> compress(ByteView text, std::string& out) override {
    if (!context_) context_.reset(ZSTD_createCCtx());
    if (!context_) return fail(Code::resource_exhausted, "there is no memory to compress by zstd");
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
    const std::size_t begin = out.size();
    out.resize(begin + ZSTD_compressBound(text.size()));
    const std::size_t size = ZSTD_compress2(context_.get(), out.data() + begin, out.size() - begin, text.data(), text.size());
    if (ZSTD_isError(size) != 0) return fail(Code::internal, std::string("zstd cannot compress: ") + ZSTD_getErrorName(size));
    out.resize(begin + size);
    return {};
  }

 private:
  struct Free {
    void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
  };
  std::unique_ptr<ZSTD_CCtx, Free> context_;
};

}  // namespace

std::unique_ptr<Compressor> zstd_compressor() { return std::make_unique<ZstdCompressor>(); }
std::unique_ptr<FrameCodec> zstd_codec() { return std::make_unique<ZstdCodec>(); }

}  // namespace weft::storage
