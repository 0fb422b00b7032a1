// Delay scheduling (Zaharia et al., EuroSys 2010), around any scheduler made of parts: a job whose turn it is,
// but whose data is elsewhere, lets others go first for a while.
//
// Two levels (default): after node_wait without a task on a node that holds its input a job takes room in a rack that does, after
// rack_wait more anywhere; a launch sets it back to the level of that launch. skips=D is the simple version: D opportunities are
// let pass, then any is taken until a local one comes. Tasks without a preference never wait.
//
// Deviates: time counts from the first opportunity passed up, without regard to heartbeats; when many nodes have room at once (a
// job arrives), all of them are searched for local room before one counts as passed up. No "auto" waits: heartbeats are not the
// scheduler's. Options: inner=fair, node_wait=5s, rack_wait=5s, skips=D.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_delay(Options& options, const Registry& registry);

}  // namespace weft::schedulers
