// Tells a person how a job is doing, on standard error. On a terminal there is a live line per running stage below what programs
// print; elsewhere a line per running stage every ten seconds. In both, a line per finished stage (of many, a summary every ten
// seconds), one per lost worker, and, of a job with a deadline, whether it is expected to meet that, and when this changes.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/clock.hpp"
#include "engine/client/live_lines.hpp"
#include "engine/master/core/core.hpp"

namespace weft::client {

/// One job's progress. One thread. Quiet ones print nothing.
class Progress {
 public:
  Progress(std::string job_name, bool quiet);
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// The job has run since `submitted`, or ran then: times count from there, and not from when this was made. Of a stage that ended
  /// before it was seen to run, the time is given only where the job's status has it. Before the first update().
  void watch_since(TimePoint submitted);
  /// True when enough time has passed for another update(); asking is cheap.
  bool due(TimePoint now) const { return !quiet_ && now >= next_; }
  void update(TimePoint now, const master::JobStatus& status);
  /// Takes the live lines away: the program goes on by itself, and may print.
  void pause() { live_.clear(); }
  /// The last lines: stages that ended since, the workers that were lost, and the job's totals.
  void finish(TimePoint now, const master::JobStatus& status);
  /// The last line of a job that has failed, before its error: the workers that were lost.
  void fail(const master::JobStatus& status);

 private:
  struct Began {
    TimePoint at{};
    std::uint32_t finished = 0;  // at that time
  };
  struct Unreported {
    std::size_t stages = 0;
    std::uint64_t tasks = 0, failed_attempts = 0;
  };

  std::string stage_time(TimePoint now, const master::JobStatus& status, const master::StageStatus& stage) const;
  void report_finished_stages(TimePoint now, const master::JobStatus& status);
  void report_rest(TimePoint now);
  void report_running(TimePoint now, const master::JobStatus& status);
  void report_losses(const master::JobStatus& status);
  void report_lost_workers(const master::JobStatus& status);
  void report_deadline(const master::JobStatus& status);
  std::string line_of(TimePoint now, const master::StageStatus& stage);

  std::string name_;
  bool quiet_;
  LiveLines live_;
  TimePoint started_;
  bool from_start_ = true;           // all of the job was seen
  TimePoint next_{}, next_lines_{};  // update; lines every ten seconds
  std::set<StageId> reported_;
  std::map<StageId, Began> running_;
  Unreported unreported_;                    // finished stages beyond the first that had lines
  std::uint32_t losses_told_ = 0;            // workers
  std::optional<master::Expectation> said_;  // of the deadline; end 0: that it is not known
};

/// Pauses the progress when it goes: the program goes on by itself then.
class Undisturbed {
 public:
  explicit Undisturbed(Progress& progress) : progress_(progress) {}
  ~Undisturbed() { progress_.pause(); }
  Undisturbed(const Undisturbed&) = delete;
  Undisturbed& operator=(const Undisturbed&) = delete;

 private:
  Progress& progress_;
};

}  // namespace weft::client
