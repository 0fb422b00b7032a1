// Job output that appears all at once (where files cannot be renamed: one by one, _SUCCESS last; RemotePublisher). Attempts write
// private files (storage/output_file.hpp) below a hidden sibling of the output directory; the driver renames the winners to
// part-NNNNN, adds _SUCCESS, syncs, and renames the directory into place.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "storage/access/remote.hpp"

namespace weft::storage {

/// Driver side of one output directory.
class OutputDirectory {
 public:
  /// Checks that `path` can be created. already_exists: something is there, and `overwrite` is not set or it is neither empty nor
  /// the output of a run, which has a _SUCCESS; not_found: the parent is missing; io: it is not writable. Creates the hidden work
  /// directory (`.NAME.weft-<token>` beside it). `token` is unique per run. An output in the cluster, an S3 service or HDFS
  /// ("weft://…", "s3://…", "hdfs://…") goes through `remote`, which outlives this.
  static Result<OutputDirectory> prepare(std::string path, bool overwrite, std::string token, RemoteFiles* remote = nullptr);

  /// Looks (and makes nothing) whether an output at `path` or outputs below it are bound to be refused by prepare(): the parent is
  /// missing or not writable, `path` is no directory, it is the output of a run and not `overwrite`, or it has other files and
  /// neither it nor a directory in it is the output of a run. For callers that have work to do before prepare(). In stores
  /// elsewhere only the output of a run is found.
  static Result<void> check_early(const std::string& path, bool overwrite, RemoteFiles* remote = nullptr);

  OutputDirectory(OutputDirectory&&) noexcept;
  OutputDirectory& operator=(OutputDirectory&&) noexcept;
  /// Removes the work directory unless committed.
  ~OutputDirectory();

  const std::string& path() const { return path_; }
  const std::string& work_directory() const { return work_; }

  /// Publishes `attempt_files[i]` (names inside the work directory; empty: nothing was written, and an empty file is made) as
  /// part-<i> with the suffix of that name, if it has one. An attempt that wrote several files names each as FILE/DIRECTORY and a
  /// newline: it becomes DIRECTORY/part-<i>, and where there is none, there is no part. After success the output is complete and
  /// synced; on failure nothing is visible.
  Result<void> commit(const std::vector<std::string>& attempt_files);

 private:
  OutputDirectory() = default;
  std::string path_;
  std::string work_;
  static Result<OutputDirectory> prepare_remote(const std::string& path, bool overwrite, const std::string& token,
                                                RemoteFiles* remote);
  Result<void> make_empty_remote(const std::string& name);
  Result<void> commit_remote(const std::vector<std::string>& attempt_files);
  Result<void> commit_published(const std::vector<std::string>& attempt_files);
  void discard();
  Result<void> name_parts(const std::vector<std::string>& attempt_files);

  RemoteFiles* remote_ = nullptr;         // null: local
  RemotePublisher* publisher_ = nullptr;  // not null: where files cannot be renamed; `work_` is `path_` then
  bool overwrite_ = false;
  Fd lock_;  // held while this run lives, so that others don't take the work directory for a leftover
};

/// "part-00017": the name of a task's part of an output.
std::string part_name(std::size_t index);

}  // namespace weft::storage
