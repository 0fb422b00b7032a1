// The Adaptive scheduler's data and hardware affinity: AD-5 to AD-11.
#include <array>

#include "benchmarks/papers/adaptive_jobs.hpp"

namespace weft::papers {
namespace {

// ---- AD-5 to AD-8 ------------------------------------------------------------------------------------------------------

const Shape kReadingWords{"WordCount", 780, 91.2, 0.03, 10, 30, kBlock}, kReadingJoin{"Join", 480, 7.5, 0.4, 30, 20, 16 << 20};

/// Remote blocks come at about 12 MB/s, so that a map of Sort takes 17 s in place of 12.
ClusterModel reading(std::uint64_t seed, std::uint32_t replicas) {
  ClusterModel model = trackers(seed);
  model.network.flows = true;
  model.network.nic = 12e6;
  model.network.disk_read = model.network.disk_write = 80e6;
  model.storage.replicas = replicas;
  return model;
}

Workload reading_jobs(std::uint64_t seed, std::uint32_t replicas, double word_count_goal, double join_goal) {
  std::vector<JobSpec> all;
  for (const double arrival : {0.0, 300.0, 600.0}) all.push_back(made(kReadingWords, arrival, word_count_goal, seed));
  for (const double arrival : {900.0, 1800.0}) all.push_back(made(kReadingJoin, arrival, join_goal, seed));
  for (std::size_t i = 0; i < all.size(); ++i) {  // each node holds as much of each input
    StageSpec& maps = all[i].stages[0];
    for (std::uint32_t map = 0; map < maps.tasks; ++map) {
      auto& hosts = maps.hosts.emplace_back();
      for (std::uint32_t replica = 0; replica < replicas; ++replica)
        hosts.push_back(fmt::format("node-{}", (map + replica * (map / kTrackers + 7 * i + 1)) % kTrackers));
    }
  }
  return jobs(std::move(all));
}

double remote_maps(const RunResult& result) {
  return 1 - static_cast<double>(result.locality.node) / static_cast<double>(result.locality.all());
}
double network_bytes(const RunResult& result) {
  return result.traffic[static_cast<std::size_t>(simulator::TrafficKind::map_read)].remote;
}

const std::array<std::string, 4> kLocalitySchedulers{"fair", kAsInThesis, "adaptive(order=need, late=first, reserve=0, delays=1)",
                                                     "adaptive(order=need, late=first, reserve=0, delays=3)"};

Findings locality(const Context& context) {
  const auto estimates = context.over_seeds([&](std::uint64_t seed) {
    std::vector<double> figures;
    for (const std::uint32_t replicas : {1u, 3u}) {
      const Workload workload = reading_jobs(seed, replicas, 9000, 1500);
      std::vector<double> bytes;
      for (const std::string& scheduler : kLocalitySchedulers) {
        const RunResult result = run(workload, reading(seed, replicas), scheduler);
        figures.push_back(remote_maps(result));
        bytes.push_back(network_bytes(result));
      }
      figures.push_back(bytes[1] / bytes[0] - 1);
      figures.push_back((replicas == 1 ? bytes[2] : bytes[3]) / bytes[0] - 1);
      figures.push_back(bytes[0] / 1e9);
      figures.push_back(figures[figures.size() - 7 + 1] > figures[figures.size() - 7] ? 1 : 0);
    }
    return figures;
  });
  Findings found;
  const auto add = [&](const std::string& what, const std::string& published, std::size_t at, Unit unit, Band band,
                       const std::string& reason = "") {
    found.figures.push_back({what, published, estimates[at], unit, band, reason});
  };
  add("AD-5: maps away from their block, fair, 1 replica", "24.6 %", 0, Unit::percent, {0.206, 0.286},
      "with one replica each node holds a sixtieth of each input, and who has done its part takes from others; how blocks lay, and "
      "how many jobs ran at a time, is not told");
  add("AD-5: maps away from their block, fair, 3 replicas", "15.6 %", 8, Unit::percent, {0.116, 0.196},
      "as with one replica; with three there is nearly always a block on the node");
  add("AD-5: maps away from their block, without data affinity, 1 replica", "more than fair", 1, Unit::percent, {});
  add("AD-5: maps away from their block, without data affinity, 3 replicas", "more than fair", 9, Unit::percent, {});
  add("AD-5: maps away from their block, 1 delay, 1 replica", "2 %", 2, Unit::percent, at_most(0.06),
      "a task that was passed over once runs anywhere; of the nodes only one holds its block");
  add("AD-5: maps away from their block, 3 delays, 3 replicas", "0.2 %", 11, Unit::percent, at_most(0.042));
  add("AD-6: bytes of blocks over the network, 1 delay, 1 replica, against fair", "−70.7 %", 5, Unit::change, {-0.787, -0.627});
  add("AD-6: bytes of blocks over the network, 3 delays, 3 replicas, against fair", "−82.6 %", 13, Unit::change, {-0.906, -0.746});
  add("AD-6: GB over the network, fair, 1 replica", "40.94 GB (all traffic)", 6, Unit::number, {});
  return found;
}

Findings reading_lengths(const Context&) {
  const auto length = [](double work, bool remote) {
    Shape shape{"reads", 240, work, 0, 0, 0, kBlock};
    JobSpec spec = made(shape, 0, 0, 1);
    ClusterModel model = reading(1, kTrackers);
    if (remote) spec.stages[0].hosts.assign(shape.maps, {"elsewhere"});
    double sum = 0, count = 0;
    std::map<TaskId, Time> launched;
    RunOptions options;
    options.on_command = [&](Time at, const master::Command& command) {
      if (const auto* launch = std::get_if<master::LaunchTask>(&command)) launched[launch->attempt.task] = at;
    };
    options.on_event = [&](Time at, const master::Event& event) {
      if (const auto* ended = std::get_if<master::TaskFinished>(&event)) {
        sum += in_seconds(at - launched[ended->attempt.task]);
        ++count;
      }
    };
    model.heartbeat = Time(0);
    (void)run(jobs({spec}), model, "fifo", options);
    return single(sum / count);
  };
  return {{{"map of WordCount, block on its node", "92 ± 3 s", length(91.2, false), Unit::time, {89, 95}},
           {"map of WordCount, block elsewhere", "93 ± 4 s", length(91.2, true), Unit::time, {89, 97}},
           {"map of Sort, block on its node", "12 ± 2 s", length(11.2, false), Unit::time, {10, 14}},
           {"map of Sort, block elsewhere", "17 ± 3 s", length(11.2, true), Unit::time, {14, 20}}}};
}

Findings locality_with_goals(const Context& context) {
  const auto estimates = context.over_seeds([&](std::uint64_t seed) {
    std::vector<double> figures;
    for (const auto& [replicas, scheduler] : {std::pair{3u, "adaptive(order=need, late=first, reserve=0, delays=3)"},
                                              {1u, "adaptive(order=need, late=first, reserve=0, delays=3)"},
                                              {1u, "adaptive(order=need, late=first, reserve=0, delays=1)"}}) {
      const Workload workload = reading_jobs(seed, replicas, 4300, 200);
      const RunResult result = run(workload, reading(seed, replicas), scheduler);
      double words = 0, joins = 0;
      for (std::size_t i = 0; i < 5; ++i) (i < 3 ? words : joins) += result.jobs[i].missed_deadline() ? 0 : 1;
      figures.insert(figures.end(), {words, joins, remote_maps(result), elapsed(result, 3), elapsed(result, 4)});
    }
    return figures;
  });
  Findings found;
  const std::array names{"3 replicas, 3 delays", "1 replica, 3 delays", "1 replica, 1 delay"};
  const std::array joins{"2", "0", "1, the other slightly late"};
  for (std::size_t i = 0; i < 3; ++i) {
    found.figures.push_back({fmt::format("{}: WordCounts of three that meet their goals", names[i]), "3", estimates[5 * i],
                             Unit::number, at_least(2.999)});
    found.figures.push_back(
        {fmt::format("{}: Joins of two that meet theirs", names[i]), joins[i], estimates[5 * i + 1], Unit::number, {}});
    found.figures.push_back(
        {fmt::format("{}: maps away from their block", names[i]), "near 0", estimates[5 * i + 2], Unit::percent, {}});
  }
  return found;
}

const std::string kBasic = "adaptive(order=need, late=first, reserve=0, attribute=none)";

// ---- AD-9 to AD-11 -----------------------------------------------------------------------------------------------------

const Shape kLongWordCount{"WordCount", 2100, 92, 0.03, 10, 30}, kMontecarlo{"Montecarlo", 220, 425, 0.05, 1, 5},
    kCrypt{"Crypt", 960, 30, 0.1, 0, 0};

JobSpec accelerable(const Shape& shape, double factor, double arrival, double goal, std::uint64_t seed, const std::string& name) {
  JobSpec spec = made(shape, arrival, goal, seed);
  spec.name = name;
  spec.stages[0].speedups = {{"accelerator", "cell", factor}};
  return spec;
}

/// The second Montecarlo comes 300 s after the first has ended.
Workload montecarlos(const std::string& scheduler, std::uint64_t seed) {
  std::vector<JobSpec> all{made(kLongWordCount, 0, 5000, seed), accelerable(kMontecarlo, 25, 180, 2200, seed, "Montecarlo 1")};
  const RunResult first = run(jobs(all), trackers(seed, 6), scheduler);
  all.push_back(accelerable(kMontecarlo, 25, in_seconds(*first.jobs[1].ended) + 300, 500, seed, "Montecarlo 2"));
  return jobs(std::move(all));
}

Findings hardware(const Context& context) {
  const auto estimates = context.over_seeds([](std::uint64_t seed) {
    std::vector<double> figures;
    for (const std::string& scheduler : {kAsInThesis, kBasic}) {
      const Workload workload = montecarlos(scheduler, seed);
      Trace trace;
      const RunResult result = run(workload, trackers(seed, 6), scheduler, trace.options);
      for (std::size_t i = 0; i < 3; ++i) figures.push_back(elapsed(result, i));
      figures.push_back(trace.most[1].first + trace.most[1].second);
      figures.push_back(result.jobs[1].missed_deadline() ? 0 : 1);
      figures.push_back(std::max(0.0, figures[figures.size() - 3] / 500 - 1));
    }
    figures.push_back(figures[7] / figures[1]);
    figures.push_back(figures[6] / figures[0]);
    return figures;
  });
  Findings found;
  found.remark =
      "On devices that workers lend, nothing is measured here: no GPU was at hand, and POCL, with which they are tested, is the "
      "processor itself. benchmarks/accelerators/measure makes the table on a machine with one "
      "([accelerators.md](accelerators.md#what-was-measured)).";
  const auto add = [&](const std::string& what, const std::string& published, std::size_t at, Unit unit, Band band,
                       const std::string& reason = "") {
    found.figures.push_back({what, published, estimates[at], unit, band, reason});
  };
  add("AD-9: Montecarlo 1 meets its goal", "met", 4, Unit::number, exactly(1));
  add("AD-9: Montecarlo 1 takes", "at most 863 s", 1, Unit::time, {});
  add("AD-9: Montecarlo 2 is late by, of its goal", "met in the text, 32 % in the figure", 5, Unit::percent, at_most(0.35),
      "regular nodes take 425 s for a map, and come free within 92 s; how long the thesis's maps took is not told");
  add("AD-10: Montecarlo 1 without affinity, times as long", "more than 2", 12, Unit::number, at_least(1.8));
  add("AD-10: most nodes of Montecarlo 1, with affinity", "6 and some", 3, Unit::number, {});
  add("AD-10: most nodes of Montecarlo 1, without", "more", 9, Unit::number, {});
  add("AD-10: WordCount without affinity, times as long", "longer", 13, Unit::number, at_least(1));
  for (const bool affinity : {true, false}) {
    const std::string scheduler = affinity ? kAsInThesis : kBasic;
    const Workload workload = montecarlos(scheduler, 1);
    Trace trace;
    (void)run(workload, trackers(1, 6), scheduler, trace.options);
    found.charts.push_back(timeline(affinity ? "adaptive-hardware.svg" : "adaptive-hardware-basic.svg",
                                    affinity ? "Hardware affinity: goals, and what ran" : "Without hardware affinity", workload,
                                    trace, 5500));
  }
  return found;
}

Findings pools(const Context& context) {
  const auto heavy_accelerated = [](std::uint64_t seed) {
    return jobs({made(kLongWordCount, 0, 5000, seed), accelerable(kCrypt, 2.5, 300, 2000, seed, "Crypt"),
                 accelerable(kMontecarlo, 25, 600, 1500, seed, "Montecarlo 1"),
                 accelerable(kMontecarlo, 25, 1800, 450, seed, "Montecarlo 2")});
  };
  const auto heavy_regular = [](std::uint64_t seed) {
    return jobs({made(kLongWordCount, 0, 3650, seed), accelerable(kCrypt, 2.5, 300, 4500, seed, "Crypt"),
                 accelerable(kMontecarlo, 25, 600, 4500, seed, "Montecarlo")});
  };
  const auto estimates = context.over_seeds([&](std::uint64_t seed) {
    Trace first, second;
    const Workload one = heavy_accelerated(seed), two = heavy_regular(seed);
    (void)run(one, trackers(seed, 6), kAsInThesis, first.options);
    const RunResult regular = run(two, trackers(seed, 6), kAsInThesis, second.options);
    const double on_accelerated = second.launched[0].second, all = on_accelerated + second.launched[0].first;
    return std::vector<double>{static_cast<double>(first.most[3].first), static_cast<double>(first.most[1].first),
                               on_accelerated / all, regular.jobs[0].missed_deadline() ? 0.0 : 1.0};
  });
  Findings found;
  found.figures = {{"2.1: most regular nodes of the tight Montecarlo (25 times as fast on accelerated ones)", "most of the cluster",
                    estimates[0], Unit::number, at_least(20)},
                   {"2.1: most regular nodes of Crypt (2.5 times)", "considerably fewer", estimates[1], Unit::number, {}},
                   {"2.2: maps of WordCount on accelerated nodes", "some", estimates[2], Unit::percent, at_least(0.01)},
                   {"2.2: WordCount meets its tight goal", "met", estimates[3], Unit::number, exactly(1),
                    "by the need of slots alone it ends half a task after its goal (AD-1)"}};
  Trace trace;
  const Workload workload = heavy_accelerated(1);
  (void)run(workload, trackers(1, 6), kAsInThesis, trace.options);
  found.charts.push_back(timeline("adaptive-pools.svg", "Heavy load of accelerable jobs", workload, trace, 5000));
  return found;
}

}  // namespace

std::vector<Experiment> adaptive_affinity_experiments() {
  const std::string nodes = "60 nodes of a map and a reduce slot, heartbeat 3 s; ";
  return {
      {"AD-5", "Adaptive: data affinity", kThesis,
       nodes + "three WordCounts of 780 blocks of 64 MiB, two Joins of 480 blocks of 16 MiB, loose goals; remote blocks come at 12 "
               "MB/s",
       "one seed", locality},
      {"AD-7", "Adaptive: maps whose block is elsewhere", kThesis, "as AD-5", "", reading_lengths},
      {"AD-8", "Adaptive: data affinity with tight goals", kThesis, "as AD-5, goals of 4,300 and 200 s", "one seed",
       locality_with_goals},
      {"AD-9", "Adaptive: hardware affinity", kThesis,
       "54 regular and 6 accelerated nodes; WordCount with a goal of 5,000 s, a Montecarlo with 2,200 s, and 300 s after its end "
       "one "
       "with 500 s",
       "one seed", hardware},
      {"AD-11", "Adaptive: arbitrating between regular and accelerated nodes", kThesis,
       "as AD-9: WordCount, Crypt and Montecarlo, with tight goals of the accelerable jobs (2.1) and of WordCount (2.2)",
       "one seed", pools}};
}

}  // namespace weft::papers
