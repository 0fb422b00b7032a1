#include "storage/output_directory.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.hpp"
#include "base/named_file.hpp"
#include "storage/directory_swap.hpp"
#include "storage/in_parallel.hpp"
#include "storage/output_mark.hpp"
#include "storage/staged_name.hpp"

namespace weft::storage {
namespace {

namespace fs = std::filesystem;

Error cannot_write(const std::string& path, int code) { return errno_error("cannot write output " + path, code); }

std::string work_prefix(const fs::path& output) { return "." + short_name(output.filename().native()) + ".weft-"; }

constexpr std::string_view kOfJobs = "job";  // begins the tokens of jobs, and no others
/// Between two drivers of a job nobody holds the lock of its work directory.
constexpr auto kLeftByJobs = std::chrono::hours(1);

/// In a work directory: all parts have their names, and are being moved from there.
constexpr const char* kNamed = "_NAMED";

/// With the suffix that the attempt gave its file.
std::string part_name(std::size_t index, const std::string& attempt_file) {
  return storage::part_name(index) + fs::path(attempt_file).extension().string();
}

/// A file that an attempt wrote, and where below the output directory it goes.
struct Winner {
  std::string file;  // empty: nothing was written
  std::string name;
  std::string directory;  // that the name is in; empty: the output's own
};

std::vector<Winner> winners(const std::vector<std::string>& attempt_files) {
  std::vector<Winner> found;
  for (std::size_t i = 0; i < attempt_files.size(); ++i) {
    const std::string& written = attempt_files[i];
    if (written.find('\n') == std::string::npos) {
      found.push_back({written, part_name(i, written), ""});
      continue;
    }
    for (std::size_t begin = 0, end = 0; (end = written.find('\n', begin)) != std::string::npos; begin = end + 1) {
      const auto slash = written.find('/', begin);
      if (slash >= end) continue;
      const std::string directory = written.substr(slash + 1, end - slash - 1), file = written.substr(begin, slash - begin);
      found.push_back({file, directory + "/" + part_name(i, file), directory});
    }
  }
  return found;
}

/// The directories that the files are in; nothing when some are in the output's own.
std::optional<DirectoryNames> directories_of(const std::vector<std::string>& attempt_files) {
  DirectoryNames directories;
  for (const Winner& part : winners(attempt_files)) directories.insert(part.directory);
  if (directories.contains("")) return std::nullopt;
  return directories;
}

Result<void> sync_path(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) return fail(cannot_write(path, errno));
  return {};
}

/// Durable with the directory it is in. With `repeats` it may be there already.
Result<void> make_empty(const fs::path& path, bool repeats) {
  const Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | (repeats ? 0 : O_EXCL) | O_CLOEXEC, 0666));
  if (!fd.valid()) return fail(cannot_write(path, errno));
  return {};
}

/// With `repeats` the file may have its new name already.
Result<void> name_part(const fs::path& from, const fs::path& to, bool repeats) {
  if (::rename(from.c_str(), to.c_str()) == 0) return {};
  const int code = errno;
  struct stat there {};
  if (repeats && code == ENOENT && ::lstat(to.c_str(), &there) == 0) return {};
  return fail(cannot_write(code == ENOENT ? from : to, code));
}

/// By several threads: the file system's journal takes many syncs at once.
Result<void> sync_all(const fs::path& directory, const std::vector<Winner>& parts, bool repeats) {
  constexpr std::size_t kThreads = 8;
  return in_parallel(kThreads, parts.size(), [&](std::size_t i) -> Result<void> {
    if (parts[i].file.empty()) return {};
    std::error_code error;
    const bool named = repeats && !fs::exists(directory / parts[i].file, error);  // which was synced before that
    return named ? Result<void>() : sync_path(directory / parts[i].file);
  });
}

/// Runs that died (their lock is free) leave work directories; nobody else will ever look at them.
void remove_stale_siblings(const fs::path& output) {
  std::error_code error;
  const std::string prefix = work_prefix(output);
  for (fs::directory_iterator entry(output.parent_path(), error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    if (!name.starts_with(prefix)) continue;
    std::error_code ignored;
    if (std::string_view(name).substr(prefix.size()).starts_with(kOfJobs) &&
        fs::file_time_type::clock::now() - fs::last_write_time(entry->path(), ignored) < kLeftByJobs)
      continue;
    if (lock_directory(entry->path(), LOCK_EX | LOCK_NB).valid()) fs::remove_all(entry->path(), ignored);
  }
}

std::string mark_of(const std::string& token) { return token + "\n"; }

tl::unexpected<Error> not_ours(const std::string& path) {
  return fail(Code::already_exists, "output " + path +
                                        " exists and was not written by a job (it holds other files and no _SUCCESS), so it is not "
                                        "overwritten; remove it, or name another directory");
}

/// A directory that is there was written by a run, or is empty.
Result<void> check_overwritable(const fs::path& path) {
  std::error_code error;
  if (!fs::exists(path, error) || fs::is_regular_file(fs::symlink_status(path / kSuccess, error))) return {};
  if (fs::is_empty(path, error) && !error) return {};
  return not_ours(path);
}

/// The same of the cluster's files.
Result<void> check_overwritable(RemoteFiles& remote, const std::string& path) {
  WEFT_ASSIGN(const bool exists, remote.exists(path));
  if (!exists) return {};
  WEFT_ASSIGN(const bool written_by_a_run, remote.exists(path + "/" + kSuccess));
  if (written_by_a_run) return {};
  WEFT_ASSIGN(const auto names, remote.names(path));
  if (names.empty()) return {};
  return not_ours(path);
}

/// A directory that was not written by a run, nor holds what runs wrote, but has files.
Result<void> check_foreign(const fs::path& path) {
  std::error_code error;
  bool files = false;
  for (auto entry = fs::directory_iterator(path, error); !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (fs::is_regular_file(entry->path() / kSuccess, error)) return {};
    files = files || (entry->is_regular_file(error) && !entry->path().filename().string().starts_with('.'));
  }
  return files ? not_ours(path) : Result<void>();
}

Result<void> check_target(const fs::path& path, bool overwrite) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return {};
  if (!overwrite) return fail(Code::already_exists, "output " + path.string() + " exists; remove it, or use --overwrite");
  if (!S_ISDIR(info.st_mode))
    return fail(Code::already_exists, "output " + path.string() + " exists and is no directory; it is not overwritten");
  std::error_code error;
  const fs::path here = fs::current_path(error);
  if (!error && std::mismatch(path.begin(), path.end(), here.begin(), here.end()).first == path.end())
    return fail(Code::invalid_argument, "output " + path.string() + " holds the current directory; it is not overwritten");
  return check_overwritable(path);
}

Result<void> remove_work_directory(RemoteFiles& remote, const std::string& work) {
  WEFT_ASSIGN(const bool needed, holds_replaced(remote, work));
  if (needed)
    return fail(
        Code::already_exists,
        "a run that did not replace all its directories has left in it what they held before; move that back, or remove it");
  return remote.remove(work);
}

/// Of jobs that were killed, and of those that lost: their output cannot appear any more, or must be replaced once more.
void remove_leftovers(RemoteFiles& remote, const std::string& path) {
  const std::string parent = path.substr(0, path.rfind('/')), prefix = work_prefix(path);
  const auto names = remote.names(parent);
  if (!names) return Log("storage").warn("{}", names.error().to_string());
  for (const std::string& name : *names) {
    if (!name.starts_with(prefix)) continue;
    if (auto removed = remove_work_directory(remote, parent + "/" + name); !removed)
      Log("storage").warn("{} stays, hidden: {}", parent + "/" + name, removed.error().to_string());
  }
}

}  // namespace

std::string part_name(std::size_t index) {
  char name[32];
  std::snprintf(name, sizeof name, "part-%05zu", index);
  return name;
}

Result<OutputDirectory> OutputDirectory::prepare(std::string path, bool overwrite, std::string token, RemoteFiles* remote,
                                                 OutputOwner owner) {
  if (is_remote(path)) return prepare_remote(path, overwrite, token, remote, owner);
  if (path.empty()) return fail(Code::invalid_argument, "the output path is empty");
  fs::path target = fs::absolute(path).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  if (!target.has_filename()) return fail(Code::invalid_argument, "output " + path + " is the root directory");
  OutputDirectory output;
  output.path_ = target;
  output.overwrite_ = overwrite;
  if (owner == OutputOwner::job) {
    output.mark_ = mark_of(token);
    output.published_ = has_mark(output.path_, output.mark_);
    output.work_ = target.parent_path() / (work_prefix(target) + token);  // which goes if the output is refused
  }
  if (output.published_) return output;
  WEFT_TRY(check_target(target, overwrite));
  std::error_code error;
  if (!fs::is_directory(target.parent_path(), error))
    return fail(Code::not_found,
                "cannot write output " + target.string() + ": the directory " + target.parent_path().string() + " does not exist");
  remove_stale_siblings(target);
  WEFT_TRY(output.make_work_directory(token));
  return output;
}

/// Makes and locks it. That of a job is taken over from the process before, which may hold the lock if it still lives somewhere.
Result<void> OutputDirectory::make_work_directory(const std::string& token) {
  const fs::path target(path_);
  for (int attempt = 0; attempt < 8; ++attempt) {
    work_ = (target.parent_path() / (work_prefix(target) + token)).string() +
            (attempt == 0 || repeats() ? std::string() : std::string("-") + std::to_string(attempt));
    if (::mkdir(work_.c_str(), 0777) != 0 && (errno != EEXIST || !repeats())) {
      if (errno == EEXIST) continue;
      const int code = errno;
      work_.clear();
      return fail(cannot_write(path_, code));
    }
    lock_ = lock_directory(
        work_, LOCK_EX | (repeats() ? LOCK_NB : 0));  // another run may just have taken it for a stale one and removed it
    if (lock_.valid()) return {};
    if (repeats()) lock_ = Fd(::open(work_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (lock_.valid()) return {};
  }
  return fail(Code::io, "cannot create a work directory for output " + path_);
}

Result<void> OutputDirectory::check_early(const std::string& path, bool overwrite, RemoteFiles* remote, const std::string& token) {
  const auto exists = [](const std::string& there) {
    return fail(Code::already_exists, "output " + there + " exists; remove it, or use --overwrite");
  };
  if (is_remote(path)) {
    if (remote == nullptr || overwrite) return {};
    WEFT_ASSIGN(const std::string normal, remote->normal(path));
    if (!token.empty()) {
      WEFT_ASSIGN(const bool published, has_mark(*remote, normal, mark_of(token)));
      if (published) return {};
    }
    WEFT_ASSIGN(const bool of_a_run, remote->exists(normal + "/" + kSuccess));
    return of_a_run ? exists(normal) : Result<void>();
  }
  fs::path target = fs::absolute(path).lexically_normal();
  if (!target.has_filename()) target = target.parent_path();
  std::error_code error;
  if (!token.empty() && has_mark(target, mark_of(token))) return {};
  if (fs::is_directory(target, error)) {
    if (fs::is_regular_file(target / kSuccess, error)) return overwrite ? Result<void>() : exists(target.string());
    return overwrite ? check_foreign(target) : Result<void>();
  }
  if (fs::exists(fs::symlink_status(target, error))) return check_target(target, overwrite);
  const fs::path parent = target.parent_path();
  if (!fs::is_directory(parent, error))
    return fail(Code::not_found,
                "cannot write output " + target.string() + ": the directory " + parent.string() + " does not exist");
  if (::access(parent.c_str(), W_OK | X_OK) != 0) return fail(cannot_write(target.string(), errno));
  return {};
}

OutputDirectory::OutputDirectory(OutputDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      work_(std::exchange(other.work_, {})),
      remote_(other.remote_),
      publisher_(other.publisher_),
      overwrite_(other.overwrite_),
      keeps_others_(other.keeps_others_),
      published_(other.published_),
      mark_(std::move(other.mark_)),
      begun_(std::move(other.begun_)),
      lock_(std::move(other.lock_)) {}

OutputDirectory& OutputDirectory::operator=(OutputDirectory&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    work_ = std::exchange(other.work_, {});
    remote_ = other.remote_;
    publisher_ = other.publisher_;
    overwrite_ = other.overwrite_;
    keeps_others_ = other.keeps_others_;
    published_ = other.published_;
    mark_ = std::move(other.mark_);
    begun_ = std::move(other.begun_);
    lock_ = std::move(other.lock_);
  }
  return *this;
}

OutputDirectory::~OutputDirectory() { discard(); }

void OutputDirectory::discard() {
  std::error_code ignored;
  if (publisher_ != nullptr) {
    if (work_.empty()) return;
    if (auto discarded = publisher_->discard(work_); !discarded)
      Log("storage").warn("parts of {} stay, unseen: {}", path_, discarded.error().to_string());
    if (repeats()) (void)remote_->remove(begun_);  // or it stays, hidden
  } else if (remote_ != nullptr) {
    if (!work_.empty()) (void)remove_work_directory(*remote_, work_);  // or it stays, hidden
  } else if (!work_.empty()) {
    fs::remove_all(work_, ignored);
  }
  work_.clear();
  lock_.reset();
}

void OutputDirectory::leave() {
  if (remote_ != nullptr && publisher_ == nullptr && !work_.empty()) remote_->leave_directory(work_);
  work_.clear();
  lock_.reset();
}

Result<bool> OutputDirectory::is_published() const {
  if (!repeats()) return false;
  if (remote_ != nullptr) return has_mark(*remote_, path_, mark_);
  return has_mark(path_, mark_);
}

Result<void> OutputDirectory::commit(const std::vector<std::string>& attempt_files) {
  if (!published_) {
    // The process before, if it still lived somewhere, may have published it meanwhile; so a step that fails is no failure then.
    if (auto committed = commit_once(attempt_files); !committed && !is_published().value_or(false)) return committed;
  }
  clear_up();
  return remote_ != nullptr ? Result<void>() : sync_path(fs::path(path_).parent_path());
}

Result<void> OutputDirectory::commit_once(const std::vector<std::string>& attempt_files) {
  if (publisher_ != nullptr) return commit_published(attempt_files);
  if (remote_ != nullptr) return commit_remote(attempt_files);
  return commit_local(attempt_files);
}

/// What is left when the output is there: what it has replaced, and what processes that were killed have left of it.
void OutputDirectory::clear_up() {
  if (remote_ == nullptr) {
    discard();
    std::error_code ignored;
    if (repeats() && overwrite_) fs::remove_all(aside_of(path_), ignored);
    return;
  }
  if (repeats() || (keeps_others_ && publisher_ == nullptr)) discard();
  work_.clear();
  if (publisher_ != nullptr || !remote_->leaves_directories(path_)) return;
  if (repeats() && overwrite_) (void)remote_->remove(aside_of(path_));
  remove_leftovers(*remote_, path_);
}

Result<void> OutputDirectory::commit_local(const std::vector<std::string>& attempt_files) {
  WEFT_TRY(name_parts(attempt_files));
  WEFT_TRY(sync_path(work_));
  if (overwrite_) WEFT_TRY(check_overwritable(path_));  // it may be another than when the run began
  if (repeats() && !is_work_directory())
    return fail(Code::not_found,
                "the work directory " + work_ + " of output " + path_ + " was removed or replaced while the job ran");
  const auto replaced = keeps_others_ ? directories_of(attempt_files) : std::nullopt;
  return replaced ? publish_beside_others(*replaced, attempt_files) : publish_whole();
}

/// Nobody else does the same to what is there between the look at it and its replacement.
Result<void> OutputDirectory::publish_beside_others(const DirectoryNames& replaced, const std::vector<std::string>& attempt_files) {
  if (repeats()) {  // what an earlier process has kept may be gone from there
    std::set<std::string> files{kSuccess};
    for (const Winner& part : winners(attempt_files)) files.insert(part.name);
    WEFT_TRY(remove_all_but(work_, files));
  }
  take_back(path_);
  for (int attempt = 0; attempt < 100; ++attempt) {  // others may make or replace it meanwhile
    struct stat there {};
    if (::lstat(path_.c_str(), &there) != 0) {
      auto published = publish_directory(work_, path_, false);
      if (published || published.error().code() != Code::already_exists) return published;
    } else if (const Fd lock = lock_directory(path_, LOCK_EX); lock.valid()) {
      WEFT_TRY(check_overwritable(path_));
      WEFT_TRY(link_others(path_, work_, replaced));
      return publish_directory(work_, path_, true);
    } else if (::access(path_.c_str(), R_OK) != 0 && errno != ENOENT) {
      return fail(cannot_write(path_, errno));
    }
  }
  return fail(Code::unavailable, "output " + path_ + " is being replaced again and again; try later");
}

/// Waits for runs that keep a part of what is there: what this one replaces has all that they have written.
Result<void> OutputDirectory::publish_whole() {
  const Fd lock = overwrite_ ? lock_directory(path_, LOCK_EX) : Fd();
  return publish_directory(work_, path_, overwrite_);
}

/// That it is the one that was prepared: another one may have its name when the output that it replaced is there.
bool OutputDirectory::is_work_directory() const {
  struct stat ours {};
  struct stat there {};
  return ::fstat(lock_.get(), &ours) == 0 && ::lstat(work_.c_str(), &there) == 0 && ours.st_ino == there.st_ino &&
         ours.st_dev == there.st_dev;
}

/// Leaves exactly the winners under their final names, and _SUCCESS, in the work directory, all synced.
Result<void> OutputDirectory::name_parts(const std::vector<std::string>& attempt_files) {
  const fs::path work(work_);
  const std::vector<Winner> parts = winners(attempt_files);
  WEFT_TRY(sync_all(work, parts, repeats()));
  std::set<std::string> kept, directories;
  std::error_code error;
  for (const auto& [file, name, directory] : parts) {
    if (file.find('/') != std::string::npos) return fail(Code::internal, "output part " + file + " is not in the work directory");
    if (!directory.empty() && directories.insert(directory).second) {
      fs::create_directories(work / directory, error);
      if (error) return fail(cannot_write(work / directory, error.value()));
    }
    if (file.empty())
      WEFT_TRY(make_empty(work / name, repeats()));
    else
      WEFT_TRY(name_part(work / file, work / name, repeats()));
    kept.insert(fs::path(name).begin()->string());
  }
  for (const std::string& directory : directories) {
    for (fs::path path = directory; !path.empty(); path = path.parent_path()) WEFT_TRY(sync_path(work / path));
  }
  for (fs::directory_iterator entry(work, error), end; !error && entry != end; entry.increment(error)) {
    std::error_code ignored;  // losers of races between attempts
    if (!kept.contains(entry->path().filename())) fs::remove_all(entry->path(), ignored);
  }
  return write_mark(work_, mark_);
}

Result<OutputDirectory> OutputDirectory::prepare_remote(const std::string& path, bool overwrite, const std::string& token,
                                                        RemoteFiles* remote, OutputOwner owner) {
  if (remote == nullptr)
    return fail(Code::invalid_argument, "output " + path + ": the files of the cluster cannot be written here");
  OutputDirectory output;
  WEFT_ASSIGN(output.path_, remote->normal(path));
  const auto slash = output.path_.rfind('/');
  const std::string name = output.path_.substr(slash + 1);
  if (name.empty()) return fail(Code::invalid_argument, "output " + path + " is the root directory");
  const std::string work = output.path_.substr(0, slash + 1) + work_prefix(name) + token;
  output.remote_ = remote;
  output.overwrite_ = overwrite;
  output.publisher_ = remote->publisher(output.path_);
  bool begun = false;
  if (owner == OutputOwner::job) {
    output.mark_ = mark_of(token);
    WEFT_ASSIGN(output.published_, output.is_published());
    if (output.publisher_ != nullptr) {
      output.begun_ = work;
      WEFT_ASSIGN(begun, remote->exists(work));
    } else {
      output.work_ = work;  // which goes if the output is refused
    }
  }
  if (!output.published_ && !begun) {
    WEFT_ASSIGN(const bool exists, remote->exists(output.path_));
    if (exists && !overwrite)
      return fail(Code::already_exists, "output " + output.path_ + " exists; remove it, or use --overwrite");
    WEFT_TRY(check_overwritable(*remote, output.path_));
  }
  if (output.publisher_ != nullptr) {
    if (!output.published_) WEFT_TRY(output.publisher_->check_writable(output.path_));
    output.work_ = output.path_;
    return output;
  }
  if (!output.published_) {
    auto made = output.repeats() ? remote->take_over_directory(work) : remote->make_directory(work);
    if (!made) return fail(std::move(made).error().wrap("cannot write output " + output.path_));
  }
  output.work_ = work;
  return output;
}

/// A job's output is being published from when `begun_` is there: then what is below `path_` is the work of its drivers.
Result<void> OutputDirectory::commit_published(const std::vector<std::string>& attempt_files) {
  std::vector<StagedFile> staged;
  for (const Winner& part : winners(attempt_files)) staged.push_back({path_ + "/" + part.name, receipt_in(part.file)});
  bool begun = false;
  if (repeats()) {
    WEFT_ASSIGN(begun, remote_->exists(begun_));
  }
  if (!begun && overwrite_) {
    WEFT_TRY(check_overwritable(*remote_, path_));
  } else if (!begun) {
    WEFT_ASSIGN(const bool exists, remote_->exists(path_));
    if (exists) return fail(Code::already_exists, "output " + path_ + " was created by somebody else while the job ran");
  }
  if (repeats() && !begun) {
    WEFT_ASSIGN(const auto file, remote_->create(begun_));
    WEFT_TRY(file->close());
  }
  Replaced replaced = overwrite_ ? Replaced::all : Replaced::nothing;
  if (keeps_others_ && directories_of(attempt_files)) replaced = Replaced::directories;
  return publisher_->publish(path_, staged, {path_ + "/" + kSuccess, mark_}, replaced);
}

Result<void> OutputDirectory::make_empty_remote(const std::string& name) {
  if (repeats()) {
    WEFT_ASSIGN(const bool exists, remote_->exists(work_ + "/" + name));
    if (exists) return {};
  }
  WEFT_ASSIGN(const auto file, remote_->create(work_ + "/" + name));
  return file->close();
}

Result<void> OutputDirectory::name_remote(const std::string& file, const std::string& name) {
  const std::string from = work_ + "/" + file, to = work_ + "/" + name;
  auto renamed = remote_->rename(from, to, repeats());
  if (renamed || !repeats() || renamed.error().code() != Code::not_found) return renamed;
  WEFT_ASSIGN(const bool named, remote_->exists(to));
  return named ? Result<void>() : renamed;
}

/// Leaves exactly the winners under their final names in the work directory. Files of the cluster are durable when they are closed.
Result<void> OutputDirectory::name_remote_parts(const std::vector<std::string>& attempt_files) {
  std::set<std::string> kept, made;
  for (const auto& [file, name, directory] : winners(attempt_files)) {
    const std::string top = name.substr(0, name.find('/'));
    for (std::size_t end = directory.find('/'); !directory.empty(); end = directory.find('/', end + 1)) {
      const std::string path = work_ + "/" + directory.substr(0, end);
      if (made.insert(path).second) WEFT_TRY(remote_->make_subdirectory(path));
      if (end == std::string::npos) break;
    }
    WEFT_TRY(file.empty() ? make_empty_remote(name) : name_remote(file, name));
    kept.insert(top);
  }
  WEFT_ASSIGN(const auto names, remote_->names(work_));
  for (const std::string& name : names)
    if (!kept.contains(name)) WEFT_TRY(remote_->remove(work_ + "/" + name));
  return {};
}

/// As on local disks.
Result<void> OutputDirectory::commit_remote(const std::vector<std::string>& attempt_files) {
  bool named = false;
  if (keeps_others_ && repeats()) {
    WEFT_ASSIGN(named, remote_->exists(work_ + "/" + kNamed));
  }
  if (!named) WEFT_TRY(name_remote_parts(attempt_files));
  if (overwrite_) WEFT_TRY(check_overwritable(*remote_, path_));
  if (const auto replaced = keeps_others_ ? directories_of(attempt_files) : std::nullopt) {
    WEFT_ASSIGN(const bool there, remote_->exists(path_ + "/" + kSuccess));
    if (there) return move_remote(*replaced, named);
    // Nothing that is to be kept; but another run may publish the first directories meanwhile.
    WEFT_TRY(write_mark(*remote_, work_, mark_));
    auto renamed = remote_->rename(work_, path_, false);
    if (renamed || renamed.error().code() != Code::already_exists) return renamed;
    WEFT_ASSIGN(const bool made, remote_->exists(path_ + "/" + kSuccess));
    return made ? move_remote(*replaced, named) : remote_->rename(work_, path_, true);
  }
  WEFT_TRY(write_mark(*remote_, work_, mark_));
  return remote_->rename(work_, path_, overwrite_);
}

/// `named`: an earlier process has named all parts, and moved some perhaps.
Result<void> OutputDirectory::move_remote(const DirectoryNames& replaced, bool named) {
  if (repeats() && !named) WEFT_TRY(make_empty_remote(kNamed));
  WEFT_TRY(move_directories(*remote_, work_, path_, replaced, named));
  const std::string mark = work_ + "/" + kSuccess;
  WEFT_ASSIGN(const bool marked, remote_->exists(mark));
  if (!marked) WEFT_TRY(write_mark(*remote_, work_, mark_));
  return remote_->rename(mark, path_ + "/" + kSuccess, true);
}

}  // namespace weft::storage
