// What a process of a job sees of the machine's files: everything read-only, except what is its own.
#pragma once

#include <string>
#include <vector>

namespace weft::runtime {

inline constexpr std::size_t kMostWritable = 32;

/// A mount namespace in which all files are read-only. Its own are: /tmp, /var/tmp and /dev/shm, which begin empty; the job's
/// directory, of all that is in the worker's directory; and the directories for outputs. /proc shows processes of the same user
/// only.
///
/// It keeps out processes without root's rights: a confined process of root could leave it.
class Sandbox {
 public:
  /// Absolute paths. `temporary` is within `job`, and `job` within `worker`; `writable` are directories for outputs, kMostWritable
  /// at most. Whatever else is
  /// in the places that begin empty is not seen, unless it is in one of these.
  Sandbox(std::string worker, std::string job, std::string temporary, std::vector<std::string> writable);

  /// For the child between fork and exec, which has root's rights yet; afterwards it is in the directory "/". Calls
  /// async-signal-safe functions only. Returns 0, or the errno of what the system refused.
  int enter() const;

 private:
  /// A directory that stays as it is; those above it are made where they are covered by something empty.
  struct Kept {
    std::string path;
    std::vector<std::string> above;  // from the top
  };

  std::string worker_, temporary_;
  std::vector<Kept> kept_;
};

/// Why it cannot be entered here; empty when it can. Tries it in a child process.
std::string why_not(const Sandbox& sandbox);

}  // namespace weft::runtime
