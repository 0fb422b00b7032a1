// The lines of an event log that one job's history needs: the others are not parsed.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "engine/master/log/log_lines.hpp"
#include "engine/tools/history/history.hpp"

namespace weft::history {

class JobLines {
 public:
  JobLines(std::uint64_t job, EventHistory history) : job_(job), history_(std::move(history)) {}

  Result<void> apply(const master::LogLines& lines);
  /// Its time is that of the last line, whatever that is about. Used up then.
  EventHistory take();

 private:
  std::uint64_t job_;
  EventHistory history_;
  std::string last_;  // when it was passed over
};

}  // namespace weft::history
