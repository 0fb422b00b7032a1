// The upper halves of the processor's vector registers. A library written for AVX may return with something in them; from then on
// code without AVX, as most user code is, takes 2 to 20 times as long in that thread, because every instruction of it must keep
// them. A file that calls such a library is the only one to include its header (scripts/check-layers) and clears them after every
// call.
#pragma once

#include <optional>

namespace weft {

/// Clears the upper halves of this thread's vector registers, in about a nanosecond. Does nothing on processors without AVX.
void clear_upper_halves();

/// Whether something is in the upper halves of this thread's vector registers. Nothing where the processor does not know.
std::optional<bool> upper_halves_in_use();

}  // namespace weft
