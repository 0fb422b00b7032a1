#include "shuffle/store/store_directory.hpp"

#include <cerrno>
#include <filesystem>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weft::shuffle {

namespace fs = std::filesystem;

Result<Fd> own_directory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail(errno_error("creating the shuffle directory " + path, error.value()));
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return fail(errno_error("opening the shuffle directory " + path, errno));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK) return fail(Code::already_exists, "the shuffle directory " + path + " is in use by another worker");
    return fail(errno_error("locking the shuffle directory " + path, errno));
  }
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().filename().native().starts_with(kSegmentFilePrefix)) ::unlink(entry->path().c_str());
  return fd;
}

Result<void> give_name(int source, const std::string& path) {
  const std::string open_file = "/proc/self/fd/" + std::to_string(source);
  if (::linkat(AT_FDCWD, open_file.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) return fail(errno_error("creating " + path, errno));
  struct stat info {};
  off_t offset = 0;
  bool copied = ::fstat(source, &info) == 0;
  while (copied && offset < info.st_size)
    copied = ::sendfile(fd.get(), source, &offset, static_cast<std::size_t>(info.st_size - offset)) > 0 || errno == EINTR;
  if (copied) return {};
  const int code = errno;
  ::unlink(path.c_str());
  return fail(errno_error("writing " + path, code));
}

Result<void> write_named_segment(const Segment& segment, const std::string& directory, const std::string& path) {
  if (segment.home() == SegmentHome::file && segment.fd() >= 0) return give_name(segment.fd(), path);
  auto written = segment.to_file(directory);
  if (!written) return fail(std::move(written).error().wrap("writing " + path));
  return give_name(written->get(), path);
}

}  // namespace weft::shuffle
