// One compression format of frames that follow each other: what a library does with the bytes of one frame, and what the format
// says of where frames begin and end. Each library is used in one source only; bzip2, whose blocks begin at any bit, has a reader
// of its own (bzip2.cpp).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/result.hpp"
#include "storage/access/input_file.hpp"

namespace weft::storage {

inline constexpr std::string_view kGzipMagic{"\x1f\x8b\x08", 3};
inline constexpr std::string_view kZstdMagic{"\x28\xb5\x2f\xfd", 4};
inline constexpr std::string_view kLz4Magic{"\x04\x22\x4d\x18", 4};
inline constexpr std::string_view kXzMagic{"\xfd\x37\x7a\x58\x5a\x00", 6};

/// How many bytes say which format begins with them.
inline constexpr std::size_t kFrameHead = 18;

bool is_bgzip_member(std::string_view bytes);
/// Of zstd and lz4: a frame without data. skippable_bytes() is how long it is, 8 bytes of it suffice to know.
bool is_skippable_frame(std::string_view bytes);
std::uint64_t skippable_bytes(std::string_view bytes);

/// What begins at a place of the file. A split begins only at a block; everything else belongs to the block before it.
enum class FrameKind : std::uint8_t { none, block, other };

/// How far a frame reaches as its headers have it.
struct FrameExtent {
  bool valid = false;     // the headers that were looked at are possible ones
  std::uint64_t end = 0;  // behind the frame; 0: it goes on behind what was looked at
};

/// One thread.
class FrameCodec {
 public:
  struct Step {
    std::size_t consumed = 0, produced = 0;
    bool ended = false;  // the frame has, and its checksums are right
    std::string fault;   // what is wrong with the byte behind `consumed`; empty: nothing
  };

  virtual ~FrameCodec() = default;
  /// "gzip member".
  virtual std::string_view noun() const = 0;
  /// The next step() has the first bytes of a frame.
  virtual Result<void> begin() = 0;
  /// Some bytes of `out` from some of `in`. Without progress: more of `in` is needed. Its memory does not depend on the data.
  virtual Step step(ByteView in, MutableBytes out) = 0;

  /// Of at least kFrameHead bytes, unless the file has fewer.
  virtual FrameKind kind(std::string_view head) const = 0;
  /// Zeros may follow frames of all formats, as tapes and block devices pad them: a multiple of this many.
  virtual std::size_t padding_unit() const { return 1; }
  /// What every block begins with; empty when a file of this format cannot be split.
  virtual std::string_view magic() const { return {}; }
  /// The extent of the frame at `at`, by at most `headers` of the headers in it. Errors: the file's.
  virtual Result<FrameExtent> extent(InputFile&, std::uint64_t, std::size_t) const { return FrameExtent{}; }
};

/// `blocks`: members that say how long they are are blocks (bgzip).
std::unique_ptr<FrameCodec> gzip_codec(bool blocks);
std::unique_ptr<FrameCodec> zstd_codec();
std::unique_ptr<FrameCodec> lz4_codec();
std::unique_ptr<FrameCodec> xz_codec();
std::unique_ptr<FrameCodec> zlib_codec();

/// The bytes of the file from `at` on, as many as there are. Little-endian numbers in formats are taken out by little_endian().
Result<std::string_view> peek(InputFile& file, std::uint64_t at, MutableBytes into);
std::uint64_t little_endian(std::string_view bytes);

}  // namespace weft::storage
