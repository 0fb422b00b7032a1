// What a job reads and writes, as its driver sees it: files and tables, of this machine and of the cluster.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "engine/master/plan/plan.hpp"
#include "storage/inputs.hpp"
#include "storage/output_directory.hpp"
#include "storage/remote_tables.hpp"
#include "storage/split.hpp"
#include "weft/failure.hpp"

namespace weft::detail {

struct PathFields;

/// The value; an error is thrown as JobFailure.
template <class T>
T value_or_fail(weft::Result<T>&& result) {
  if (!result) throw JobFailure(std::move(result).error());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

/// The driver's thread only. Everything throws JobFailure, which names the path. The destructor removes what was opened and not
/// committed.
class JobData {
 public:
  /// `files`: of the cluster; may be null. `token`: of a job that goes on with another driver when this one is killed, and nobody
  /// else's. Its outputs go on, too: those that an earlier driver has opened are taken over, and those that it has published are
  /// left as they are. Empty: outputs belong to this process.
  JobData(std::shared_ptr<storage::RemoteFiles> files, bool overwrite, std::string token = {})
      : files_(std::move(files)), overwrite_(overwrite), token_(std::move(token)) {}

  /// From now on, opened outputs belong to the job of this token.
  void belongs_to(std::string token) { token_ = std::move(token); }

  /// DriverKey::away_from: relative paths of this machine are refused from now on (invalid_argument), unless it is nothing.
  void is_away_from(std::optional<std::string> directory) { away_from_ = std::move(directory); }

  /// Outputs of earlier runs keep the directories that this one does not write. For `overwrite`.
  void keep_other_directories() { keeps_others_ = true; }

  /// Where tasks write the output at `path`: a directory or the number of a transaction. already_exists when this job writes there
  /// already; invalid_argument when an input lies in it. `known`: what an earlier driver of the job was given; plan_mismatch when
  /// that was for another path.
  std::string open_output(const std::string& path, const std::string& known = {});
  /// Throws if an output at `path`, or below it, will certainly be refused.
  void check_output(const std::string& path) const;
  /// One name for each output, however its path is written.
  std::string name_of(const std::string& path) const;
  /// Publishes the output of this name. `names`, by task: of the winning attempts' files, or of the rows that they set aside.
  void commit(const std::string& output, const std::vector<Buffer>& names);
  /// Of an output that could not be committed, when nobody will try that again: whether it is, or will be, published all the same,
  /// because only the answer was lost. False: it never will be. An error: nobody can say. Throws nothing.
  weft::Result<bool> is_published(const std::string& output);
  /// Removes what was opened and not committed.
  void abandon_outputs();
  /// Leaves it to the job's next driver.
  void leave_outputs();

  /// The files that the inputs stand for, without those that `chosen` drops, unless that is null; of a table, the snapshot that is
  /// read. invalid_argument when one lies in an output.
  std::vector<std::string> expand(std::span<const std::string> inputs, const PathFields* chosen = nullptr);
  /// The splits of files as expand() found them last. A file that has changed since then fails the job.
  std::vector<storage::SplitGroup> splits(const std::vector<std::string>& inputs, const storage::SplitOptions& options);
  /// The stage was planned by an earlier driver of the job: the snapshots of tables that it reads are kept from now on.
  void read_again(const plan::Stage& stage);
  /// Notes of expand() so far.
  const storage::InputNotes& input_notes() const { return notes_; }

 private:
  storage::RemoteTables& tables();

  const std::shared_ptr<storage::RemoteFiles> files_;
  const bool overwrite_;
  bool keeps_others_ = false;
  std::string token_;
  std::optional<std::string> away_from_;
  std::map<std::string, storage::OutputDirectory> outputs_;  // by name
  std::map<std::string, std::uint64_t> table_outputs_;       // transactions, by "table://NAME"
  std::map<std::string, storage::FileVersion> inputs_;       // by path
  storage::InputNotes notes_;
};

}  // namespace weft::detail
