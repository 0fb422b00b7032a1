// Starts child processes that cannot outlive their parent.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "runtime/worker/confinement.hpp"

namespace weft::runtime {

struct SpawnOptions {
  std::string path;
  std::vector<std::string> arguments;        // argv, program name first
  std::vector<std::string> environment;      // "NAME=value": replaces or adds to this process's own
  std::vector<std::string> directories;      // the first of them that can be entered is; none: this process's own
  int output = -1;                           // stdout and stderr; -1: inherited
  int inherited = -1;                        // becomes descriptor 3
  bool own_group = false;                    // a process group of its own, away from the terminal's signals
  std::optional<Confinement> confinement{};  // of a process that runs a job's code
};

/// A process that has been forked, on its way to its program.
class Spawned {
 public:
  Spawned() = default;
  Spawned(pid_t pid, std::string path, Fd failure) : pid_(pid), path_(std::move(path)), failure_(std::move(failure)) {}
  pid_t pid() const { return pid_; }
  /// Whether it has not come to its program yet, as when it enters a directory of a file system that does not answer.
  bool on_its_way() const;
  /// Why its program cannot be executed (not_found, io, …), or it cannot be confined: then the process ends. Said once. No error
  /// while it is on its way.
  Result<void> outcome();
  void wait() const;  // while it is on its way

 private:
  pid_t pid_ = -1;
  std::string path_;
  Fd failure_;
};

/// Forks and execs; stdin is /dev/null, the umask the user's (users_umask()), and no other descriptor than those above is
/// inherited. The child gets SIGKILL when the calling *thread* ends, so call from one that lives long. Does not wait for the file
/// systems of the directories.
Result<Spawned> begin_spawn(const SpawnOptions& options);
/// The same, which returns when the program is running; an error when it cannot be.
Result<pid_t> spawn(const SpawnOptions& options);

/// Waits for a child to end, and reaps it: its wait status. Nothing: it is still there.
std::optional<int> wait_for_child(pid_t pid, Duration longest);
/// Kills a child and reaps it; two seconds later it is left to the kernel, which may wait for a file system or a device.
void end_child(pid_t pid);

/// How a process ended, from its wait status: "signal 11 (SIGSEGV)", "exit code 3".
std::string describe_exit(int status);

}  // namespace weft::runtime
