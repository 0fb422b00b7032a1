// Reading mapped files that may be truncated, or lose their disk, while they are read.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.hpp"

namespace weft {

/// Returns crc32c() of bytes of a mapped file, or nothing when the disk does not deliver them or the file has become shorter.
/// (Any other such read ends the process with SIGBUS.) The first call installs a handler of SIGBUS, which passes every fault
/// outside these functions on to the previous handler. Any thread may call it; it costs a few nanoseconds more than crc32c().
std::optional<std::uint32_t> crc32c_of_mapped(ByteView bytes);
/// Copies such bytes to `into`, which has room for them and does not overlap them. False when they cannot be had; what lies at
/// `into` is then undefined. Threads and signals as above.
[[nodiscard]] bool copy_mapped(ByteView bytes, std::byte* into);

}  // namespace weft
