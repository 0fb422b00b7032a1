// A worker that dies of a fatal signal reports it to its master, so that the master's log and `weft node list` can name the signal.
#pragma once

#include <string>

#include "base/ids.hpp"
#include "base/result.hpp"

namespace weft::runtime {

/// From now on a fatal signal (base/fatal_signal.hpp) is reported as that of this node to the master at `master` ("10.0.0.1:7077",
/// "[::1]:7077"), on a connection of its own: the other one may be in the middle of a message, or full. The bytes are made now;
/// when the signal comes they are only sent, and the process's end waits until the master has them, half a second at most for each
/// step. Replaces an earlier call. Belongs to the process: the last worker in it counts. An address that is not numeric is
/// refused.
Result<void> set_last_words(const std::string& master, NodeId node);
/// Nothing is reported any more: there is no registration.
void drop_last_words();

}  // namespace weft::runtime
