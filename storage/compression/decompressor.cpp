#include "storage/compression/decompressor.hpp"

#include <array>

#include "storage/access/content.hpp"
#include "storage/compression/bzip2_reader.hpp"
#include "storage/compression/frame_codec.hpp"
#include "storage/compression/frame_reader.hpp"

namespace weft::storage {
namespace {

std::unique_ptr<FrameCodec> codec_of(Format format) {
  switch (format) {
    case Format::zstd:
      return zstd_codec();
    case Format::lz4:
      return lz4_codec();
    case Format::xz:
      return xz_codec();
    case Format::deflate:
      return zlib_codec();
    default:
      return gzip_codec(format == Format::bgzip);
  }
}

template <class Reader>
Result<std::unique_ptr<Decompressor>> started(std::unique_ptr<Reader> reader) {
  WEFT_TRY(reader->start());
  return std::unique_ptr<Decompressor>(std::move(reader));
}

}  // namespace

Result<std::unique_ptr<Decompressor>> decompress(InputFile& file, Format format, std::uint64_t begin, std::uint64_t end) {
  if (format == Format::zstd && begin == 0) {  // the caller may have seen too little
    WEFT_ASSIGN(format, format_of(file));
  }
  if (format == Format::bzip2) return started(std::make_unique<Bzip2Reader>(file, begin, end));
  return started(std::make_unique<FrameReader>(file, codec_of(format), begin, end));
}

Result<bool> is_splittable(InputFile& file, Format format) {
  return format == Format::bzip2 ? Result<bool>(true) : has_more_blocks(file, *codec_of(format));
}

Result<Format> format_of(InputFile& file) {
  std::array<std::byte, kContentBytes> bytes;
  WEFT_ASSIGN(std::string_view beginning, peek(file, 0, bytes));
  const Format format = compression_of(file.path(), beginning).value_or(Format::detect);
  // What tells zstd from lz4 may lie behind long frames of somebody's own.
  std::uint64_t at = 0;
  while (is_skippable_frame(beginning) && at + skippable_bytes(beginning) < file.size()) {
    at += skippable_bytes(beginning);
    WEFT_ASSIGN(beginning, peek(file, at, bytes));
  }
  return at == 0 ? format : compression_of(file.path(), beginning).value_or(format);
}

}  // namespace weft::storage
