#include "benchmarks/limits/files.hpp"

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace limits {

void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

InputFile::InputFile(const char* path) : fd_(::open(path, O_RDONLY)) {
  struct stat info {};
  if (fd_ < 0 || ::fstat(fd_, &info) != 0) fail(path);
  size_ = static_cast<std::size_t>(info.st_size);
}

InputFile::~InputFile() { ::close(fd_); }

void InputFile::read(std::size_t at, std::size_t bytes, char* out) const {
  for (std::size_t done = 0; done < bytes;) {
    const ssize_t n = ::pread(fd_, out + done, bytes - done, static_cast<off_t>(at + done));
    if (n <= 0) fail("read");
    done += static_cast<std::size_t>(n);
  }
}

OutputFile::OutputFile(const std::string& path) : path_(path), fd_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644)) {
  if (fd_ < 0) fail(path.c_str());
}

OutputFile::~OutputFile() {
  flush();
  ::close(fd_);
}

void OutputFile::make_room(std::size_t bytes) {
  flush();
  if (bytes > buffer_.size()) buffer_.resize(bytes);
}

void OutputFile::flush() {
  for (std::size_t done = 0; done < used_;) {
    const ssize_t n = ::write(fd_, buffer_.data() + done, used_ - done);
    if (n < 0) fail(path_.c_str());
    done += static_cast<std::size_t>(n);
  }
  used_ = 0;
}

std::string part_path(const char* directory, std::size_t part) {
  std::filesystem::create_directories(directory);
  return std::string(directory) + "/part-" + std::to_string(part);
}

}  // namespace limits
