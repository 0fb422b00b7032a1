#include "engine/simulator/report/advice.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/core.h>

#include "base/clock.hpp"
#include "base/text.hpp"

namespace weft::simulator::report {

namespace {

// A scheduler is not recommended where it is worse than the present one by more than this, beyond doubt.
constexpr double kMostTail = 1.10, kMostUser = 1.5, kMoreMissed = 0.01;
/// Less is not worth a change.
constexpr double kLeastGain = 0.02;
/// The preferred scheduler is taken where it is within this of the best.
constexpr double kAboutAsGood = 0.02;
/// Of a completion time: less is not slower.
constexpr double kSlower = 1.01;
constexpr std::size_t kMostJobs = 3;

const Metric& metric(std::string_view key) {
  return *std::ranges::find_if(metrics(), [key](const Metric& one) { return one.key == key; });
}

/// Visits jobs that finished in both runs, with their seconds.
template <class Visit>
void for_each_pair(const RunResult& before, const RunResult& after, Visit visit) {
  const std::size_t jobs = std::min(before.jobs.size(), after.jobs.size());
  for (std::size_t i = 0; i < jobs; ++i) {
    const auto first = before.jobs[i].completion_time(), second = after.jobs[i].completion_time();
    if (first && second) visit(before.jobs[i], in_seconds(*first), in_seconds(*second));
  }
}

std::vector<UserChange> changes_of_users(const SchedulerRuns& present, const SchedulerRuns& other) {
  std::map<std::string, UserChange> users;
  for (std::size_t seed = 0; seed < other.runs.size(); ++seed) {
    for_each_pair(present.runs[seed], other.runs[seed], [&users, seed](const JobResult& job, double before, double after) {
      UserChange& user = users[job.user];
      user.before += before;
      user.after += after;
      if (seed == 0) ++user.jobs;
    });
  }
  std::vector<UserChange> list;
  for (auto& [name, user] : users) {
    user.user = name;
    list.push_back(user);
  }
  std::ranges::stable_sort(list, [](const UserChange& a, const UserChange& b) { return a.ratio() > b.ratio(); });
  return list;
}

double part_slower(const SchedulerRuns& present, const SchedulerRuns& other) {
  double slower = 0, all = 0;
  for (std::size_t seed = 0; seed < other.runs.size(); ++seed) {
    for_each_pair(present.runs[seed], other.runs[seed], [&](const JobResult&, double before, double after) {
      ++all;
      if (after > kSlower * before) ++slower;
    });
  }
  return all > 0 ? slower / all : 0;
}

std::vector<JobChange> slowest_changes(const RunResult& before, const RunResult& after) {
  std::vector<JobChange> jobs;
  for_each_pair(before, after, [&jobs](const JobResult& job, double first, double second) {
    if (second > kSlower * first) jobs.push_back({job.name, first, second});
  });
  std::ranges::stable_sort(jobs, [](const JobChange& a, const JobChange& b) { return a.after * b.before > b.after * a.before; });
  if (jobs.size() > kMostJobs) jobs.resize(kMostJobs);
  return jobs;
}

/// Its least value that the interval allows, over the present scheduler's; 1 where nothing is known.
double least_ratio(const ComparedFigure& figure) {
  if (!figure.paired || !figure.paired->ratio) return 1;
  return figure.paired->ratio->mean - figure.paired->ratio->half_width;
}

std::ptrdiff_t not_finished(const RunResult& run) {
  return std::ranges::count_if(run.jobs, [](const JobResult& job) { return job.outcome != Outcome::finished; });
}

std::string objection_to(const Candidate& candidate, const SchedulerRuns& present, const SchedulerRuns& runs) {
  std::ptrdiff_t lost = 0;  // in all orders of the jobs
  for (std::size_t seed = 0; seed < std::min(runs.runs.size(), present.runs.size()); ++seed)
    lost += std::max<std::ptrdiff_t>(0, not_finished(runs.runs[seed]) - not_finished(present.runs[seed]));
  if (lost > 0) return fmt::format("{} more jobs do not finish", lost);
  if (candidate.missed && candidate.missed->paired && candidate.missed->paired->difference.mean > kMoreMissed)
    return fmt::format("misses {:.0f} points more deadlines", 100 * candidate.missed->paired->difference.mean);
  if (least_ratio(candidate.tail) > kMostTail)
    return fmt::format("95th percentile {:.2f} times", candidate.tail.paired->ratio->mean);
  if (candidate.worst_user_ratio > kMostUser)
    return fmt::format("jobs of {} take {:.2f} times", candidate.worst_user.empty() ? "nobody" : escaped(candidate.worst_user),
                       candidate.worst_user_ratio);
  return "";
}

Candidate candidate_of(const Comparison& comparison, const SchedulerRuns& runs) {
  Candidate candidate;
  candidate.scheduler = runs.scheduler;
  candidate.runs = runs.runs.size();
  const auto figure = [&](std::string_view key) { return compared_with_first(metric(key), comparison, runs); };
  candidate.mean = figure("completion_mean").value_or(ComparedFigure{});
  candidate.tail = figure("completion_p95").value_or(ComparedFigure{});
  candidate.makespan = figure("makespan").value_or(ComparedFigure{});
  candidate.missed = figure("deadlines_missed");
  candidate.crossing = figure("cross_rack_bytes");
  if (candidate.crossing && candidate.crossing->value.mean == 0) candidate.crossing.reset();
  const SchedulerRuns& present = comparison.schedulers.front();
  if (&runs == &present) return candidate;
  if (const auto users = changes_of_users(present, runs); !users.empty()) {
    candidate.worst_user = users.front().user;
    candidate.worst_user_ratio = users.front().ratio();
  }
  candidate.jobs_slower = part_slower(present, runs);
  candidate.objection = objection_to(candidate, present, runs);
  return candidate;
}

const ComparedFigure& figure_of(const Candidate& candidate, Goal goal) {
  switch (goal) {
    case Goal::tail:
      return candidate.tail;
    case Goal::makespan:
      return candidate.makespan;
    case Goal::deadlines:
      if (candidate.missed) return *candidate.missed;
      break;
    case Goal::mean:
      break;
  }
  return candidate.mean;
}

/// A figure beside the present scheduler's: schedulers may have different numbers of runs, so only ratios are comparable. Deadlines
/// missed are compared in whole points; schedulers that miss as many are then compared by their mean completion times.
std::pair<double, double> rank(const Candidate& candidate, Goal goal) {
  const auto ratio = [](const ComparedFigure& figure) {
    return figure.paired && figure.paired->ratio ? figure.paired->ratio->mean : 1;
  };
  if (goal != Goal::deadlines || !candidate.missed) return {ratio(figure_of(candidate, goal)), 0};
  const double more = candidate.missed->paired ? candidate.missed->paired->difference.mean : 0;
  return {std::round(100 * more), ratio(candidate.mean)};
}

bool better_than_present(const Candidate& candidate, Goal goal) {
  const auto gains = [](const ComparedFigure& figure) {
    if (!figure.paired || !figure.paired->ratio) return false;
    const Estimate& ratio = *figure.paired->ratio;
    return ratio.mean + ratio.half_width < 1 && ratio.mean < 1 - kLeastGain;
  };
  if (goal != Goal::deadlines || !candidate.missed || !candidate.missed->paired) return gains(figure_of(candidate, goal));
  const Estimate& more = candidate.missed->paired->difference;
  return (more.mean + more.half_width < 0 && more.mean < -kMoreMissed) || (more.mean <= 0 && gains(candidate.mean));
}

/// The position of the one to use.
std::size_t choose(const Advice& advice, const std::string& preferred) {
  std::optional<std::size_t> best, liked;
  std::size_t present = 0;
  for (std::size_t i = 0; i < advice.candidates.size(); ++i) {
    const Candidate& candidate = advice.candidates[i];
    if (candidate.scheduler == advice.present) present = i;
    if (candidate.runs < advice.seeds || !candidate.objection.empty() || !better_than_present(candidate, advice.goal)) continue;
    if (!best) best = i;
    if (candidate.scheduler == preferred) liked = i;
  }
  if (!best) return present;
  const auto of_best = rank(advice.candidates[*best], advice.goal);
  if (liked) {
    const auto of_liked = rank(advice.candidates[*liked], advice.goal);
    if (of_liked.first <= of_best.first + kAboutAsGood && of_liked.second <= of_best.second + kAboutAsGood) return *liked;
  }
  return *best;
}

const SchedulerRuns& runs_of(const Comparison& comparison, const std::string& scheduler) {
  return *std::ranges::find_if(comparison.schedulers, [&](const SchedulerRuns& one) { return one.scheduler == scheduler; });
}

}  // namespace

const char* metric_of(Goal goal) {
  switch (goal) {
    case Goal::tail:
      return "completion_p95";
    case Goal::deadlines:
      return "deadlines_missed";
    case Goal::makespan:
      return "makespan";
    case Goal::mean:
      break;
  }
  return "completion_mean";
}

Accuracy accuracy_of(const Replay& replay) {
  Accuracy accuracy;
  accuracy.scheduler = replay.scheduler;
  accuracy.jobs = replay.jobs.size();
  for (const ReplayedJob& job : replay.jobs) {
    accuracy.recorded_mean += job.recorded_seconds / static_cast<double>(replay.jobs.size());
    accuracy.simulated_mean += job.simulated_seconds / static_cast<double>(replay.jobs.size());
    if (std::abs(job.error()) > std::abs(accuracy.worst_job_error)) accuracy.worst_job_error = job.error();
  }
  accuracy.makespan_error = replay.makespan_error();
  return accuracy;
}

Advice advise(const Comparison& comparison, Goal goal, const std::string& preferred) {
  Advice advice;
  advice.goal = goal;
  advice.facts = comparison.facts;
  advice.seeds = comparison.seeds.size();
  const SchedulerRuns& present = comparison.schedulers.front();
  advice.present = present.scheduler;
  for (const SchedulerRuns& runs : comparison.schedulers) advice.candidates.push_back(candidate_of(comparison, runs));
  std::ranges::stable_sort(advice.candidates,
                           [goal](const Candidate& a, const Candidate& b) { return rank(a, goal) < rank(b, goal); });
  advice.recommended = advice.candidates[choose(advice, preferred)].scheduler;
  if (advice.recommended == advice.present) {
    advice.reason = advice.candidates.front().scheduler == advice.present
                        ? "No other is better."
                        : "No other is better beyond doubt by two percent or more without harm to somebody.";
    return advice;
  }
  const SchedulerRuns& recommended = runs_of(comparison, advice.recommended);
  advice.users = changes_of_users(present, recommended);
  advice.jobs = slowest_changes(present.runs.front(), recommended.runs.front());
  return advice;
}

}  // namespace weft::simulator::report
