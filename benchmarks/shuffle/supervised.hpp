// A benchmark in a process of its own, so that what it made is removed however it ends.
#pragma once

#include <functional>
#include <string>

namespace weft::bench {

/// Runs `work` in a child process and returns its exit code, or 128 + the signal that ended it or this process (SIGINT, SIGTERM,
/// SIGHUP). It is given a name of its own for what it makes, and two directories: one below `data`, one below $TMPDIR. Afterwards
/// every process and shaped network (shaped_network.hpp) of that name and both directories are removed. Call it before there are
/// threads.
int supervised(const std::string& data,
               const std::function<int(const std::string& name, const std::string& data, const std::string& spills)>& work);

}  // namespace weft::bench
