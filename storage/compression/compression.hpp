// How a job's output files are compressed.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft::storage {

/// Of the files that a job writes. gzip is written in small members that say how long they are (bgzip), which every reader of gzip
/// reads; zstd and lz4 in frames of some MiB of text.
enum class Compression : std::uint8_t { none, gzip, zstd, lz4 };
constexpr Compression last_of(Compression) { return Compression::lz4; }

/// ".gz"; empty for none.
constexpr std::string_view suffix_of(Compression compression) {
  switch (compression) {
    case Compression::gzip:
      return ".gz";
    case Compression::zstd:
      return ".zst";
    case Compression::lz4:
      return ".lz4";
    case Compression::none:
      break;
  }
  return {};
}

}  // namespace weft::storage
