// ShuffleWatcher (Ahmad, Chakradhar, Raghunathan, Vijaykumar, USENIX ATC 2014), around any order of users.
//
// mode=measured, the default: jobs go in that order, and tasks pass on nodes outside the racks that SAMP or SARP would choose where
// that is predicted to pay (parts/network_gains.hpp). The rest is about mode=paper (parts/network_aware.hpp): that order (`users`)
// decides which user is next, and the load of the network which of the user's tasks a node gets.
//
// NetSat (parts/uplink_load.hpp) measures whether the uplink of the node's rack is saturated. NASS launches, of the tasks of the
// user, the first in this order:
//   saturated:  a map in a rack that SAMP chose, a map whose input is on the node, in the rack, any map; a reduce of a light job, a
//               reduce of a heavy job of which the rack has fewer than its part, any reduce;
//   otherwise:  a reduce of a heavy job of which the rack has fewer than its part, any reduce of a heavy job, a reduce of a light
//   job;
//               then maps in the same order as above.
// A job is heavy when it shuffles more than it reads (shuffle_ratio() of view/estimates.hpp; 1 is light). SAMP
// (parts/map_racks.hpp) chooses the racks of a job's maps once, SARP (parts/reduce_racks.hpp) decides how many of its reduces each
// rack should have. With typed slots, maps and reduces have separate orders.
//
// Deviates:
// - Reduces whose maps have not all ended (slow start) come last, and wait while the uplink is saturated, because their shuffle
// would
//   only add to it. The paper launches them when a slot would be unused otherwise.
// - Of light jobs, those of which the rack has fewer reduces than its part come first.
// - A job that has launched nothing for `starvation` though it has pending tasks comes before the other jobs of its user, with any
// task.
//   (The paper puts jobs in windows of ten minutes by submission; with its twelve jobs of a user in four hours each would be
//   alone.)
// - A reduce whose rack has more than half of its input, and fewer reduces than its part, crosses little: it comes before all maps,
//   saturated or not.
// - Of one kind, the user's job with the least work left goes first; jobs=fewest: the one with the least running, jobs=arrival: the
//   oldest, as in the paper.
// - relaxed=TIME: where the uplink is saturated, a user whose only tasks for the node are maps that would read from another rack,
// or
//   reduces beyond the rack's part, lets others go first for at most that time. With users=delay(…) 5 s (the paper's SW-relaxed),
//   else 0.
// - samp_wait=3: where the capacity of the rack's uplink is known, a map outside the racks that SAMP chose lets others go first,
// and the
//   slot idle, for three times as long as its output would take on the node's part of the uplink, times the used part of the uplink
//   (0: as in the paper, not at all). More than once, because on a full uplink its output delays others, too.
// - shape=traffic: prefetches across a saturated uplink are limited by `tokens`, too (Scheduler::far_prefetches).
// - Readers of shuffles that are placed while maps run (docs/schedulers.md) are placed by the parts of SARP: each rack gets as many
// bytes
//   as it holds of their input, and within a rack they are placed by size.
// - With fewer than two racks it is the scheduler of `users`.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_shufflewatcher(Options& options, const Registry& registry);

}  // namespace weft::schedulers
