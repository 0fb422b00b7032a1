// Compresses and removes the pieces of an event log that are no longer written.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/result.hpp"

namespace weft::master {

/// 0 is no bound, or never.
struct LogRotation {
  std::uint64_t bytes = 256u << 20;          // a log of that size is rotated
  Duration period = std::chrono::hours(24);  // so is one at the end of each calendar period of that length, in UTC
  std::uint32_t keep = 1000;                 // rotated pieces
  std::uint64_t keep_bytes = 4ull << 30;     // of all pieces together, with the one that is written
  Duration keep_age{0};                      // pieces to which nothing was added for longer are removed
  bool compress = true;                      // rotated pieces
};

/// Compresses rotated pieces by zstd and removes the oldest, on its own thread. After an error it writes a line to the log, and
/// tries again with the next piece. At any moment a piece exists, whole, under one of its names.
class LogArchive {
 public:
  /// Also handles the pieces of earlier masters.
  LogArchive(std::string log, const LogRotation& rotation);
  /// Waits for the block that it compresses. The next archive does the rest.
  ~LogArchive();
  LogArchive(const LogArchive&) = delete;
  LogArchive& operator=(const LogArchive&) = delete;

  /// To be called after another piece was rotated. Any thread.
  void tend();
  /// Waits until nothing is left to do.
  void settle();

 private:
  void run();
  bool stopping();
  Result<void> see_to_all();
  Result<void> compress(const std::string& from, const std::string& to);
  Result<void> remove_oldest();
  std::string reason_to_remove(std::uint32_t kept, std::uint64_t bytes, Duration age) const;

  const std::string log_;
  const LogRotation rotation_;
  const Log say_{"event-log"};
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool wanted_ = true, busy_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace weft::master
