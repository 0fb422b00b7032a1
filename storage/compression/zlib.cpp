// Streams of zlib (RFC 1950), which Hadoop's DefaultCodec writes and calls .deflate.
#include <algorithm>
#include <limits>
#include <memory>

#include <zlib.h>

#include "storage/compression/frame_codec.hpp"

namespace weft::storage {
namespace {

/// Whether the two bytes that begin a stream are possible: deflate, a window of at most 32 KiB, a sum that fits.
bool is_zlib_header(std::string_view bytes) {
  if (bytes.size() < 2) return false;
  const auto method = static_cast<unsigned char>(bytes[0]), flags = static_cast<unsigned char>(bytes[1]);
  return (method & 0x0f) == 8 && method >> 4 <= 7 && (256u * method + flags) % 31 == 0;
}

class ZlibCodec final : public FrameCodec {
 public:
  ZlibCodec() = default;
  ZlibCodec(const ZlibCodec&) = delete;
  ZlibCodec& operator=(const ZlibCodec&) = delete;
  ~ZlibCodec() override {
    if (ready_) inflateEnd(&stream_);
  }

  std::string_view noun() const override { return "zlib stream"; }
  Result<void> begin() override {
    const int code = ready_ ? inflateReset(&stream_) : inflateInit(&stream_);
    if (code != Z_OK) return fail(Code::resource_exhausted, "there is no memory to decompress deflate");
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
    if (code == Z_NEED_DICT) step.fault = "it is compressed with a dictionary, which nobody has";
    if (code == Z_MEM_ERROR) step.fault = "there is no memory to decompress it";
    if (code == Z_DATA_ERROR || code == Z_STREAM_ERROR) step.fault = stream_.msg != nullptr ? stream_.msg : "the data is invalid";
    return step;
  }
  FrameKind kind(std::string_view head) const override { return is_zlib_header(head) ? FrameKind::block : FrameKind::none; }

 private:
  bool ready_ = false;
  z_stream stream_{};
};

}  // namespace

std::unique_ptr<FrameCodec> zlib_codec() { return std::make_unique<ZlibCodec>(); }

}  // namespace weft::storage
