// A chunk: an immutable run of bytes, part of a file of the cluster, kept by several workers.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.hpp"

namespace weft::storage {

/// Given by the namespace, never reused, never 0.
using ChunkId = Id<struct ChunkTag, std::uint64_t>;

/// The unit of checking: every page has a CRC32C. The last page of a chunk is as long as what is left.
inline constexpr std::uint64_t kPageBytes = 64u << 10;
inline constexpr std::uint64_t kDefaultChunkBytes = 64u << 20;
inline constexpr std::uint64_t kLargestChunkBytes = std::uint64_t{16} << 30;

/// A sealed chunk. Equal for all its replicas: the digest is the CRC32C over the CRC32Cs of the pages (u32, little-endian, in
/// order), so it vouches for every byte once the checksums of the pages were checked against it.
struct ChunkInfo {
  ChunkId id;
  std::uint64_t length = 0;
  std::uint32_t digest = 0;
  friend auto operator<=>(const ChunkInfo&, const ChunkInfo&) = default;
};

/// What happened to a chunk on a worker.
enum class ChunkEvent : std::uint8_t {
  sealed,    // new and durable
  corrupt,   // was here, is damaged, is set aside
  lost,      // was here, its file or its whole directory is gone
  erased,    // as commanded; it is not here, and perhaps never was
  verified,  // was read in full, as commanded, and is whole
};
constexpr ChunkEvent last_of(ChunkEvent) { return ChunkEvent::verified; }

/// Bytes of a chunk, or of a file.
struct ByteRange {
  std::uint64_t offset = 0, length = 0;
  friend auto operator<=>(const ByteRange&, const ByteRange&) = default;
};

/// Appends a range that lies behind the others. A range that continues the last one is merged with it.
inline void append(std::vector<ByteRange>& ranges, const ByteRange& next) {
  if (!ranges.empty() && ranges.back().offset + ranges.back().length == next.offset)
    ranges.back().length += next.length;
  else
    ranges.push_back(next);
}

/// What was read of something damaged. The missing ranges, ascending and apart, could not be read and are zeros.
struct Salvaged {
  std::uint64_t bytes = 0;
  std::vector<ByteRange> missing;
};

constexpr std::uint64_t page_count(std::uint64_t length) { return (length + kPageBytes - 1) / kPageBytes; }

/// 16 hexadecimal digits, as its file is named.
inline std::string digits_of(ChunkId id) {
  std::string digits(16, '0');
  std::uint64_t rest = id.value();
  for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, rest >>= 4U) *digit = "0123456789abcdef"[rest & 15U];
  return digits;
}
/// "chunk 00000000000000fa"
inline std::string to_string(ChunkId id) { return "chunk " + digits_of(id); }

}  // namespace weft::storage
