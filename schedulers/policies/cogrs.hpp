// CoGRS: reduces go to the centre of gravity of what they read (Hammoud, Rehman, Sakr, CLOUD 2012), around any
// scheduler made of parts.
//
// A node that asks gets the largest pending reduce whose centre of gravity it is; else the largest for which no other node with
// room is nearer; else, when a stage was offered room for `wait` and none was near enough, the one that is relatively nearest to
// it. metric=wtnd weighs sources by bytes, metric=tnd counts them.
//
// Deviates: sources are nodes, not maps (the same sum); the centre is worked out again when the finished maps grew by a twentieth;
// of the nodes that hold a reduce's input the 8 nearest are kept, beyond them its centre's rack counts; the second and third rule
// look at the 4 largest pending reduces; pieces of a split hot partition go anywhere. After one reduce was launched for lack of a
// better node, the others of its stage follow the third rule too, until one finds a near node. Options: inner=fifo, wait=3s,
// metric=wtnd|tnd.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_cogrs(Options& options, const Registry& registry);

}  // namespace weft::schedulers
