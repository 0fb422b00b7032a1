// Starts child processes that cannot outlive their parent.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "runtime/worker/confinement.hpp"

namespace weft::runtime {

struct SpawnOptions {
  std::string path;
  std::vector<std::string> arguments;        // argv, program name first
  std::vector<std::string> environment;      // "NAME=value": replaces or adds to this process's own
  std::string directory;                     // entered when it exists
  int output = -1;                           // stdout and stderr; -1: inherited
  int inherited = -1;                        // becomes descriptor 3
  bool own_group = false;                    // a process group of its own, away from the terminal's signals
  std::optional<Confinement> confinement{};  // of a process that runs a job's code
};

/// Forks and execs; stdin is /dev/null, the umask the user's (users_umask()), and no other descriptor than those above is
/// inherited. The child gets SIGKILL when the calling *thread* ends, so call from one that lives long. Returns when the program is
/// running; not_found, io, … when it cannot be executed or confined.
Result<pid_t> spawn(const SpawnOptions& options);

/// How a process ended, from its wait status: "signal 11 (SIGSEGV)", "exit code 3".
std::string describe_exit(int status);

}  // namespace weft::runtime
