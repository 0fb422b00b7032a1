// The sums of a run: totals over time, shares by job and window, and the result that is made of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/simulator/result.hpp"

namespace weft::simulator {

class Accounts {
 public:
  Accounts(const Workload& workload, Time series_step, Time window);

  using Meters = std::function<Moved()>;
  /// Time passes until `now`, and nothing changes. `meters` are read at the end of each sample.
  void advance(Time now, const Meters& meters);

  void set_capacity(const schedulers::Resources& capacity) { capacity_ = capacity; }
  void job_arrived(std::size_t job, std::uint64_t tasks);
  void job_ended(std::size_t job, Time now, Outcome outcome, std::string error);
  /// `speculative`: the task does not wait for this attempt, because another one runs.
  void attempt_started(std::size_t job, const schedulers::Resources& demand, Time now, bool speculative);
  void attempt_ended(std::size_t job, const schedulers::Resources& demand, bool speculative);
  void task_finished(std::size_t job);
  void task_undone(std::size_t job);  // its output was lost

  JobResult& job(std::size_t index) { return result_.jobs[index]; }
  RunResult& result() { return result_; }
  /// Sums over jobs, means over time. Call once, at the end.
  RunResult finish(Time now, const Meters& meters);

 private:
  struct Share {
    bool active = false;
    double share = 0, area = 0;  // dominant share now, and its integral in this window
    double fair_from = 0;        // fair_area_ when it came, or the window began
    double fair_area = 0;        // of its time in the window, when it has left
    Time since{0};               // when `area` was brought up to date
    Time active_since{0}, active_until = Time::max();
    schedulers::Resources used;
    std::uint64_t unfinished = 0;
  };
  /// Over windows with at least two values.
  struct JainSum {
    double sum = 0;
    std::uint64_t windows = 0;
  };
  void pass(Time span);
  void choose_users(const Workload& workload);
  void update(Share& share, Time now) const;
  void set_used(std::size_t job, const schedulers::Resources& used, Time now);
  void close_window(Time end);
  static void note_jain(const std::vector<double>& values, std::vector<double>& windows, JainSum& sum);
  void close_sample(Moved moved);

  RunResult result_;
  Time step_, window_, now_{0}, window_end_, sample_end_;
  schedulers::Resources used_, capacity_, used_area_, capacity_area_;
  double running_ = 0, waiting_ = 0, jobs_running_ = 0;
  Sample sample_;
  Time sample_filled_{0};
  Moved moved_before_;
  std::vector<Share> shares_;
  std::vector<std::size_t> active_;  // jobs, ascending
  std::map<std::string, std::size_t> users_;
  std::vector<std::size_t> user_of_;
  std::vector<std::size_t> drawn_as_;     // of each user, its place in Series::users
  std::vector<double> running_of_users_;  // by that place
  double fair_area_ = 0;                  // integral of an equal part for each active job
  JainSum jain_jobs_, jain_users_, jain_fair_shares_;
  Time first_arrival_{Time::max()}, last_end_{0};
};

}  // namespace weft::simulator
