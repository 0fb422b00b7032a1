// The text of a compressed file, decompressed as it is read.
//
// A split of such a file owns the blocks that begin in [begin, end) of it: members of bgzip, frames of zstd and lz4, blocks of
// bzip2, the whole file for gzip, zlib and xz. The reader of a split finds its first block by searching from `begin` on, and goes
// from block to block until one begins at or behind `end`. In formats of frames, which say themselves how long they are, it then
// searches from `end` on as the reader of the next split does: when that finds another block, one of the two is damaged, and this
// is an error. A block of bzip2 ends where the next one is found, by the same search for all readers, so that they cannot disagree.
// So no way of cutting a file loses or doubles a byte of it.
//
// Memory stays constant, whatever is in the file: a few MiB, for zstd and xz the window that the file requires, at most 128 MiB.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "storage/access/input_file.hpp"
#include "storage/compression/format.hpp"

namespace weft::storage {

/// One thread.
class Decompressor {
 public:
  virtual ~Decompressor() = default;
  /// Some bytes, all of blocks of the split or all of what follows it; 0: the end of the file. Code::invalid_argument names the
  /// byte of the file where it is damaged or ends too early; bytes read before may be wrong then.
  virtual Result<std::size_t> read(MutableBytes into) = 0;
  /// Whether what read() gave last is of a block that begins at or behind `end`.
  virtual bool past_end() const = 0;
};

/// `file` outlives it. Reads nothing when no block begins in [begin, end).
Result<std::unique_ptr<Decompressor>> decompress(InputFile& file, Format format, std::uint64_t begin, std::uint64_t end);

/// Whether several tasks may each read a part of the file: it has more than one block, and the first is not too long to see that.
Result<bool> is_splittable(InputFile& file, Format format);

/// The format of the file by its beginning, when it is compressed. Format::detect when it is not.
Result<Format> format_of(InputFile& file);

}  // namespace weft::storage
