// CoGRS: reduces go to the centre of gravity of what they read (Hammoud, Rehman, Sakr, CLOUD 2012), around any
// scheduler made of parts.
//
// A node gets the largest pending reduce whose centre of gravity it is; else the largest for which no other free node is nearer;
// else, when a stage has skipped nodes for `wait`, the reduce that is relatively nearest to the node. metric=wtnd weighs sources by
// bytes, metric=tnd by the number of maps.
//
// Deviates: sources are nodes, not maps (the sum is the same); the centre is computed again when the number of finished maps has
// grown by a twentieth; the second rule looks at the 4 largest pending reduces. After one reduce was launched by the third rule,
// the others of its stage follow it too, until one finds a near node.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_cogrs(Options& options, const Registry& registry);

}  // namespace weft::schedulers
