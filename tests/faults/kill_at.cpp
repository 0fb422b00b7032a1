// A process that is killed at a given write or sync of its files: preloaded, counts the calls on files whose paths begin with a
// prefix, and ends the process by SIGKILL at one of them.
//
//   LD_PRELOAD=libkill_at.so WEFT_KILL_PATH=/scratch/data/journal WEFT_KILL_AT=7 weft master …
//
// The points, counted from 1 in the order in which they are reached: when half of a write is done, before a sync, and after it.
// System calls are made directly: nothing here calls what it replaces.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/support/file_path.hpp"

namespace {

bool is_watched(int fd) {
  static const char* const prefix = std::getenv("WEFT_KILL_PATH");
  char path[4096];
  return prefix != nullptr && !weft::test::path_of(fd, path).empty() && std::strncmp(path, prefix, std::strlen(prefix)) == 0;
}

/// Whether this is the point.
bool reached() {
  static const char* const text = std::getenv("WEFT_KILL_AT");
  static const long wanted = text == nullptr ? 0 : std::atol(text);
  static std::atomic<long> points{0};
  return ++points == wanted;
}

void die() {
  ::syscall(SYS_kill, ::syscall(SYS_getpid), SIGKILL);
  while (true) ::syscall(SYS_pause);
}

template <class Call>
int sync(int fd, Call call) {
  const bool watched = is_watched(fd);
  if (watched && reached()) die();
  const int done = call();
  if (watched && reached()) die();
  return done;
}

}  // namespace

extern "C" {

// NOLINTBEGIN: the C library's own names and types
ssize_t write(int fd, const void* bytes, size_t size) {
  if (is_watched(fd) && reached()) {
    ::syscall(SYS_write, fd, bytes, size / 2);
    die();
  }
  return ::syscall(SYS_write, fd, bytes, size);
}
ssize_t writev(int fd, const struct iovec* pieces, int count) {
  if (is_watched(fd) && reached()) {
    if (count > 0) ::syscall(SYS_write, fd, pieces[0].iov_base, pieces[0].iov_len / 2);
    die();
  }
  return ::syscall(SYS_writev, fd, pieces, count);
}
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  if (is_watched(fd) && reached()) {
    ::syscall(SYS_pwrite64, fd, bytes, size / 2, offset);
    die();
  }
  return ::syscall(SYS_pwrite64, fd, bytes, size, offset);
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) { return pwrite(fd, bytes, size, offset); }
int fsync(int fd) {
  return sync(fd, [&] { return static_cast<int>(::syscall(SYS_fsync, fd)); });
}
int fdatasync(int fd) {
  return sync(fd, [&] { return static_cast<int>(::syscall(SYS_fdatasync, fd)); });
}
// NOLINTEND
}
