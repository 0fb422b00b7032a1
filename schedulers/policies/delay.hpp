// Delay scheduling (Zaharia et al., EuroSys 2010), around any scheduler made of parts: the next job lets others go first for a
// while where the free nodes do not hold its input.
//
// mode=measured (default): as long as distance was measured to cost (parts/measured_wait.hpp). mode=paper, two levels: after
// node_wait without a launch on a node that holds its input, a job takes nodes in a rack that does, after rack_wait more any node;
// a launch sets it back to the level of that launch. skips=D is the simple version: a job skips D opportunities and then takes any,
// until a local one comes. Tasks without a preference never wait.
//
// Deviates: time counts from the first skipped opportunity; where many nodes are free at once (a job arrives), all of them are
// searched for a local one before one counts as skipped. `auto` derives the waits from the interval of heartbeats.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_delay(Options& options, const Registry& registry);

}  // namespace weft::schedulers
