// Disks that fail or are slow: preloaded into a process, makes its calls on files below a directory fail, or wait before they are
// made, while a file that says so exists.
//
//   LD_PRELOAD=libdisk_faults.so WEFT_DISK_FAULTS=/scratch/faults weft worker …
//   echo "5 write,sync /scratch/chunks-1" > /scratch/faults      (errno, operations, directory; several lines are fine)
//   echo "-60 sync /scratch/chunks-1" > /scratch/faults          (60 milliseconds)
//
// Operations: open (with O_CREAT), write, sync, read, rename, allocate. System calls are made directly: nothing here calls what it
// replaces.
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/support/file_path.hpp"

namespace {

void wait_for(long milliseconds) {
  timespec left{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

/// The errno that the operation on this path is to fail with; 0: none. Waits as long as it is to.
int fault(const char* path, const char* operation) {
  static const char* const file = std::getenv("WEFT_DISK_FAULTS");
  if (file == nullptr) return 0;
  const long fd = ::syscall(SYS_openat, AT_FDCWD, file, O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return 0;
  char text[4096];
  const long size = ::syscall(SYS_read, fd, text, sizeof text - 1);
  ::syscall(SYS_close, fd);
  if (size <= 0) return 0;
  text[size] = '\0';
  char* rest = nullptr;
  for (char* line = ::strtok_r(text, "\n", &rest); line != nullptr; line = ::strtok_r(nullptr, "\n", &rest)) {
    int number = 0;
    char operations[64], directory[1024];
    if (std::sscanf(line, "%d %63s %1023s", &number, operations, directory) != 3) continue;
    if (std::strstr(operations, operation) == nullptr || std::strncmp(path, directory, std::strlen(directory)) != 0) continue;
    if (number > 0) return number;
    wait_for(-number);
  }
  return 0;
}

int fault(int fd, const char* operation) {
  char path[4096];
  return weft::test::path_of(fd, path).empty() ? 0 : fault(path, operation);
}

template <class Call>
auto unless(int number, Call call) -> decltype(call()) {
  if (number == 0) return call();
  errno = number;
  return -1;
}

int open_file(const char* path, int flags, unsigned mode) {
  return unless((flags & O_CREAT) != 0 ? fault(path, "open") : 0,
                [&] { return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode)); });
}

}  // namespace

extern "C" {

// NOLINTBEGIN: the C library's own names and types
ssize_t write(int fd, const void* bytes, size_t size) {
  return unless(fault(fd, "write"), [&]() -> ssize_t { return ::syscall(SYS_write, fd, bytes, size); });
}
ssize_t writev(int fd, const struct iovec* pieces, int count) {
  return unless(fault(fd, "write"), [&]() -> ssize_t { return ::syscall(SYS_writev, fd, pieces, count); });
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return unless(fault(fd, "write"), [&]() -> ssize_t { return ::syscall(SYS_pwrite64, fd, bytes, size, offset); });
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) { return pwrite(fd, bytes, size, offset); }
ssize_t read(int fd, void* bytes, size_t size) {
  return unless(fault(fd, "read"), [&]() -> ssize_t { return ::syscall(SYS_read, fd, bytes, size); });
}
ssize_t pread(int fd, void* bytes, size_t size, off_t offset) {
  return unless(fault(fd, "read"), [&]() -> ssize_t { return ::syscall(SYS_pread64, fd, bytes, size, offset); });
}
ssize_t pread64(int fd, void* bytes, size_t size, off64_t offset) { return pread(fd, bytes, size, offset); }
int fallocate(int fd, int mode, off_t offset, off_t size) {
  return unless(fault(fd, "allocate"), [&] { return static_cast<int>(::syscall(SYS_fallocate, fd, mode, offset, size)); });
}
int fallocate64(int fd, int mode, off64_t offset, off64_t size) { return fallocate(fd, mode, offset, size); }
int fsync(int fd) {
  return unless(fault(fd, "sync"), [&] { return static_cast<int>(::syscall(SYS_fsync, fd)); });
}
int fdatasync(int fd) {
  return unless(fault(fd, "sync"), [&] { return static_cast<int>(::syscall(SYS_fdatasync, fd)); });
}
int rename(const char* from, const char* to) noexcept {
  return unless(fault(to, "rename"), [&] { return static_cast<int>(::syscall(SYS_rename, from, to)); });
}
int open(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const unsigned mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0;
  va_end(more);
  return open_file(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  const unsigned mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0;
  va_end(more);
  return open_file(path, flags, mode);
}
// NOLINTEND
}
