#include "storage/compression/format.hpp"

#include <algorithm>

#include "storage/compression/frame_codec.hpp"

namespace weft::storage {
namespace {

using namespace std::string_view_literals;

/// "BZh", a digit, and what begins a block (the digits of pi) or ends a file without any (those of its square root).
bool is_bzip2(std::string_view bytes) {
  return bytes.size() >= 10 && bytes.starts_with("BZh") && bytes[3] >= '1' && bytes[3] <= '9' &&
         (bytes.substr(4).starts_with("1AY&SY"sv) || bytes.substr(4).starts_with("\x17rE8P\x90"sv));
}

}  // namespace

std::optional<Format> compression_of(std::string_view beginning) {
  if (is_bgzip_member(beginning)) return Format::bgzip;
  if (beginning.starts_with(kGzipMagic)) return Format::gzip;
  if (beginning.starts_with(kZstdMagic)) return Format::zstd;
  if (beginning.starts_with(kLz4Magic)) return Format::lz4;
  if (beginning.starts_with(kXzMagic)) return Format::xz;
  if (is_bzip2(beginning)) return Format::bzip2;
  // A frame of somebody's own, which zstd and lz4 both may begin with; pzstd does. What follows tells.
  if (is_skippable_frame(beginning)) {
    const std::size_t size = skippable_bytes(beginning);
    return size < beginning.size() ? compression_of(beginning.substr(size)) : Format::zstd;
  }
  return std::nullopt;
}

std::optional<Format> compression_of(std::string_view path, std::string_view beginning) {
  if (const auto known = compression_of(beginning)) return known;
  constexpr std::array kZlib{".deflate", ".zlib", ".zz"};
  const bool zlib = std::any_of(kZlib.begin(), kZlib.end(), [&](std::string_view suffix) { return path.ends_with(suffix); });
  return zlib ? std::optional(Format::deflate) : std::nullopt;
}

}  // namespace weft::storage
