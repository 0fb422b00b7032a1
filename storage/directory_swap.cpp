#include "storage/directory_swap.hpp"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <linux/fs.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/named_file.hpp"

namespace weft::storage {

namespace {

Error cannot_write(const std::string& path, int code) { return errno_error("cannot write output " + path, code); }

Error made_by_others(const std::string& path) {
  return Error(Code::already_exists, "output " + path + " was created by somebody else while the job ran");
}

}  // namespace

std::string aside_of(const std::string& path) {
  const auto name = path.rfind('/') + 1;
  return path.substr(0, name) + short_name(path.substr(name)) + ".weft-replaced";
}

Fd lock_directory(const std::string& path, int how) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd.valid() || ::flock(fd.get(), how) != 0) return {};
  struct stat ours {};
  struct stat there {};
  if (::fstat(fd.get(), &ours) != 0 || ::stat(path.c_str(), &there) != 0 || ours.st_ino != there.st_ino) return {};
  return fd;
}

Result<void> publish_directory(const std::string& work, const std::string& path, bool overwrite) {
  if (::renameat2(AT_FDCWD, work.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) return {};
  int code = errno;
  if (code == EEXIST && overwrite) {
    if (::renameat2(AT_FDCWD, work.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) == 0) return {};
    code = errno;
  }
  if (code == EEXIST) return fail(made_by_others(path));
  if (code != EINVAL && code != ENOSYS) return fail(cannot_write(path, code));
  // A file system without these flags (NFS): two steps.
  const std::string aside = aside_of(path);
  if (overwrite && ::rename(path.c_str(), aside.c_str()) != 0 && errno != ENOENT) return fail(cannot_write(path, errno));
  if (::rename(work.c_str(), path.c_str()) != 0) {
    code = errno;
    if (overwrite) static_cast<void>(::rename(aside.c_str(), path.c_str()));
    return fail(code == ENOTEMPTY || code == EEXIST ? made_by_others(path) : cannot_write(path, code));
  }
  if (overwrite) static_cast<void>(::rename(aside.c_str(), work.c_str()));
  return {};
}

void take_back(const std::string& path) {
  static_cast<void>(::renameat2(AT_FDCWD, aside_of(path).c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE));
  if (struct stat there{}; ::lstat(path.c_str(), &there) != 0) static_cast<void>(::rename(aside_of(path).c_str(), path.c_str()));
}

}  // namespace weft::storage
