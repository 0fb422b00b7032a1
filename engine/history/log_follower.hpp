// An event log as it grows.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "engine/history/history.hpp"

namespace weft::history {

/// Reads what was added since it last read. One thread.
class LogFollower {
 public:
  /// Begins at `offset`, which is the beginning of a line.
  LogFollower(std::string path, History history, std::uint64_t offset = 0)
      : path_(std::move(path)), history_(std::move(history)), offset_(offset) {}

  /// Whole lines only: the last one may still be written. not_found when there is no such file; corrupt names file and line of one
  /// that is no event.
  Result<void> read();
  const History& history() const { return history_; }
  /// What is read next continues the same history.
  void go_on_with(std::string path);

 private:
  std::string path_;
  History history_;
  std::uint64_t offset_, lines_ = 0;
  std::string rest_;  // the beginning of a line whose end is not there yet
};

/// The history that a log tells, or all logs in a directory in the order of their names: those of one master, continued.
Result<History> read_logs(const std::string& path);
/// The history of one job; not_found when the log says nothing of it.
Result<LogFollower> read_job(const std::string& path, std::uint64_t job);

}  // namespace weft::history
