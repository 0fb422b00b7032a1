// How output is compressed: in blocks that stand for themselves, so that who reads it can split it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/result.hpp"

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

/// One thread.
class Compressor {
 public:
  virtual ~Compressor() = default;
  /// So much text makes a block; at the end there may be less.
  virtual std::size_t block_bytes() const = 0;
  /// Appends a block of this text to `out`; no text makes a file of none that is valid.
  virtual Result<void> compress(ByteView text, std::string& out) = 0;
};

/// Null for none.
std::unique_ptr<Compressor> make_compressor(Compression compression);
std::unique_ptr<Compressor> gzip_compressor();
std::unique_ptr<Compressor> zstd_compressor();
std::unique_ptr<Compressor> lz4_compressor();

}  // namespace weft::storage
