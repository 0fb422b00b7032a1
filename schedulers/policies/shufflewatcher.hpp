// ShuffleWatcher (Ahmad, Chakradhar, Raghunathan, Vijaykumar, USENIX ATC 2014), around any order of users: what a user gets is
// the business of that order (`users`), which of the user's tasks a node gets goes by the load of the network.
//
// NetSat (parts/uplink_load.hpp) says whether the uplink of the node's rack is saturated. NASS picks, of the tasks of the user
// whose turn it is, the first there is of
//   saturated:  a map in a rack that SAMP chose, a map whose input is on the node, in the rack, any map; a reduce of a
//               light job, a reduce of a heavy job of which the rack has fewer than its part, any reduce;
//   otherwise:  a reduce of a heavy job of which the rack has fewer than its part, any reduce of a heavy job, a reduce of a light
//               job; then maps in the same order as above.
// A job is heavy when it shuffles more than it reads (shuffle_ratio() of
// view/estimates.hpp: a hint, history, what was observed, else 1, which is light). SAMP (parts/map_racks.hpp) chooses the racks of
// a job's maps once, SARP (parts/reduce_racks.hpp) says how many of its reduces each rack is to have. With typed slots the order
// among maps and that among reduces count on their own.
//
// Deviates:
// - Reduces whose maps have not all ended (slow start) come last, and not at all while the uplink is saturated: their shuffle
//   would only add to it. The paper enables them when a slot would be unused else.
// - Of light jobs those of which the rack has fewer reduces than its part come first.
// - A job that has tasks to launch, and has launched none for as long as `starvation`, comes before all others of its user, with
//   any task. (The paper puts jobs in windows by their submission; with its twelve jobs of a user in four hours each would be alone
//   in its window of ten minutes.)
// - A reduce whose rack has more than half of what it reads, and fewer reduces than its part, crosses little: it comes before
//   all maps, saturated or not.
// - Of one kind the user's job with the least work left goes first; jobs=fewest: the one with the least running, jobs=arrival: the
//   oldest, as in the paper.
// - relaxed=TIME: where the uplink is saturated, a user whose only tasks for the node are maps that would read from another
//   rack, or reduces beyond the rack's part, lets others go first for so long, until it gets a better one. With users=delay(…) 5 s
//   (the paper's SW-relaxed), else 0.
// - samp_wait=3: where the rack's uplink is known, a map outside of the racks that SAMP chose for its job lets others go first, and
//   the slot idle, for so many times as long as what it writes would take on the node's part of the uplink, times the part of the
//   uplink that is in use (0: as in the paper, where a free slot takes it at once). More than once, because on a full uplink what
//   it writes holds up what others write, too.
// - shape=traffic: prefetches across a saturated uplink get `tokens`, too (Scheduler::far_prefetches).
// - Readers of shuffles that are placed while maps run (docs/schedulers.md) are placed by the parts of SARP: each rack as
//   many bytes as it has of what they read, within a rack by size.
// - Without two racks it is the scheduler of `users`.
//
// Options: users=fair (drf stands for drf(by=user)), nass=true, sarp, samp (as nass), threshold=0.8, interval=1s, window=5s,
// aggregation=own|mean|busiest, unknown_uplinks=largest|never, map_completion=0.15, starvation=10min, relaxed,
// samp_wait=3, jobs=shortest|fewest|arrival, shape=launch|traffic, tokens=1.
#pragma once

#include "schedulers/parts/registry.hpp"

namespace weft::schedulers {

Result<Composition> make_shufflewatcher(Options& options, const Registry& registry);

}  // namespace weft::schedulers
