// A file written from front to back through one large buffer; trouble ends the program with a message.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <unistd.h>

namespace weft::bench {

class FileWriter {
 public:
  explicit FileWriter(const char* path) : path_(path), fd_(::open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644)) {
    if (fd_ < 0) fail();
  }
  ~FileWriter() {
    flush();
    if (::close(fd_) != 0) fail();
  }
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  /// Room for `bytes` (at most kSlack) more; advance() says how many were used.
  char* room(std::size_t bytes) {
    if (used_ + bytes > kBuffer + kSlack) flush();
    return buffer_.get() + used_;
  }
  void advance(std::size_t bytes) { used_ += bytes; }
  void write(const void* data, std::size_t bytes) {
    std::memcpy(room(bytes), data, bytes);
    advance(bytes);
  }
  std::uint64_t bytes() const { return written_ + used_; }
  static constexpr std::size_t kSlack = 64 << 10;

 private:
  static constexpr std::size_t kBuffer = 256 << 10;
  [[noreturn]] void fail() const {
    std::perror(path_);
    std::exit(1);
  }
  void flush() {
    for (std::size_t done = 0; done < used_;) {
      const ssize_t n = ::write(fd_, buffer_.get() + done, used_ - done);
      if (n < 0) fail();
      done += static_cast<std::size_t>(n);
    }
    written_ += used_;
    used_ = 0;
  }
  const char* path_;
  int fd_;
  std::unique_ptr<char[]> buffer_{new char[kBuffer + kSlack]};
  std::size_t used_ = 0;
  std::uint64_t written_ = 0;
};

}  // namespace weft::bench
