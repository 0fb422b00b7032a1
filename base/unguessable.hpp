// Numbers that nobody can guess: keys, tokens, ids that stand for a right.
#pragma once

#include <cstdint>

namespace weft {

/// 64 random bits of the kernel, never 0. Any thread.
std::uint64_t unguessable_number();

}  // namespace weft
