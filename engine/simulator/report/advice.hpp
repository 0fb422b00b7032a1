// Which scheduler to use, from a comparison of simulated runs.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/simulator/report/metrics.hpp"

namespace weft::simulator::report {

enum class Goal : std::uint8_t { mean, tail, deadlines, makespan };

/// "completion_mean", the key of the metric that the goal is about (metrics.hpp).
const char* metric_of(Goal goal);

/// A scheduler beside the present one.
struct Candidate {
  std::string scheduler;
  ComparedFigure mean, tail, makespan;     // completion times and the makespan, compared with the present scheduler
  std::optional<ComparedFigure> missed;    // part of the deadlines
  std::optional<ComparedFigure> crossing;  // bytes between racks, if there are any
  std::string worst_user;                  // whose jobs take longest compared with the present scheduler
  double worst_user_ratio = 1;             // of the sums of their completion times
  double jobs_slower = 0;                  // part of the jobs that take more than a hundredth longer
  std::size_t runs = 0;
  std::string objection;  // why it is not recommended although it may be faster; empty: nothing speaks against it
};

/// The completion times of one user's jobs, in seconds, over all seeds.
struct UserChange {
  std::string user;
  std::size_t jobs = 0;  // of one seed
  double before = 0, after = 0;
  double ratio() const { return before > 0 ? after / before : 1; }
};

struct JobChange {
  std::string job;
  double before = 0, after = 0;
};

/// What the simulator says of a run that really happened.
struct Accuracy {
  std::string scheduler;
  std::size_t jobs = 0;
  double recorded_mean = 0, simulated_mean = 0;  // completion times
  double makespan_error = 0;
  double worst_job_error = 0;  // of the job that is farthest off, by its absolute value
  double error() const { return recorded_mean > 0 ? simulated_mean / recorded_mean - 1 : 0; }
};

/// What makes the advice uncertain.
struct Warning {
  std::string text;    // true wherever it is shown
  std::string remedy;  // which options of the command would help, for those who type it; empty: none
};

struct Advice {
  std::string present;      // what is used now
  std::string recommended;  // may be the same
  std::string reason;       // of staying, when it is; a sentence
  Goal goal = Goal::mean;
  std::size_t seeds = 0;
  std::string variation;              // what differs between the seeds, for people
  std::vector<Candidate> candidates;  // the best first; the present scheduler is among them
  std::vector<UserChange> users;      // under the recommended scheduler, those who lose most first; empty when nothing changes
  std::vector<JobChange> jobs;        // the same of the jobs that become slower, at most three, in the first seed
  std::optional<Accuracy> accuracy;   // of a log
  std::vector<Warning> warnings;
  std::vector<std::pair<std::string, std::string>> facts;  // of the comparison
};

/// The first scheduler of the comparison is the present one. Others may have fewer runs than it (of its first seeds). `preferred`
/// is taken where it is about as good as the best.
Advice advise(const Comparison& comparison, Goal goal, const std::string& preferred);

/// By the mean over the jobs that ended in both. The replay has at least one.
Accuracy accuracy_of(const Replay& replay);

/// One screen.
std::string to_text(const Advice& advice);
std::string to_json(const Advice& advice);

}  // namespace weft::simulator::report
