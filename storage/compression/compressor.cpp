#include "storage/compression/compressor.hpp"

namespace weft::storage {

std::unique_ptr<Compressor> make_compressor(Compression compression) {
  switch (compression) {
    case Compression::gzip:
      return gzip_compressor();
    case Compression::zstd:
      return zstd_compressor();
    case Compression::lz4:
      return lz4_compressor();
    case Compression::none:
      break;
  }
  return nullptr;
}

}  // namespace weft::storage
