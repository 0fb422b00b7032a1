// The temporary directory of one run of a master, worker or driver. Directories that killed processes left behind are removed by
// the next process of the same user.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/result.hpp"

namespace weft {

/// Owns the directory and removes it on destruction. A lock (flock) on the file `lock` in it shows that it is in use; the lock
/// ends with the process, whatever ends that.
class RunDirectory {
 public:
  /// Calls sweep(parent), then makes `weft-KIND-XXXXXX` in it. KIND is master, worker, private or run. An empty parent means
  /// $TMPDIR, or /tmp.
  static Result<RunDirectory> create(const std::string& kind, const std::filesystem::path& parent = {});
  /// Removes this user's directories of runs that are over, which have a lock file that nobody holds, and returns their number. It
  /// leaves symbolic links, directories of other users, and directories without a lock file alone.
  static std::size_t sweep(const std::filesystem::path& parent);

  const std::filesystem::path& path() const { return directory_.path(); }

 private:
  RunDirectory(TempDir directory, Fd lock) : lock_(std::move(lock)), directory_(std::move(directory)) {}

  Fd lock_;  // let go after the directory is removed
  TempDir directory_;
};

}  // namespace weft
