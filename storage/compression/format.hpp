// How the bytes of an input file are to be read: as they are, or decompressed.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace weft::storage {

enum class Format : std::uint8_t {
  detect,  // by what the file begins with: compressed, no text at all (storage/access/content.hpp), or text
  raw,     // as it is, whatever it is
  gzip,
  bgzip,  // gzip in members of at most 64 KiB that say how long they are
  bzip2,
  zstd,
  lz4,
  xz,
  deflate,  // streams of zlib, as Hadoop's DefaultCodec writes them; only the name of a file tells
};
constexpr Format last_of(Format) { return Format::deflate; }

constexpr bool is_compressed(Format format) { return format >= Format::gzip; }
/// "gzip".
constexpr std::string_view name_of(Format format) {
  constexpr std::array<std::string_view, 9> kNames{"text", "raw", "gzip", "bgzip", "bzip2", "zstd", "lz4", "xz", "deflate"};
  static_assert(kNames.size() == static_cast<std::size_t>(last_of(Format{})) + 1);
  return kNames[static_cast<std::size_t>(format)];
}

/// Which of the compressed formats a file has that begins like this; nothing when none. kContentBytes of it suffice.
std::optional<Format> compression_of(std::string_view beginning);
/// The same, and by the name where only that shows it: text may begin with the same bytes as a file of zlib.
std::optional<Format> compression_of(std::string_view path, std::string_view beginning);

}  // namespace weft::storage
