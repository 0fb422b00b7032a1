// What becomes of the pieces of an event log that are no longer written.
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
  Duration period = std::chrono::hours(24);  // and one in which the calendar's periods of that length (of UTC) changed
  std::uint32_t keep = 1000;                 // rotated pieces
  std::uint64_t keep_bytes = 4ull << 30;     // all of them together
};

/// Compresses rotated pieces by zstd and removes the oldest, on a thread of its own. What it cannot do is said in the log, and
/// tried again with the next piece; a piece is there at any moment, whole, under one of its names.
class LogArchive {
 public:
  /// Also sees to what an earlier master left.
  LogArchive(std::string log, const LogRotation& rotation);
  /// Waits for the piece of a block that it compresses; what is left is done by the next.
  ~LogArchive();
  LogArchive(const LogArchive&) = delete;
  LogArchive& operator=(const LogArchive&) = delete;

  /// There is another piece. Any thread.
  void tend();
  /// Waits until nothing is left to do.
  void settle();

 private:
  void run();
  bool stopping();
  Result<void> see_to_all();
  Result<void> compress(const std::string& from, const std::string& to);
  Result<void> remove_oldest();

  const std::string log_;
  const LogRotation rotation_;
  const Log say_{"event-log"};
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool wanted_ = true, busy_ = false, stopping_ = false;
  std::thread thread_;
};

}  // namespace weft::master
