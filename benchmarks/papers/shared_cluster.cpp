// The Reverse-Adaptive scheduler on machines that a transactional load shares: Polo's thesis, section 5.3.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numbers>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "base/random.hpp"
#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/page.hpp"
#include "benchmarks/papers/runs.hpp"
#include "schedulers/parts/utility.hpp"

namespace weft::papers {
namespace {

const char* const kReversePaper = "Polo, Multi-constraint scheduling of MapReduce workloads, 2014, section 5.3";
constexpr std::uint32_t kShared = 100;  // nodes of a slot
constexpr double kTaskHours = 0.1084;   // so that 2,500 jobs of 62 tasks keep them busy for a week, as published
constexpr std::array<double, 3> kFactors{4, 8, 12};
/// Adaptive as the thesis has it; the last is as weft has it.
const std::array<std::string, 4> kSchedulers{"fifo", "adaptive(order=need, late=first, reserve=0)",
                                             "reverse_adaptive(mode=paper, preempt=false, cycle=1min, react=20s, "
                                             "without_forecast=adaptive(order=need, late=first, reserve=0))",
                                             "adaptive(rest=even)"};
const std::array<const char*, 4> kNames{"fifo", "adaptive, as published", "reverse_adaptive", "adaptive"};

Time of_hours(double hours) { return Time(std::llround(hours * 3600e9)); }

/// Nodes that the transactional load leaves: the day of a front end, busiest at the eighteenth hour. Level 3 is the published one.
double left_over(double hour, double amplitude) { return 50 + amplitude * std::sin(std::numbers::pi * hour / 12); }
double amplitude_of(int level) { return level == 3 ? 30 : level == 2 ? 15 : level == 1 ? 7.5 : 0; }

ClusterModel shared_nodes(int level, double days) {
  ClusterModel model = cluster(kShared, 1);
  if (level == 0) return model;
  for (double hour = 0; hour < 24 * days + 12; hour += 0.25)
    model.availability.push_back(
        {of_hours(hour), static_cast<std::uint32_t>(std::lround(left_over(hour + 0.125, amplitude_of(level))))});
  return model;
}

struct Week {
  double days = 7, load = 0.2, factor = 4;
  int level = 0;  // of burstiness; 0: no transactional load
};

/// Jobs of one phase, their tasks lognormal with mean 62 and deviation 15.5, Poisson arrivals, goals of 1.5 to `factor` times as
/// long as they take alone.
Workload week_of_jobs(const Week& week, std::uint64_t seed) {
  Random random(seed, 31);
  const auto normal = [&random] {
    return std::sqrt(-2 * std::log(1 - random.uniform())) * std::cos(2 * std::numbers::pi * random.uniform());
  };
  const double spread = std::sqrt(std::log(1 + std::pow(15.5 / 62, 2)));
  const double nodes = week.level == 0 ? kShared : 50;
  const double gap = 62 * kTaskHours / (week.load * nodes);
  Workload workload;
  for (double hour = 0; (hour -= gap * std::log(1 - random.uniform())) < 24 * week.days;) {
    const double tasks = std::max(1.0, std::round(std::exp(std::log(62) - spread * spread / 2 + spread * normal())));
    JobSpec spec = job(of_hours(hour), {stage(static_cast<std::uint32_t>(tasks), of_hours(kTaskHours))});
    const double alone = std::ceil(tasks / kShared) * kTaskHours;
    spec.deadline = of_hours(alone * (1.5 + (week.factor - 1.5) * random.uniform()));
    workload.jobs.push_back(std::move(spec));
  }
  return workload;
}

/// Of jobs that begin or end in the days in the middle.
struct Outcomes {
  double missed = 0, beyond = 0, before = 0, unavoidable = 0;  // parts; hours, in the mean
};

/// Whether the job would miss its goal if it had all that is left of the nodes to itself.
bool unavoidable(const JobSpec& spec, int level) {
  double hour = in_seconds(spec.arrival) / 3600, left = spec.stages[0].tasks;
  const double goal = hour + in_seconds(*spec.deadline) / 3600;
  for (; left > 0; hour += kTaskHours) left -= level == 0 ? kShared : std::floor(left_over(hour, amplitude_of(level)) + 1);
  return hour > goal + 1e-6;
}

Outcomes outcomes(const Workload& workload, const RunResult& result, const Week& week) {
  const Time from = of_hours(24), until = of_hours(24 * (week.days - 1));
  Outcomes sum;
  double jobs = 0, late = 0;
  for (const auto& one : result.jobs) {
    const Time ended = one.ended.value_or(result.end);
    if (ended < from || one.submitted > until) continue;
    jobs += 1;
    sum.unavoidable += unavoidable(workload.jobs[one.index], week.level) ? 1 : 0;
    const double hours = in_seconds(ended - *one.deadline) / 3600;
    sum.missed += one.missed_deadline() ? 1 : 0;
    late += one.missed_deadline() ? 1 : 0;
    (one.missed_deadline() ? sum.beyond : sum.before) += std::abs(hours);
  }
  return {sum.missed / jobs, late > 0 ? sum.beyond / late : 0, jobs > late ? sum.before / (jobs - late) : 0,
          sum.unavoidable / jobs};
}

/// By scheduler.
std::array<Outcomes, kSchedulers.size()> compare_on_week(const Week& week, std::uint64_t seed) {
  const Workload workload = week_of_jobs(week, seed);
  ClusterModel model = shared_nodes(week.level, week.days);
  model.seed = seed;
  std::array<Outcomes, kSchedulers.size()> all;
  for (std::size_t s = 0; s < kSchedulers.size(); ++s) all[s] = outcomes(workload, run(workload, model, kSchedulers[s]), week);
  return all;
}

const char* const kFifo =
    "where there is too little for all goals, Adaptive as published spreads what is missing over all jobs, counts parts of tasks, "
    "and "
    "puts late jobs first, so that most end late, while FIFO ends the first ones in time: with the nearest goal first, whole tasks "
    "and late jobs last, which is Adaptive as weft has it, fewer miss theirs than under FIFO";
const char* const kLostLast =
    "a goal that is lost waits here until all others keep their pace, so that it is missed by more; as published it goes first";

/// --quick takes one range of goals and two loads.
std::vector<double> factors_of(const Context& context) {
  return context.quick ? std::vector<double>{8} : std::vector<double>(kFactors.begin(), kFactors.end());
}
/// What one short week says too little for.
Band not_quick(const Context& context, Band band) { return context.quick ? Band{} : band; }

double days_of(const Context& context) { return context.quick ? 3 : 7; }
/// These are means of ten workloads.
Context ten_seeds(Context context) {
  context.seeds = std::max(context.seeds, 10u);
  return context;
}

std::vector<Curve> curves_by_load(const std::vector<double>& loads, const std::vector<std::vector<Estimate>>& by_load,
                                  const std::array<std::size_t, kSchedulers.size()>& columns) {
  std::vector<Curve> curves;
  for (std::size_t s = 0; s < kSchedulers.size(); ++s) {
    Curve curve{kNames[s], {}, false};
    for (std::size_t i = 0; i < loads.size(); ++i) curve.points.push_back({loads[i], by_load[i][columns[s]].mean});
    curves.push_back(std::move(curve));
  }
  return curves;
}

Findings without_other_load(const Context& context) {
  const std::vector<double> loads = context.quick ? std::vector{0.2, 0.6} : std::vector{0.2, 0.4, 0.6, 0.8, 1.0};
  Findings found;
  for (const double factor : factors_of(context)) {
    std::vector<std::vector<Estimate>> by_load;
    for (const double load : loads) {
      by_load.push_back(context.over_seeds([&](std::uint64_t seed) {
        const auto all = compare_on_week({days_of(context), load, factor, 0}, seed);
        return std::vector<double>{all[0].missed, all[1].missed, all[2].missed, all[2].missed - all[1].missed, all[3].missed};
      }));
      const auto& of = by_load.back();
      const std::string where = fmt::format("goals of 1.5 to {:g}, load {:.1f}", factor, load);
      found.figures.push_back({where + ": missed, Reverse less Adaptive", "0", of[3], Unit::change, {-0.01, 0.01}});
      found.figures.push_back({where + ": missed, FIFO", "more than either", of[0], Unit::percent,
                               at_least(std::max(of[1].mean, of[2].mean) - 1e-9), kFifo});
      found.figures.push_back({where + ": missed, Adaptive as weft has it", "none", of[4], Unit::percent, {}});
    }
    found.charts.push_back(line_chart(fmt::format("reverse-alone-{:g}.svg", factor),
                                      fmt::format("Missed goals of 1.5 to {:g} times the length alone, no other load", factor),
                                      "load", "part of the jobs", curves_by_load(loads, by_load, {0, 1, 2, 4})));
  }
  return found;
}

Findings beside_a_load(const Context& all_seeds) {
  const Context context = ten_seeds(all_seeds);
  const std::vector<double> loads = context.quick ? std::vector{0.2, 0.6} : std::vector{0.2, 0.4, 0.6, 0.8};
  Findings found;
  std::vector<double> gains;
  for (const double factor : factors_of(context)) {
    std::vector<std::vector<Estimate>> by_load;
    double gain = 0;
    for (const double load : loads) {
      by_load.push_back(context.over_seeds([&](std::uint64_t seed) {
        const auto all = compare_on_week({days_of(context), load, factor, 3}, seed);
        return std::vector<double>{all[0].missed,
                                   all[1].missed,
                                   all[2].missed,
                                   all[1].missed - all[2].missed,
                                   all[0].missed - all[1].missed,
                                   all[2].beyond - all[1].beyond,
                                   all[2].before - all[1].before,
                                   all[2].missed - all[2].unavoidable,
                                   all[0].missed - all[3].missed,
                                   all[3].missed};
      }));
      const auto& of = by_load.back();
      gain += of[3].mean / static_cast<double>(loads.size());
      const std::string where = fmt::format("goals of 1.5 to {:g}, load {:.1f}", factor, load);
      found.figures.push_back({where + ": missed, Reverse", "fewest", of[2], Unit::percent, at_most(of[1].mean)});
      found.figures.push_back({where + ": Adaptive less Reverse, seed by seed, the low end of its interval", "above 0",
                               single(of[3].mean - of[3].half_width), Unit::change, not_quick(context, at_least(1e-6))});
      found.figures.push_back({where + ": FIFO less Adaptive, the low end of its interval", "above 0",
                               single(of[4].mean - of[4].half_width), Unit::change, at_least(1e-6), kFifo});
      found.figures.push_back({where + ": FIFO less Adaptive as weft has it, the low end of its interval",
                               "none",
                               single(of[8].mean - of[8].half_width),
                               Unit::change,
                               {}});
      found.figures.push_back(
          {where + ": missed by Reverse beyond what nothing could avoid", "not negative", of[7], Unit::change, at_least(0)});
      if (load == 0.6) {
        found.figures.push_back({"RV-3: " + where + ": hours after the goal of those that miss it, Reverse less Adaptive",
                                 "slightly less", of[5], Unit::number, at_most(0.25), kLostLast});
        found.figures.push_back({"RV-3: " + where + ": hours before the goal of those that meet it, Reverse less Adaptive",
                                 "about equal",
                                 of[6],
                                 Unit::number,
                                 {-0.25, 0.25}});
      }
    }
    gains.push_back(gain);
    found.charts.push_back(line_chart(fmt::format("reverse-shared-{:g}.svg", factor),
                                      fmt::format("Missed goals of 1.5 to {:g} times the length alone, beside a load", factor),
                                      "load", "part of the jobs", curves_by_load(loads, by_load, {0, 1, 2, 9})));
  }
  const auto [least, most] = std::ranges::minmax_element(gains);
  found.figures.push_back({"RV-4: gain of the three ranges of goals, the largest less the least", "about the same",
                           single(*most - *least), Unit::percent, at_most(0.05)});
  return found;
}

Findings burstiness(const Context& context) {
  Findings found;
  Curve gain{"Adaptive less Reverse", {}, false};
  for (int level = 1; level <= 3; ++level) {
    const auto of = context.over_seeds([&](std::uint64_t seed) {
      double sum = 0;
      const std::vector<double> loads = context.quick ? std::vector{0.6} : std::vector{0.4, 0.6, 0.8};
      for (const double load : loads) {
        const auto all = compare_on_week({days_of(context), load, 8, level}, seed);
        sum += (all[1].missed - all[2].missed) / static_cast<double>(loads.size());
      }
      return std::vector<double>{sum};
    });
    const double before = gain.points.empty() ? -1 : gain.points.back().y;
    gain.points.push_back({static_cast<double>(level), of[0].mean});
    found.figures.push_back({fmt::format("level {}: missed, Adaptive less Reverse, mean of loads 0.4 to 0.8", level),
                             level == 1 ? "little" : "more", of[0], Unit::change,
                             level == 1 ? Band{} : not_quick(context, at_least(before))});
  }
  found.charts.push_back(
      line_chart("reverse-burstiness.svg", "Goals that planning backwards saves", "burstiness", "part of the jobs", {gain}));
  return found;
}

/// Tasks of each job that run, over time.
std::vector<Curve> tasks_over_time(const std::vector<std::pair<std::size_t, Time>>& launches, Time length) {
  std::vector<Curve> curves;
  for (std::size_t j = 0; j < 3; ++j) {
    Curve curve{fmt::format("J{}", j + 1), {}, false};
    for (double hour = 0; hour <= 26; hour += 0.1) {
      const auto running = std::ranges::count_if(launches, [&](const auto& launch) {
        return launch.first == j && launch.second <= of_hours(hour) && launch.second + length > of_hours(hour);
      });
      curve.points.push_back({hour, static_cast<double>(running)});
    }
    curves.push_back(std::move(curve));
  }
  return curves;
}

Findings three_jobs(const Context&) {
  const std::array<double, 3> goals{6.5, 15, 23.1};
  const Time length = of_hours(0.1);
  Workload workload;
  for (const double goal : goals) {
    JobSpec spec = job(Time(0), {stage(3700, length)});
    spec.deadline = of_hours(goal);
    workload.jobs.push_back(std::move(spec));
  }
  Findings found;
  for (const std::size_t s : {1u, 2u}) {
    std::vector<std::pair<std::size_t, Time>> launches;
    RunOptions options;
    options.on_command = [&launches](Time now, const master::Command& command) {
      if (const auto* launch = std::get_if<master::LaunchTask>(&command))
        launches.emplace_back(launch->attempt.task.job.value() - 1, now);
    };
    const RunResult result = run(workload, shared_nodes(3, 2), kSchedulers[s], options);
    const char* const name = s == 1 ? "Adaptive" : "Reverse-Adaptive";
    for (std::size_t j = 0; j < goals.size(); ++j) {
      const double after = in_seconds(*result.jobs[j].lateness()) / 3600;
      found.figures.push_back({fmt::format("{}: J{} ends after its goal of {:g} h by, h", name, j + 1, goals[j]),
                               s == 1 && j < 2 ? "late" : "met", single(after), Unit::number,
                               s == 1 && j < 2 ? at_least(1e-9) : at_most(0)});
    }
    found.charts.push_back(line_chart(fmt::format("reverse-example-{}.svg", s == 1 ? "adaptive" : "reverse"),
                                      fmt::format("Three jobs under {}", name), "hours", "nodes",
                                      tasks_over_time(launches, length)));
  }
  return found;
}

Findings reverse_shape(const Context&) {
  const auto utility = [](double slots) { return single(schedulers::reverse_utility(slots, 10, 15, 35)); };
  Curve curve{"all reduces", {}, false};
  for (double slots = 1; slots <= 35; ++slots) curve.points.push_back({slots, utility(slots).mean});
  return {{{"10 slots", "0", utility(10), Unit::number, exactly(0)},
           {"15 slots", "0.5", utility(15), Unit::number, exactly(0.5)},
           {"35 slots", "1", utility(35), Unit::number, exactly(1)}},
          {line_chart("reverse-utility.svg", "Utility of a job of which 10 tasks cannot wait, that needs 15 slots and has 35 tasks",
                      "slots", "utility", {curve})}};
}

}  // namespace

std::vector<Experiment> shared_cluster_experiments() {
  const std::string week =
      "100 nodes of a slot, a week of Poisson arrivals of which the five days in the middle count, jobs of 62 ± 15.5 tasks of 6.5 "
      "minutes (lognormal), goals of 1.5 to 4, 8 and 12 times the length alone; control cycles of a minute; simulated";
  const std::string load = week + "; the load on the same machines takes 20 to 80 nodes, most at the eighteenth hour";
  return {{"RV-1", "Without another load planning backwards changes nothing", kReversePaper, week,
           "three days, one seed, fewer loads and goals", without_other_load},
          {"RV-2", "Beside another load planning backwards meets more goals (RV-2 to RV-4)", kReversePaper, load + "; ten seeds",
           "three days, one seed, fewer loads and goals", beside_a_load},
          {"RV-5", "The gain grows with the burstiness of the other load", kReversePaper,
           load + ", or with half and a quarter of that amplitude; goals of 1.5 to 8",
           "three days, one seed, fewer loads and goals", burstiness},
          {"RV-6", "The example of three jobs", kReversePaper,
           "three jobs of 3,700 tasks of six minutes at once, goals of 6.5, 15 and 23.1 h, on what the load of RV-2 leaves", "",
           three_jobs},
          {"RV-7", "Reverse-Adaptive: the utility function", kReversePaper,
           "a job of 35 tasks, of which 10 cannot wait and 15 keep the pace", "", reverse_shape}};
}

}  // namespace weft::papers
