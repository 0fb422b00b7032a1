// A process that a master starts for a user of its page: what it writes, and how it ends.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace weft::web {

/// Any thread. In a process group of its own, which is killed when this is destroyed.
class FollowedProcess {
 public:
  struct Options {
    std::string path;
    std::vector<std::string> arguments{};  // argv, program name first
    std::size_t kept = 64u << 10;          // bytes of what it writes to standard output and error: the last
    Duration limit{0};                     // then its group is killed; 0: never
    bool gives_way = false;                // to everything else on the machine
  };
  /// Returns when the program runs.
  static Result<std::unique_ptr<FollowedProcess>> start(Options options);
  ~FollowedProcess();
  FollowedProcess(const FollowedProcess&) = delete;
  FollowedProcess& operator=(const FollowedProcess&) = delete;

  pid_t id() const { return id_; }
  bool running() const;
  /// Of one that has ended; 128 and the number of the signal when it was ended by one.
  int exit_code() const;
  std::string output() const;
  /// To its group. Nothing happens when it has ended.
  void signal(int number);

 private:
  explicit FollowedProcess(Options options) : options_(std::move(options)) {}
  Result<void> launch();
  void follow();
  std::optional<std::size_t> read_on();
  void read_rest();

  const Options options_;
  pid_t id_ = -1;
  Fd from_, process_;  // what it writes, and itself: its thread's
  mutable std::mutex mutex_;
  bool running_ = true;
  int exit_code_ = 0;
  std::string output_;
  std::jthread thread_;  // last: it ends before the others do
};

}  // namespace weft::web
