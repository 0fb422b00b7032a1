// Processes that jobs left behind: what user code has started and never waited for.
//
// An executor or driver adopts what its children leave behind (confinement.hpp), so that its end hands all of them to the worker,
// as children that the worker has not started itself. No process group, session or second fork hides one of them.
#pragma once

#include <cstddef>
#include <set>

#include <sys/types.h>

namespace weft::runtime {

/// From now on, this process gets what its children leave behind. Nothing when the system has no such thing.
void adopt_orphans();

/// Kills children of this process that are not among `own`, and reaps those that have ended. Returns how many are still there:
/// while there are some, it has to be called again, because their own children follow them. Must not run beside code that starts
/// processes. Does not block.
std::size_t kill_orphans(const std::set<pid_t>& own);

}  // namespace weft::runtime
