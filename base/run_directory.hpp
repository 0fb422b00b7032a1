// The temporary directory of a run of a master, worker or driver; what killed ones left is removed by the next of the same user.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/fd.hpp"
#include "base/file.hpp"
#include "base/result.hpp"

namespace weft {

/// Held by a lock (flock) on the file `lock` in it, which ends with the process, whatever ends it. Removed with the object.
class RunDirectory {
 public:
  /// Sweeps `parent` (default: $TMPDIR or /tmp), then makes `weft-KIND-XXXXXX` in it. KIND is one of master, worker, private, run.
  static Result<RunDirectory> create(const std::string& kind, const std::filesystem::path& parent = {});
  /// Removes directories of runs of this user that are over: their lock is there, and free. What is another user's, a symbolic link
  /// or without a lock file is left alone. How many were removed.
  static std::size_t sweep(const std::filesystem::path& parent);

  const std::filesystem::path& path() const { return directory_.path(); }

 private:
  RunDirectory(TempDir directory, Fd lock) : lock_(std::move(lock)), directory_(std::move(directory)) {}

  Fd lock_;  // let go after the directory is removed
  TempDir directory_;
};

}  // namespace weft
