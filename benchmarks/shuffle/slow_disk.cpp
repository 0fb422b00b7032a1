// A disk of a given rate behind a page cache of a given size: preloaded into processes, makes their writes below a directory wait
// while more than the cache holds is not yet on the disk, and their syncs until everything is.
//
//   LD_PRELOAD=libslow_disk.so WEFT_SLOW_DISK="RATE CACHE STATE DIRECTORY [SEEK]" weft worker …
//
// Bytes a second, bytes, a file of 16 bytes that makes processes share the disk, where the disk is, and the microseconds that its
// head takes to go from one file to another (0): a write to another file than the one before takes so much longer. Reads do not
// wait: what was written lately is in the page cache. The bytes themselves go where they would have gone.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/support/file_path.hpp"

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * kSecond + time.tv_nsec;
}

void sleep_until(std::int64_t at) {
  const timespec time{at / kSecond, at % kSecond};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) != 0) {
  }
}

class SlowDisk {
 public:
  static const SlowDisk& here() {
    static const SlowDisk disk;
    return disk;
  }
  bool has(int fd) const {
    char path[4096];
    return state_ != nullptr && weft::test::path_of(fd, path).starts_with(directory_);
  }
  void take(int fd, std::int64_t bytes) const {
    const std::int64_t begins = now(), lasts = bytes * kSecond / rate_ + seek(fd);
    std::int64_t before = state_->idle_at.load(), after = 0;
    do {
      after = (before > begins ? before : begins) + lasts;
    } while (!state_->idle_at.compare_exchange_weak(before, after));
    sleep_until(after - cache_ * kSecond / rate_);
  }
  void drain() const { sleep_until(state_->idle_at.load()); }

 private:
  struct State {
    std::atomic<std::int64_t> idle_at;  // when the disk has written all it was given
    std::atomic<std::uint64_t> file;    // that was written last
  };

  SlowDisk() {
    const char* setting = std::getenv("WEFT_SLOW_DISK");
    char state[1024];
    if (setting == nullptr || std::sscanf(setting, "%ld %ld %1023s %1023s %ld", &rate_, &cache_, state, directory_, &seek_) < 4)
      return;
    const int fd = ::open(state, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ::ftruncate(fd, sizeof *state_) != 0) std::abort();
    void* mapped = ::mmap(nullptr, sizeof *state_, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    if (mapped == MAP_FAILED) std::abort();
    state_ = static_cast<State*>(mapped);
  }

  std::int64_t seek(int fd) const {
    struct stat file {};
    if (seek_ == 0 || ::fstat(fd, &file) != 0) return 0;
    return state_->file.exchange(file.st_ino) == file.st_ino ? 0 : seek_ * (kSecond / 1'000'000);
  }

  char directory_[1024] = {};
  long rate_ = 1, cache_ = 0, seek_ = 0;
  State* state_ = nullptr;  // null: there is no such disk
};

ssize_t taken(int fd, ssize_t written) {
  if (written > 0 && SlowDisk::here().has(fd)) SlowDisk::here().take(fd, written);
  return written;
}

int synced(int fd, long result) {
  if (result == 0 && SlowDisk::here().has(fd)) SlowDisk::here().drain();
  return static_cast<int>(result);
}

}  // namespace

extern "C" {

// NOLINTBEGIN: the C library's own names and types
ssize_t write(int fd, const void* bytes, size_t size) { return taken(fd, ::syscall(SYS_write, fd, bytes, size)); }
ssize_t writev(int fd, const struct iovec* pieces, int count) { return taken(fd, ::syscall(SYS_writev, fd, pieces, count)); }
ssize_t pwrite(int fd, const void* bytes, size_t size, off_t offset) {
  return taken(fd, ::syscall(SYS_pwrite64, fd, bytes, size, offset));
}
ssize_t pwrite64(int fd, const void* bytes, size_t size, off64_t offset) { return pwrite(fd, bytes, size, offset); }
int fsync(int fd) { return synced(fd, ::syscall(SYS_fsync, fd)); }
int fdatasync(int fd) { return synced(fd, ::syscall(SYS_fdatasync, fd)); }
// NOLINTEND
}
