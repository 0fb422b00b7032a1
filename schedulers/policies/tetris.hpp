// Tetris (Grandl et al., SIGCOMM 2014): packing as the only pass (parts/packing.hpp). Readers of shuffles are placed when they are
// launched, not before.
//
// tetris(srtf=false, barrier=2, penalty=1, digits=2) is the plain dot product of the simulator of Carbyne's authors.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_tetris(Options& options, const Registry& registry);

}  // namespace weft::schedulers
