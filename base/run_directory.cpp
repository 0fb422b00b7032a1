#include "base/run_directory.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr std::array kKinds{"master", "worker", "private", "run"};
constexpr std::size_t kRandomLetters = 6;
constexpr const char* kLock = "lock";

std::string prefix_of(std::string_view kind) { return "weft-" + std::string(kind) + "-"; }

bool is_of_a_run(const std::string& name) {
  return std::any_of(kKinds.begin(), kKinds.end(), [&](const char* kind) {
    const std::string prefix = prefix_of(kind);
    return name.starts_with(prefix) && name.size() == prefix.size() + kRandomLetters;
  });
}

bool is_ours(int fd, mode_t type) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && (info.st_mode & S_IFMT) == type && info.st_uid == ::geteuid();
}

/// Locked by this call, so that its run is over; an invalid descriptor otherwise.
Fd lock_left_one(const fs::path& path) {
  const Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory.valid() || !is_ours(directory.get(), S_IFDIR)) return {};
  Fd lock(::openat(directory.get(), kLock, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!lock.valid() || !is_ours(lock.get(), S_IFREG) || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return {};
  return lock;
}

/// The file gets its name when it is locked: a lock that is there and free is of a run that is over.
Result<Fd> lock_new(const fs::path& directory) {
  const fs::path fresh = directory / "lock.new";
  Fd lock(::open(fresh.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock.valid()) return fail(errno_error("cannot create " + fresh.string(), errno));
  // Where nothing can be locked the directory stays when its run is killed.
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return Fd();
  if (::rename(fresh.c_str(), (directory / kLock).c_str()) != 0)
    return fail(errno_error("cannot create " + (directory / kLock).string(), errno));
  return lock;
}

}  // namespace

std::size_t RunDirectory::sweep(const fs::path& parent) {
  std::size_t removed = 0;
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    if (!is_of_a_run(at->path().filename().string())) continue;
    const Fd lock = lock_left_one(at->path());
    std::error_code ignored;
    if (lock.valid() && fs::remove_all(at->path(), ignored) != static_cast<std::uintmax_t>(-1)) ++removed;
  }
  return removed;
}

Result<RunDirectory> RunDirectory::create(const std::string& kind, const fs::path& parent) {
  const char* environment = std::getenv("TMPDIR");
  const fs::path where = !parent.empty() ? parent : environment != nullptr && *environment != '\0' ? environment : "/tmp";
  sweep(where);
  WEFT_ASSIGN(TempDir directory, TempDir::create(prefix_of(kind), where));
  WEFT_ASSIGN(Fd lock, lock_new(directory.path()));
  return RunDirectory(std::move(directory), std::move(lock));
}

}  // namespace weft
