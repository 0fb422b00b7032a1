// What the schedulers that everybody compares with are known to do: FIFO, Fair, Capacity, DRF.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/runs.hpp"

namespace weft::papers {
namespace {

// ---- BS-1 -------------------------------------------------------------------------------------------------------------

/// When the first of five small jobs starts that come behind a job of ten rounds of 10 s.
double first_small_start(const std::string& scheduler) {
  Workload workload = jobs({job(Time(0), {stage(100, seconds(10))}, "long")});
  for (int i = 1; i <= 5; ++i) workload.jobs.push_back(job(seconds(i), {stage(5, seconds(1))}, "small"));
  Time first = seconds(1'000'000);
  for (const auto& one : run(workload, cluster(10, 1), scheduler).jobs) {
    if (one.pool == "small") first = std::min(first, one.started.value_or(first));
  }
  return in_seconds(first);
}

Findings head_of_line(const Context&) {
  return {{{"fifo: the first small job starts after", "all of the long job, 100 s", single(first_small_start("fifo")), Unit::time,
            exactly(100)},
           {"fair: the first small job starts after", "the first round, 10 s", single(first_small_start("fair")), Unit::time,
            exactly(10)}}};
}

/// Jobs of one moment are there when the first decision is made.
ClusterModel together(std::uint32_t nodes, double slots) {
  ClusterModel model = cluster(nodes, slots);
  model.step = seconds(1);
  return model;
}

// ---- BS-2 -------------------------------------------------------------------------------------------------------------

Findings equal_parts(const Context&) {
  const std::vector<StageSpec> work{stage(100, seconds(1))};
  RunOptions each_second;
  each_second.fairness_window = seconds(1);
  const RunResult equal = run(jobs({job(Time(0), work), job(Time(0), work), job(Time(0), work), job(Time(0), work)}),
                              together(20, 1), "fair", each_second);
  const auto two = [](const char* scheduler) {
    return run(jobs({job(Time(0), {stage(800, seconds(10))}), job(seconds(15), {stage(5, seconds(2))})}), cluster(20, 1),
               scheduler);
  };
  const RunResult fair = two("fair"), fifo = two("fifo");
  const auto took = [](const RunResult& result, std::size_t at) { return in_seconds(*result.jobs[at].completion_time()); };
  return {{{"Jain index of four equal jobs, second by second", "1/k each: 1", single(equal.fairness.mean_jobs), Unit::number,
            at_least(0.98)},
           {"small job beside a long one, fifo over fair", "finishes early", single(took(fifo, 1) / took(fair, 1)), Unit::number,
            at_least(10)},
           {"the long job, fair over fifo", "is not starved", single(took(fair, 0) / took(fifo, 0)), Unit::number, at_most(1.1)}}};
}

// ---- BS-3 -------------------------------------------------------------------------------------------------------------

/// Pool a has ten tasks of 1,000 s, five since 0 and five since 10 s, when pool b with a minimum of four comes at 30 s.
Findings minimum_share(const Context&) {
  const std::string pools = "[[pool]]\nname = \"a\"\n[[pool]]\nname = \"b\"\nmin_share = 4\nmin_share_timeout = \"20s\"\n";
  StageSpec wanting = stage(4, seconds(5));
  wanting.name = "wanting";
  Launches launches;
  const RunResult result =
      run(jobs({job(Time(0), {stage(5, seconds(10))}, "before"), job(Time(0), {stage(10, seconds(1000))}, "a"),
                job(seconds(30), {wanting}, "b")}),
          cluster(10, 1), "fair(pools=p, preemption=true, interval=15s, update=500ms)", launches.of("wanting"), {{"p", pools}});
  const auto& robbed = result.jobs[1];
  const double restored = launches.at.size() < 4 ? 1e9 : in_seconds(launches.at[3]) - 30;
  const double age = robbed.preemptions == 0 ? 0 : in_seconds(robbed.work.preempted) / static_cast<double>(robbed.preemptions);
  return {
      {{"its minimum is restored after",
        "timeout 20 s, plus at most the interval of 15 s",
        single(restored),
        Unit::time,
        {20, 35.5}},
       {"tasks killed", "the gap: 4", single(static_cast<double>(robbed.preemptions)), Unit::number, exactly(4)},
       {"age of those killed, less that of the newest", "the newest go: 0", single(age - (restored + 20)), Unit::time, exactly(0)},
       {"killed tasks that were not done again", "none", single(robbed.completion_time() ? 0 : 1), Unit::number, exactly(0)}}};
}

// ---- BS-4 -------------------------------------------------------------------------------------------------------------

/// Queue a has borrowed all ten slots with tasks that end at 20, 25, … 65 s; b comes at 5 s and may have five.
Findings lent_slots(const Context&) {
  const std::string queues =
      "[[queue]]\nname = \"a\"\ncapacity = 50\nuser_limit_factor = 2\n[[queue]]\nname = \"b\"\ncapacity = 50\nuser_limit_factor = "
      "2\n";
  StageSpec borrowed = stage(10, Time(0));
  for (int i = 0; i < 10; ++i) borrowed.durations.push_back(seconds(20 + 5 * i));
  StageSpec owned = stage(5, seconds(100));
  owned.name = "owned";
  Launches launches;
  const RunResult result = run(jobs({job(Time(0), {borrowed, stage(20, seconds(30))}, "a"), job(seconds(5), {owned}, "b")}),
                               cluster(10, 1), "capacity(queues=q)", launches.of("owned"), {{"q", queues}});
  double late = launches.at.size() == 5 ? 0 : 1e9;
  for (std::size_t i = 0; i < launches.at.size(); ++i)
    late += std::abs(in_seconds(launches.at[i]) - (20 + 5.0 * static_cast<double>(i)));
  return {{{"starts of b after the ends of borrowed tasks, all together", "at once: 0 s", single(late), Unit::time, exactly(0)},
           {"tasks killed", "none, ever", single(static_cast<double>(result.preemptions)), Unit::number, exactly(0)}}};
}

// ---- BS-7 -------------------------------------------------------------------------------------------------------------

Findings dominant_shares(const Context&) {
  ClusterModel model = together(1, 9);
  model.groups[0].capacity.memory = 18;
  std::vector<StageSpec> a{stage(100, seconds(10))}, b = a;
  a[0].demand = {.cpu = 1, .memory = 4};
  b[0].demand = {.cpu = 3, .memory = 1};
  RunOptions first_round;
  first_round.until = seconds(5);
  const RunResult result = run(jobs({job(Time(0), a), job(Time(0), b)}), model, "drf", first_round);
  const auto running = [&](std::size_t at) { return static_cast<double>(result.jobs[at].attempts); };
  return {{{"tasks of A that run", "3", single(running(0)), Unit::number, exactly(3)},
           {"tasks of B that run", "2", single(running(1)), Unit::number, exactly(2)},
           {"dominant share of A (memory)", "2/3", single(running(0) * 4 / 18), Unit::number, exactly(2.0 / 3)},
           {"dominant share of B (cpu)", "2/3", single(running(1) * 3 / 9), Unit::number, exactly(2.0 / 3)}}};
}

}  // namespace

std::vector<Experiment> baseline_experiments() {
  return {{"BS-1", "FIFO: a job behind a long one waits for all of it", "Hadoop's schedulers",
           "10 slots; a job of 100 tasks of 10 s, then five jobs of 5 tasks of 1 s, one each second", "", head_of_line},
          {"BS-2", "Fair: k equal jobs get 1/k, a small one ends early, a long one goes on", "Hadoop's Fair Scheduler",
           "20 slots; four jobs of 100 tasks of 1 s; then 800 tasks of 10 s, and 15 s later 5 tasks of 2 s", "", equal_parts},
          {"BS-3", "Fair: a minimum share is restored by killing the newest tasks", "Hadoop's Fair Scheduler",
           "10 slots, all of pool a's; pool b with a minimum of 4 and a timeout of 20 s asks for 4", "", minimum_share},
          {"BS-4", "Capacity: a lent slot comes back when its task ends, and nothing is killed", "Hadoop's Capacity Scheduler",
           "10 slots, two queues of 50 %; a has borrowed all with tasks that end 5 s apart when b wants its five", "", lent_slots},
          {"BS-7", "DRF: the example of two users", "Ghodsi et al., NSDI 2011",
           "9 CPU and 18 GB; A needs <1, 4> for a task, B <3, 1>; both have 100", "", dominant_shares}};
}

}  // namespace weft::papers
