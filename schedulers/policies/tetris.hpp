// Tetris (Grandl et al., SIGCOMM 2014): packing as the only pass (parts/packing.hpp). mode=paper: readers of shuffles are placed
// when they are launched, not before. mode=bounded, the default: jobs that would end later than if all had shared fairly go first,
// work is learned, nodes take tasks in turns, and readers are placed while maps run.
//
// tetris(mode=paper, srtf=false, barrier=2, penalty=1, digits=2) is the plain dot product of the simulator of Carbyne's authors.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_tetris(Options& options, const Registry& registry);

}  // namespace weft::schedulers
