// How output is compressed: in independent blocks, so that its readers can split it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "storage/compression/compression.hpp"

namespace weft::storage {

/// One thread.
class Compressor {
 public:
  virtual ~Compressor() = default;
  /// How much text makes a block; the last may have less.
  virtual std::size_t block_bytes() const = 0;
  /// Appends a block of this text to `out`; no text makes a valid file without text.
  virtual Result<void> compress(ByteView text, std::string& out) = 0;
};

/// Null for none.
std::unique_ptr<Compressor> make_compressor(Compression compression);
std::unique_ptr<Compressor> gzip_compressor();
std::unique_ptr<Compressor> zstd_compressor();
std::unique_ptr<Compressor> lz4_compressor();

}  // namespace weft::storage
