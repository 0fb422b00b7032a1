// An event log as it grows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "engine/master/log/event_log.hpp"
#include "engine/master/log/log_lines.hpp"
#include "engine/tools/history/history.hpp"

namespace weft::history {

/// Reads what was added since it last read, also when the log was rotated meanwhile. One thread.
class LogFollower {
 public:
  /// Begins at `from`, or at the oldest piece that is there.
  LogFollower(std::string log, EventHistory history, master::LogPlace from = {})
      : log_(std::move(log)), history_(std::move(history)), next_(from) {}

  /// Whole lines only: the last one may still be written. not_found when there is no such log; corrupt names file and line of one
  /// that is no event.
  Result<void> read();
  const EventHistory& history() const { return history_; }

 private:
  Result<void> open(const std::vector<master::LogPiece>& pieces);
  Result<void> read_piece();

  std::string log_;
  EventHistory history_;
  master::LogPlace next_;  // when none is open
  std::uint32_t piece_ = 0;
  std::optional<master::LogLines> lines_;
};

/// The history of one job, from a log and its rotated pieces; not_found when they do not have it.
Result<EventHistory> read_job(const std::string& log, std::uint64_t job);

}  // namespace weft::history
