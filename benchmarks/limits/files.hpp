// Reading and writing whole files, and threads; trouble ends the program with a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace limits {

[[noreturn]] void fail(const char* what);

class InputFile {
 public:
  explicit InputFile(const char* path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;
  std::size_t size() const { return size_; }
  int descriptor() const { return fd_; }
  /// All of [at, at + bytes), which lies inside the file.
  void read(std::size_t at, std::size_t bytes, char* out) const;

 private:
  int fd_;
  std::size_t size_ = 0;
};

/// A new file written through one buffer that the second-level cache holds.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Room for `bytes`; advance() says where they end.
  char* room(std::size_t bytes) {
    if (bytes > buffer_.size() - used_) make_room(bytes);
    return buffer_.data() + used_;
  }
  void advance(const char* end) { used_ = static_cast<std::size_t>(end - buffer_.data()); }

 private:
  void make_room(std::size_t bytes);
  void flush();
  std::string path_;
  int fd_;
  std::vector<char> buffer_ = std::vector<char>(512 << 10);
  std::size_t used_ = 0;
};

/// DIRECTORY/part-0 and so on; makes the directory.
std::string part_path(const char* directory, std::size_t part);

/// Calls work(0) to work(n - 1), shared out between `threads` threads.
template <class Work>
void in_parallel(std::size_t threads, std::size_t n, const Work& work) {
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t)
    running.emplace_back([&work, threads, n, t] {
      for (std::size_t i = t; i < n; i += threads) work(i);
    });
  for (std::thread& thread : running) thread.join();
}

}  // namespace limits
