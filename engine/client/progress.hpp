// Tells a person how a job is doing, on standard error: on a terminal one line that changes, otherwise a plain line per finished
// stage; and, of a job with a deadline, whether it is expected to meet that, and when this changes.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "engine/master/core.hpp"

namespace weft::client {

/// One job's progress. One thread. Quiet ones print nothing.
class Progress {
 public:
  Progress(std::string job_name, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// True when enough time has passed for another update(); asking is cheap.
  bool due(TimePoint now) const { return !quiet_ && now >= next_; }
  void update(TimePoint now, const master::JobStatus& status);
  /// The last lines: stages that ended since, the workers that were lost, and the job's totals.
  void finish(TimePoint now, const master::JobStatus& status);
  /// The last line of a job that has failed, before its error: the workers that were lost.
  void fail(const master::JobStatus& status);

 private:
  void report_finished_stages(TimePoint now, const master::JobStatus& status);
  void report_lost_workers(const master::JobStatus& status);
  void report_deadline(const master::JobStatus& status);
  void clear_line();

  std::string name_;
  bool quiet_;
  bool terminal_;
  bool line_shown_ = false;
  TimePoint started_;
  TimePoint next_{};
  std::set<StageId> reported_;
  std::optional<master::Expectation> said_;  // of the deadline; end 0: that it is not known
};

}  // namespace weft::client
