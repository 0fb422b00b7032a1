#include "storage/files/job_files.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>

#include "base/log.hpp"
#include "storage/files/file_system.hpp"
#include "storage/files/routed_files.hpp"
#include "storage/namespace/path.hpp"
#include "storage/remote_waiting.hpp"
#include "storage/tables/job_tables.hpp"

namespace weft::storage::files {
namespace {

/// How tasks of a worker learn what is in JobFilesOptions.
struct Variable {
  const char* name;
  std::string JobFilesOptions::*value;
};
constexpr std::array kVariables{
    Variable{"WEFT_FILES", &JobFilesOptions::master}, Variable{"WEFT_FILES_HOST", &JobFilesOptions::host},
    Variable{"WEFT_FILES_USER", &JobFilesOptions::user}, Variable{"WEFT_FILES_DIRECTORY", &JobFilesOptions::directory}};

/// The directory itself is, too.
bool is_within(std::string_view path, const std::string& directory) {
  return path == directory || path.starts_with(directory + "/");
}

std::string url_of(std::string_view path) { return std::string(kScheme) + std::string(path.substr(1)); }

FileVersion version_of(const FileStatus& status) { return {.bytes = status.bytes, .id = status.id.value()}; }

class ClusterFile final : public RemoteFile {
 public:
  explicit ClusterFile(std::unique_ptr<FileReader> reader) : reader_(std::move(reader)) {}
  std::uint64_t size() const override { return reader_->status().bytes; }
  Result<std::size_t> read(std::uint64_t offset, MutableBytes into) override { return reader_->read(offset, into); }
  void will_read(std::uint64_t, std::uint64_t end) override { reader_->will_read(end); }

 private:
  std::unique_ptr<FileReader> reader_;
};

class ClusterOutput final : public RemoteOutput {
 public:
  explicit ClusterOutput(std::unique_ptr<FileWriter> writer) : writer_(std::move(writer)) {}
  Result<void> append(ByteView bytes) override { return writer_->append(bytes); }
  Result<void> close() override { return writer_->close(); }

 private:
  std::unique_ptr<FileWriter> writer_;
};

class JobFiles final : public RemoteFiles, public TablesBesideFiles, public WaitsForMaster {
 public:
  explicit JobFiles(JobFilesOptions options)
      : options_(std::move(options)),
        tables_(tables::job_tables(options_.master, options_.host, options_.user, options_.at_first)) {}

  using RemoteFiles::expand;
  Result<InputFiles> expand(const std::string& input, const DirectoryFilter& wanted) override {
    WEFT_ASSIGN(const auto files, connected());
    WEFT_ASSIGN(const auto paths, files->glob(input));
    InputFiles found;
    for (const std::string& path : paths) {
      WEFT_ASSIGN(const FileStatus status, files->stat(path));
      WEFT_TRY(add(*files, status, wanted, found));
    }
    return found;
  }

  Result<std::vector<RemotePiece>> pieces(const std::string& path, const FileVersion& listed) override {
    WEFT_ASSIGN(const auto files, connected());
    WEFT_ASSIGN(FileLayout layout, files->layout(path));
    WEFT_TRY(check_same(path, listed, version_of(layout.file)));
    std::vector<RemotePiece> pieces;
    for (FilePiece& piece : layout.pieces) pieces.push_back({piece.offset, piece.length, std::move(piece.hosts)});
    return pieces;
  }

  Result<std::unique_ptr<RemoteFile>> open(const std::string& path, const FileVersion& listed) override {
    WEFT_ASSIGN(const auto files, connected());
    WEFT_ASSIGN(auto reader, files->open(path));
    WEFT_TRY(check_same(path, listed, version_of(reader->status())));
    return std::unique_ptr<RemoteFile>(std::make_unique<ClusterFile>(std::move(reader)));
  }

  Result<std::unique_ptr<RemoteOutput>> create(const std::string& path) override {
    WEFT_ASSIGN(const auto files, connected());
    WEFT_ASSIGN(auto writer, files->create(path, {.together = true}));
    return std::unique_ptr<RemoteOutput>(std::make_unique<ClusterOutput>(std::move(writer)));
  }

  Result<std::string> normal(const std::string& path) override { return parse_path(path).map(url_of); }

  Result<bool> exists(const std::string& path) override {
    WEFT_ASSIGN(const auto files, connected());
    const auto status = files->stat(path);
    if (status) return true;
    if (status.error().code() == Code::not_found) return false;
    return fail(status.error());
  }

  Result<void> make_directory(const std::string& path) override { return lease(path, false); }
  Result<void> take_over_directory(const std::string& path) override {
    {
      const std::lock_guard lock(mutex_);
      if (leases_.contains(path)) return {};
    }
    return lease(path, true);
  }
  /// Without a lease, which would cost a thread and requests for as long as it is held.
  Result<void> make_subdirectory(const std::string& path) override {
    WEFT_ASSIGN(const auto files, connected());
    auto made = files->make_directory(path, false);
    if (made || made.error().code() != Code::already_exists) return made;
    WEFT_ASSIGN(const FileStatus there, files->stat(path));
    return there.directory ? Result<void>() : std::move(made);
  }
  void leave_directory(const std::string& path) override {
    const std::lock_guard lock(mutex_);
    std::erase_if(leases_, [&](auto& item) {
      if (!is_within(item.first, path)) return false;
      item.second->leave();
      return true;
    });
  }
  Result<std::vector<std::string>> names(const std::string& directory) override {
    WEFT_ASSIGN(const auto files, connected());
    WEFT_ASSIGN(const auto entries, files->list(directory));
    std::vector<std::string> all;
    for (const FileStatus& entry : entries) all.emplace_back(name_of(entry.path));
    return all;
  }
  Result<void> rename(const std::string& from, const std::string& to, bool replace) override {
    WEFT_ASSIGN(const auto files, connected());
    WEFT_TRY(files->rename(from, to, replace));
    (void)take_leases(from);  // nothing has that name any more
    return {};
  }
  Result<void> remove(const std::string& path) override {
    WEFT_ASSIGN(const auto files, connected());
    const auto removed = files->remove(path, true);
    (void)take_leases(path);
    return removed;
  }
  void stop_waiting() override {
    stop_waiting_for_master(tables_.get());
    const std::lock_guard lock(mutex_);
    waits_ = false;
    files_.reset();
  }
  RemoteTables* tables() override { return tables_.get(); }

 private:
  static Result<void> add(FileSystem& files, const FileStatus& status, const DirectoryFilter& wanted, InputFiles& found) {
    if (!status.directory) {
      found.paths.push_back(url_of(status.path));
      found.versions.push_back(version_of(status));
      return {};
    }
    WEFT_ASSIGN(const auto entries, files.list(status.path));
    for (const FileStatus& entry : entries) {
      if (is_skipped(name_of(entry.path)))
        found.skipped.push_back(url_of(entry.path));
      else if (entry.directory && wanted && !wanted(name_of(entry.path)))
        ++found.unwanted;
      else
        WEFT_TRY(add(files, entry, wanted, found));
    }
    return {};
  }

  Result<void> lease(const std::string& path, bool take_over) {
    WEFT_ASSIGN(const auto files, connected());
    WEFT_ASSIGN(auto leased, files->lease_directory(path, take_over));
    const std::lock_guard lock(mutex_);
    leases_[path] = std::move(leased);
    return {};
  }

  /// Of the directory and of all below it. They end with what is returned, which asks the master: without the lock.
  std::vector<std::unique_ptr<DirectoryLease>> take_leases(const std::string& path) {
    std::vector<std::unique_ptr<DirectoryLease>> taken;
    const std::lock_guard lock(mutex_);
    for (auto next = leases_.begin(); next != leases_.end();) {
      const auto at = next++;
      if (is_within(at->first, path)) taken.push_back(std::move(leases_.extract(at).mapped()));
    }
    return taken;
  }

  Result<std::shared_ptr<FileSystem>> connected() {
    const std::lock_guard lock(mutex_);
    if (files_) return files_;
    if (lost_) return fail(*lost_);
    if (options_.master.empty())
      return fail(Code::invalid_argument,
                  "weft:// paths need the master that keeps the files: say --files HOST:PORT or set WEFT_MASTER");
    FileSystemOptions options;
    options.user = options_.user;
    options.writer = options_.host;
    options.directory = options_.directory;
    options.racks = options_.racks;
    std::error_code none;
    if (options.directory.empty()) options.directory = std::filesystem::temp_directory_path(none);
    options.waiting = [](const std::string& what) { Log("files").warn("{}", what); };
    options.at_first = options_.at_first;
    options.patience = std::max(options.patience, options.at_first);
    if (!waits_) options.patience = Duration(0);
    auto made = FileSystem::connect(options_.master, options);
    if (!made && !waits_) lost_ = made.error();
    WEFT_ASSIGN(files_, std::move(made));
    return files_;
  }

  const JobFilesOptions options_;
  const std::unique_ptr<RemoteTables> tables_;
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<FileSystem> files_;
  bool waits_ = true;
  std::optional<Error> lost_;                                      // the master is, and nobody waits for it
  std::map<std::string, std::unique_ptr<DirectoryLease>> leases_;  // of directories made here that have their name still
};

}  // namespace

std::shared_ptr<RemoteFiles> job_files(JobFilesOptions options) {
  const std::string scratch = options.directory;
  return routed_files(std::make_shared<JobFiles>(std::move(options)), scratch);
}

std::shared_ptr<RemoteFiles> job_files_of_environment(std::shared_ptr<RackTally> racks) {
  JobFilesOptions options;
  options.racks = std::move(racks);
  for (const Variable& variable : kVariables)
    if (const char* value = std::getenv(variable.name)) options.*variable.value = value;
  return job_files(std::move(options));
}

std::vector<std::string> environment_of(const JobFilesOptions& options) {
  std::vector<std::string> variables;
  for (const Variable& variable : kVariables)
    if (!(options.*variable.value).empty()) variables.push_back(std::string(variable.name) + "=" + options.*variable.value);
  return variables;
}

}  // namespace weft::storage::files
