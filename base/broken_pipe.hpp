// Pipes without a reader any more: `weft job list | head -1`. A program that prints lives on, and its write fails, as any other.
#pragma once

namespace weft {

/// From now on a write to a pipe or socket without a reader fails (EPIPE) instead of ending this process by SIGPIPE. Programs that
/// this one starts are not affected. Unless the signal is ignored already.
void outlive_broken_pipes();

/// Whether the descriptor is a pipe or a socket that has lost its reader. Does not block.
bool reader_is_gone(int fd);

}  // namespace weft
