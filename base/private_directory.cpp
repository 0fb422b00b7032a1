#include "base/private_directory.hpp"

#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.hpp"
#include "base/log.hpp"

namespace weft {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
constexpr int kNoLink = O_PATH | O_NOFOLLOW | O_CLOEXEC;

std::optional<unsigned>& before() {
  static std::optional<unsigned> umask;  // it belongs to the process, as the mask does
  return umask;
}

using OwnDirectory = std::unique_ptr<DIR, int (*)(DIR*)>;

/// What is open, whatever its name leads to by now.
std::string name_of(const Fd& opened) { return "/proc/self/fd/" + std::to_string(opened.get()); }

bool is_gone(int error) { return error == ENOENT || error == ELOOP || error == ENOTDIR; }

Result<void> close_to_others(const Fd& opened, const struct stat& info, const fs::path& path) {
  if ((info.st_mode & kOthers) == 0) return {};
  if (::chmod(name_of(opened).c_str(), info.st_mode & 07777u & ~kOthers) == 0) return {};
  return fail(errno_error("cannot set the mode of " + path.string(), errno));
}

/// What is in a directory, which is `path`. Whoever can write into one of another owner can put anything into it at any moment,
/// links to files of everybody among it: so nothing in these is touched.
Result<void> close_contents(const Fd& directory, const std::set<uid_t>& owners, const fs::path& path) {
  const OwnDirectory list(::opendir(name_of(directory).c_str()), &::closedir);
  if (!list) return errno == ENOENT ? Result<void>() : fail(errno_error("cannot read " + path.string(), errno));
  while (const dirent* const entry = ::readdir(list.get())) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const Fd opened(::openat(directory.get(), name.c_str(), kNoLink));
    struct stat info {};
    if (!opened.valid() && is_gone(errno)) continue;
    if (!opened.valid() || ::fstat(opened.get(), &info) != 0)
      return fail(errno_error("cannot open " + (path / name).string(), errno));
    if (S_ISLNK(info.st_mode) || !owners.contains(info.st_uid)) continue;
    WEFT_TRY(close_to_others(opened, info, path / name));
    if (S_ISDIR(info.st_mode)) WEFT_TRY(close_contents(opened, owners, path / name));
  }
  return {};
}

}  // namespace

Result<void> make_private_directory(const fs::path& path) {
  std::error_code error;
  if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
  if (!error && ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) error.assign(errno, std::generic_category());
  if (error) return fail(errno_error("cannot create " + path.string(), error.value()));
  const Fd directory(::open(path.c_str(), O_PATH | O_CLOEXEC));  // which may be a link to one
  struct stat info {};
  if (!directory.valid() || ::fstat(directory.get(), &info) != 0) return fail(errno_error("cannot create " + path.string(), errno));
  if (!S_ISDIR(info.st_mode)) return fail(Code::io, "cannot create " + path.string() + ": it is no directory");
  WEFT_TRY(close_to_others(directory, info, path));
  return close_contents(directory, {info.st_uid, ::geteuid()}, path);
}

Result<void> keep_others_from_writing(const fs::path& path) {
  constexpr mode_t kWrites = S_IWGRP | S_IWOTH;
  const Fd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));  // which may be a link to one
  struct stat info {};
  if (!directory.valid() || ::fstat(directory.get(), &info) != 0)
    return fail(errno_error("cannot open the directory " + path.string(), errno));
  const bool own = info.st_uid == ::geteuid();
  if (!own && info.st_uid != 0)
    return fail(
        Code::invalid_argument,
        fmt::format("the directory {} belongs to the user {}, who could exchange what is in it; give it to the user who runs "
                    "this (chown), or name another one",
                    path.string(), info.st_uid));
  if ((info.st_mode & kWrites) == 0 || (info.st_mode & S_ISVTX) != 0) return {};
  const Log log("files");
  if (!own) {
    log.warn("other users can exchange what is in the directory {}, which belongs to root: chmod go-w, or give it to this user",
             path.string());
    return {};
  }
  if (::chmod(name_of(directory).c_str(), info.st_mode & 07777u & ~kWrites) != 0)
    return fail(errno_error("cannot take the right to write in " + path.string() + " from other users", errno));
  log.warn("other users could write in the directory {}, and cannot any more (its mode was {:04o})", path.string(),
           info.st_mode & 07777u);
  return {};
}

void keep_files_private() {
  const mode_t was = ::umask(077);
  if (!before()) before() = was;
}

std::optional<unsigned> users_umask() { return before(); }

}  // namespace weft
