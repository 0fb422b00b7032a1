// A hash of bytes that is the same on every machine, for checksums and partitioners of job programs.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/hash.hpp"

namespace weft {

inline std::uint64_t hash_bytes(std::string_view bytes) { return hash64(bytes); }

}  // namespace weft
