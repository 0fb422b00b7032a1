// A file descriptor with one owner, which closes it. Errors of closing are ignored: callers that need durability sync first.
#pragma once

#include <utility>

namespace weft {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset();
  /// Returns a second descriptor of the same open file (close-on-exec), or an invalid one when the process has no descriptor left.
  Fd duplicate() const;

 private:
  int fd_ = -1;
};

}  // namespace weft
