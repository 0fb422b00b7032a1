// Checksums of mapped files, whose disk may fail or whose end may be cut off while they are read.
#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes.hpp"

namespace weft {

/// crc32c() of bytes of a mapped file: nothing when its disk does not give them, or when the file no longer reaches so far.
/// Elsewhere such a read ends the process with SIGBUS; the first call installs a handler of that signal, which leaves every fault
/// outside this function to whoever handled the signal before. Costs a few nanoseconds more than crc32c(), on any thread.
std::optional<std::uint32_t> crc32c_of_mapped(ByteView bytes);

}  // namespace weft
