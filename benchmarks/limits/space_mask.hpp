// Where the white space is: one bit per byte, 64 bytes at a time, with the widest vectors this processor has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace limits {

/// Bit j of masks[i] is set when text[64 * i + j] is a space or one of \t \n \v \f \r. Reads 64 * blocks bytes.
using SpaceMasks = void (*)(const char* text, std::size_t blocks, std::uint64_t* masks);

/// The fastest version that runs here.
SpaceMasks choose_space_masks();

inline bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

}  // namespace limits
