// xz: streams of LZMA2, padded with zeros.
#include <lzma.h>

#include "storage/compression/frame_codec.hpp"

namespace weft::storage {
namespace {

constexpr std::uint64_t kLargestDictionary = 130u << 20;  // with what the decoder takes besides; xz -9 asks for 64 MiB

std::string words_of_xz(lzma_ret code) {
  switch (code) {
    case LZMA_MEMLIMIT_ERROR:
      return "its dictionary is larger than 128 MiB; compress it again with a smaller one";
    case LZMA_FORMAT_ERROR:
      return "this is no xz stream";
    case LZMA_OPTIONS_ERROR:
      return "it is compressed with options that this version of liblzma does not know";
    case LZMA_MEM_ERROR:
      return "there is no memory to decompress it";
    default:
      return "the compressed data is corrupt";
  }
}

class XzCodec final : public FrameCodec {
 public:
  XzCodec() = default;
  XzCodec(const XzCodec&) = delete;
  XzCodec& operator=(const XzCodec&) = delete;
  ~XzCodec() override { lzma_end(&stream_); }

  std::string_view noun() const override { return "xz stream"; }
  Result<void> begin() override {
    if (lzma_stream_decoder(&stream_, kLargestDictionary, 0) == LZMA_OK) return {};
    return fail(Code::resource_exhausted, "there is no memory to decompress xz");
  }
  Step step(ByteView in, MutableBytes out) override {
    stream_.next_in = reinterpret_cast<const std::uint8_t*>(in.data());
    stream_.avail_in = in.size();
    stream_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
    stream_.avail_out = out.size();
    const lzma_ret code = lzma_code(&stream_, LZMA_RUN);
    Step step{.consumed = in.size() - stream_.avail_in,
              .produced = out.size() - stream_.avail_out,
              .ended = code == LZMA_STREAM_END,
              .fault = {}};
    if (code != LZMA_OK && code != LZMA_STREAM_END && code != LZMA_BUF_ERROR) step.fault = words_of_xz(code);
    return step;
  }
  FrameKind kind(std::string_view head) const override { return head.starts_with(kXzMagic) ? FrameKind::block : FrameKind::none; }
  std::size_t padding_unit() const override { return 4; }  // "the decoder MUST indicate an error" (.xz format, 2.2)

 private:
  lzma_stream stream_ = LZMA_STREAM_INIT;
};

}  // namespace

std::unique_ptr<FrameCodec> xz_codec() { return std::make_unique<XzCodec>(); }

}  // namespace weft::storage
