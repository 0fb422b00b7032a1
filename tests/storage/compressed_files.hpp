// Compressed files as other programs write them, made by the libraries' own compressors.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include <bzlib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include "base/bytes.hpp"
#include "storage/compression/compressor.hpp"
#include "storage/compression/format.hpp"

namespace weft::storage {

inline std::string gzipped(std::string_view text) {
  z_stream stream{};
  if (deflateInit2(&stream, 6, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

/// `level`: blocks of so many 100,000 bytes.
inline std::string bzipped(std::string_view text, int level = 1) {
  std::string out(text.size() + text.size() / 50 + 1000, '\0');
  auto size = static_cast<unsigned>(out.size());
  if (BZ2_bzBuffToBuffCompress(out.data(), &size, const_cast<char*>(text.data()), static_cast<unsigned>(text.size()), level, 0,
                               0) != BZ_OK)
    std::abort();
  out.resize(size);
  return out;
}

inline std::string zstd_frame(std::string_view text, int level = 3) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), level));
  return out;
}

inline std::string lz4_frame(std::string_view text, bool block_checksums = false) {
  LZ4F_preferences_t preferences{};
  preferences.frameInfo.blockSizeID = LZ4F_max64KB;
  preferences.frameInfo.contentChecksumFlag = LZ4F_contentChecksumEnabled;
  preferences.frameInfo.blockChecksumFlag = block_checksums ? LZ4F_blockChecksumEnabled : LZ4F_noBlockChecksum;
  std::string out(LZ4F_compressFrameBound(text.size(), &preferences), '\0');
  out.resize(LZ4F_compressFrame(out.data(), out.size(), text.data(), text.size(), &preferences));
  return out;
}

inline std::string xzipped(std::string_view text) {
  std::string out(lzma_stream_buffer_bound(text.size()), '\0');
  std::size_t size = 0;
  if (lzma_easy_buffer_encode(0, LZMA_CHECK_CRC64, nullptr, reinterpret_cast<const std::uint8_t*>(text.data()), text.size(),
                              reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()) != LZMA_OK)
    std::abort();
  out.resize(size);
  return out;
}

/// A stream of zlib, as Hadoop's DefaultCodec writes it.
inline std::string deflated(std::string_view text, int level = 6) {
  auto size = compressBound(text.size());
  std::string out(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(text.data()), text.size(), level) !=
      Z_OK)
    std::abort();
  out.resize(size);
  return out;
}

/// One block, frame, member or stream of the format.
inline std::string compressed(Format format, std::string_view text) {
  switch (format) {
    case Format::bgzip: {
      std::string out;
      const auto compressor = make_compressor(Compression::gzip);
      for (; !text.empty(); text.remove_prefix(std::min(text.size(), compressor->block_bytes())))
        if (!compressor->compress(as_bytes(text.substr(0, compressor->block_bytes())), out)) std::abort();
      return out;
    }
    case Format::bzip2:
      return bzipped(text);
    case Format::zstd:
      return zstd_frame(text);
    case Format::lz4:
      return lz4_frame(text);
    case Format::xz:
      return xzipped(text);
    default:
      return gzipped(text);
  }
}

inline constexpr Format kCompressedFormats[] = {Format::gzip, Format::bgzip, Format::bzip2, Format::zstd, Format::lz4, Format::xz};

}  // namespace weft::storage
