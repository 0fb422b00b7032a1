// The bytes of a segment (docs/formats/segment.md). Little-endian, as every machine weft runs on.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/bytes.hpp"

namespace weft::shuffle::format {

static_assert(std::endian::native == std::endian::little);

inline constexpr std::array<char, 8> kMagic = {'w', 'e', 'f', 't', 's', 'e', 'g', '\n'};
inline constexpr std::uint32_t kVersion = 1;
inline constexpr std::uint32_t kMaxPartitions = 1u << 24;

struct Header {
  std::array<char, 8> magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t partitions = 0;
};

/// Sorted by partition; entries of one partition in the order they were appended.
struct IndexEntry {
  std::uint32_t partition = 0;
  std::uint32_t records = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint32_t crc32c = 0;
  std::uint32_t zero = 0;
};

struct Footer {
  std::uint64_t index_offset = 0;
  std::uint64_t index_entries = 0;
  std::uint32_t index_crc32c = 0;
  std::uint32_t header_crc32c = 0;  // of the header, then of this footer up to here
  std::array<char, 8> magic = kMagic;
};

/// The footer of a segment with that header, whose index begins at `index_offset`.
Footer footer_of(const Header& header, std::uint64_t index_offset, ByteView index);

static_assert(sizeof(Header) == 16 && sizeof(IndexEntry) == 32 && sizeof(Footer) == 32);

}  // namespace weft::shuffle::format
