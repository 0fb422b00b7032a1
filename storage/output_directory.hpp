// Job output that appears all at once (where files cannot be renamed: one by one, _SUCCESS last; RemotePublisher). Attempts write
// private files (storage/output_file.hpp) below a hidden sibling of the output directory; the driver renames the winners to
// part-NNNNN, adds _SUCCESS, syncs, and renames the directory into place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "storage/access/remote.hpp"
#include "storage/kept_directories.hpp"

namespace weft::storage {

/// What goes on with an output when the process that prepared it is killed.
enum class OutputOwner : std::uint8_t {
  process,  // nobody: what it has made is a leftover
  job,      // another driver of its job
};

/// Driver side of one output directory.
class OutputDirectory {
 public:
  /// Checks that `path` can be created. already_exists: something is there, and `overwrite` is not set or it is neither empty nor
  /// the output of a run, which has a _SUCCESS; not_found: the parent is missing; io: it is not writable. Creates the hidden work
  /// directory (`.NAME.weft-<token>` beside it). `token` is unique per run. An output in the cluster, an S3 service or HDFS
  /// ("weft://…", "s3://…", "hdfs://…") goes through `remote`, which outlives this.
  ///
  /// An output of a job has a token of that job, and the work directory has the same name whenever it is prepared: it is taken over
  /// if it is there. An output with that token which is published already is success, and commit() leaves it as it is. Others do
  /// not remove the work directory before nothing was made in it for an hour.
  static Result<OutputDirectory> prepare(std::string path, bool overwrite, std::string token, RemoteFiles* remote = nullptr,
                                         OutputOwner owner = OutputOwner::process);

  /// Looks (and makes nothing) whether an output at `path` or outputs below it are bound to be refused by prepare(): the parent is
  /// missing or not writable, `path` is no directory, it is the output of a run and not `overwrite`, or it has other files and
  /// neither it nor a directory in it is the output of a run. For callers that have work to do before prepare(). In stores
  /// elsewhere only the output of a run is found. What was published with this token (of a job; empty: none) is not refused.
  static Result<void> check_early(const std::string& path, bool overwrite, RemoteFiles* remote = nullptr,
                                  const std::string& token = {});

  OutputDirectory(OutputDirectory&&) noexcept;
  OutputDirectory& operator=(OutputDirectory&&) noexcept;
  /// Removes the work directory unless committed.
  ~OutputDirectory();

  /// commit() replaces, of an output of a run that is there, only the directories that the new files are in, with all below them,
  /// and keeps the rest. On local disks the new whole appears at once, and runs that do this to one output at the same time wait
  /// for each other. Elsewhere the directories are replaced one after the other, in object stores file by file, and the _SUCCESS of
  /// the run before stays meanwhile. A run with files in the output's own directory replaces all. For `overwrite`.
  void keep_other_directories() { keeps_others_ = true; }

  const std::string& path() const { return path_; }
  const std::string& work_directory() const { return work_; }

  /// Publishes `attempt_files[i]` (names inside the work directory; empty: nothing was written, and an empty file is made) as
  /// part-<i> with the suffix of that name, if it has one. An attempt that wrote several files names each as FILE/DIRECTORY and a
  /// newline: it becomes DIRECTORY/part-<i>, and where there is none, there is no part. After success the output is complete and
  /// synced; on failure nothing is visible. Of an output of a job, a process that is killed at any moment may be followed by one
  /// that prepares it again and commits the same files: it does what is not done yet.
  Result<void> commit(const std::vector<std::string>& attempt_files);

  /// Leaves all to the process that prepares the job's output next: the destructor removes nothing.
  void leave();

 private:
  OutputDirectory() = default;
  std::string path_;
  std::string work_;
  static Result<OutputDirectory> prepare_remote(const std::string& path, bool overwrite, const std::string& token,
                                                RemoteFiles* remote, OutputOwner owner);
  Result<void> make_work_directory(const std::string& token);
  bool repeats() const { return !mark_.empty(); }  // what a step finds done may have been done by an earlier process
  Result<bool> is_published() const;
  Result<void> commit_once(const std::vector<std::string>& attempt_files);
  Result<void> commit_local(const std::vector<std::string>& attempt_files);
  Result<void> publish_beside_others(const DirectoryNames& replaced, const std::vector<std::string>& attempt_files);
  Result<void> publish_whole();
  Result<void> name_remote_parts(const std::vector<std::string>& attempt_files);
  Result<void> move_remote(const DirectoryNames& replaced, bool named);
  Result<void> make_empty_remote(const std::string& name);
  Result<void> name_remote(const std::string& file, const std::string& name);
  Result<void> commit_remote(const std::vector<std::string>& attempt_files);
  Result<void> commit_published(const std::vector<std::string>& attempt_files);
  void clear_up();
  void discard();
  bool is_work_directory() const;
  Result<void> name_parts(const std::vector<std::string>& attempt_files);

  RemoteFiles* remote_ = nullptr;         // null: local
  RemotePublisher* publisher_ = nullptr;  // not null: where files cannot be renamed; `work_` is `path_` then
  bool overwrite_ = false;
  bool keeps_others_ = false;
  bool published_ = false;  // by an earlier process
  std::string mark_;        // in the _SUCCESS of an output of a job; empty: the process's own
  std::string begun_;       // with a publisher: a hidden object beside `path_`, there while a job's output is being published
  Fd lock_;                 // held while this run lives, so that others don't take the work directory for a leftover
};

/// "part-00017": the name of a task's part of an output.
std::string part_name(std::size_t index);

}  // namespace weft::storage
