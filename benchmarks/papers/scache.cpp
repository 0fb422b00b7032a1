// What SCache's prefetching gains, in the simulator: its cluster, with a shuffle that is pulled when reduces start and with one
// that is prefetched into memory while maps run.
#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "benchmarks/measure.hpp"
#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/page.hpp"
#include "benchmarks/papers/runs.hpp"
#include "engine/simulator/workloads/workloads.hpp"

namespace weft::papers {
namespace {

const char* const kScachePaper = "SCache (Fu et al.)";
constexpr double kSlots = 4, kNic = 36e6, kDisk = 21.5e6;  // of a node: 300 Mbit/s, of which 36 MB/s are payload
constexpr double kMapRate = 27.2e6;  // bytes of map output that a node makes in a second: 200 GB in 146.9 s on 50
constexpr std::uint64_t kGigabyte = 1'000'000'000;

/// The published cluster or a part of it, behind a page cache with room for one map's output.
ClusterModel scache_cluster(std::uint32_t nodes, std::uint64_t map_output, shuffle::Mode mode) {
  ClusterModel model = cluster(nodes, kSlots);
  model.network.flows = true;
  model.network.nic = kNic;
  model.network.disk_read = model.network.disk_write = kDisk;
  model.shuffle.mode = mode;
  model.shuffle.memory = 12 * kGigabyte;
  model.shuffle.page_cache = map_output;
  model.shuffle.fetch_bytes = 4u << 20;
  if (mode == shuffle::Mode::memory) model.preplace = 0.05;
  return model;
}

/// A map and a reduce stage of five rounds each.
Workload group_by(std::uint32_t nodes, std::uint64_t bytes, Time reduce) {
  const auto tasks = static_cast<std::uint32_t>(5 * nodes * kSlots);
  const double map_seconds = static_cast<double>(bytes) / tasks / (kMapRate / kSlots);
  StageSpec maps = stage(tasks, milliseconds(static_cast<std::int64_t>(1000 * map_seconds)));
  maps.shuffle_bytes = bytes;
  return jobs({job(Time(0), {maps, stage(tasks, reduce, {0})})});
}

struct Times {
  double map = 0, reduce = 0, shuffle = 0;  // seconds; shuffle: of the median map and the median reduce
  double busy = 0;                          // part of the processors' time that tasks work
};

double middle(std::vector<double> values) { return values.empty() ? 0 : bench::median(std::move(values)); }

Times times_of(const Workload& workload, const ClusterModel& model) {
  Times times;
  std::vector<double> writes, reads;
  RunOptions options;
  options.on_event = [&](Time at, const master::Event& event) {
    const auto* ended = std::get_if<master::TaskFinished>(&event);
    if (ended == nullptr) return;
    const bool map = ended->attempt.task.stage.value() == 0;
    (map ? times.map : times.reduce) = in_seconds(at);
    (map ? writes : reads).push_back(in_seconds(map ? ended->shuffle_times.write : ended->shuffle_times.read));
  };
  const RunResult result = run(workload, model, "fifo", options);
  (void)mean_completion(result);
  double work = 0;
  for (const StageSpec& one : workload.jobs[0].stages) work += in_seconds(one.duration) * one.tasks;
  times.busy = work / (in_seconds(result.makespan) * model.groups[0].capacity.cpu * model.groups[0].count);
  times.reduce -= times.map;
  times.shuffle = middle(std::move(writes)) + middle(std::move(reads));
  return times;
}

struct Both {
  Times pull, memory;
};

Both both(const Workload& workload, std::uint32_t nodes, double compressed = 1) {
  const StageSpec& maps = workload.jobs[0].stages[0];
  const auto timed = [&](shuffle::Mode mode) {
    ClusterModel model = scache_cluster(nodes, maps.shuffle_bytes / maps.tasks, mode);
    model.shuffle.compressed = compressed;
    return times_of(workload, model);
  };
  return {timed(shuffle::Mode::pull), timed(shuffle::Mode::memory)};
}

double less(double before, double after) { return after / before - 1; }

/// Sizes are published for 50 nodes.
std::uint32_t nodes_of(const Context& context) { return context.quick ? 4 : 10; }
std::uint64_t bytes_of(const Context& context, double gigabytes) {
  return static_cast<std::uint64_t>(gigabytes * static_cast<double>(kGigabyte) * nodes_of(context) / 50);
}

// ---- SC-1, SC-2, SC-11 -------------------------------------------------------------------------------------------------

/// Bytes per second of a reduce that nothing holds up: the published 20 GB, all in memory, were five rounds in 3.1 s.
constexpr double kReduceRate = 60e6;

Findings group_by_test(const Context& context) {
  Curve spark_map{"map, Spark", {}, true}, pull_map{"map, pull", {}, false}, scache_map{"map, SCache", {}, true},
      memory_map{"map, memory", {}, false}, spark{"reduce, Spark", {}, true}, pull{"reduce, pull", {}, false},
      scache{"reduce, SCache", {}, true}, memory{"reduce, memory", {}, false};
  double map = 0, reduce = 0, shuffle = 0, before = 0, after = 0;
  const auto rows = published("scache_group_by.csv");
  for (const auto& row : rows) {
    const std::uint64_t bytes = bytes_of(context, row[0]);
    const double of_reduce = static_cast<double>(bytes) / (5 * nodes_of(context) * kSlots) / kReduceRate;
    const Both ran =
        both(group_by(nodes_of(context), bytes, milliseconds(static_cast<std::int64_t>(1000 * of_reduce))), nodes_of(context));
    const auto part = 1 / static_cast<double>(rows.size());
    map += part * less(ran.pull.map, ran.memory.map);
    reduce += part * less(ran.pull.reduce, ran.memory.reduce);
    shuffle += part * less(ran.pull.shuffle, ran.memory.shuffle);
    before += part * ran.pull.busy;
    after += part * ran.memory.busy;
    const auto add = [&](Curve& curve, double value) { curve.points.push_back({row[0], value}); };
    add(spark_map, row[1]), add(scache_map, row[2]), add(spark, row[3]), add(scache, row[4]);
    add(pull_map, ran.pull.map), add(memory_map, ran.memory.map), add(pull, ran.pull.reduce), add(memory, ran.memory.reduce);
  }
  return {
      {{"SC-1: map stage", "−10.4 %", single(map), Unit::change, {-0.2, -0.05}},
       {"SC-1: reduce stage", "−82.4 %", single(reduce), Unit::change, {-0.9, -0.65}},
       {"SC-2: shuffle time of the median map and the median reduce",
        "−88.9 %",
        single(shuffle),
        Unit::change,
        {-0.95, -0.8},
        "a prefetched partition costs no time at all in the simulator"},
       {"SC-11: processors in use, pull", "22.7 %", single(before), Unit::percent, {}},
       {"SC-11: processors in use, memory over pull", "2.6", single(after / before), Unit::number, at_least(1.1)}},
      {line_chart("scache-map-stage.svg", "GroupByTest: map stage", "GB on 50 nodes", "s",
                  {spark_map, pull_map, scache_map, memory_map}),
       line_chart("scache-reduce-stage.svg", "GroupByTest: reduce stage", "GB on 50 nodes", "s", {spark, pull, scache, memory})},
      "`shaped_bench` measures the same on real workers ([shuffle.md](shuffle.md#figures)): −11 %, −76 % and −91 %."};
}

// ---- SC-3, SC-14 ------------------------------------------------------------------------------------------------------

Findings terasort(const Context& context) {
  Curve theirs{"SCache", {}, true}, ours{"weft", {}, false};
  double sum = 0;
  const auto rows = published("scache_terasort.csv");
  for (const auto& row : rows) {
    // A reduce sorts 90 MB/s, as the published ones do with their input in memory; a fifth of the bytes go over the network.
    const std::uint64_t bytes = bytes_of(context, row[0]);
    const double sorting = static_cast<double>(bytes) / (5 * nodes_of(context) * kSlots) / 90e6;
    const Both ran = both(group_by(nodes_of(context), bytes, milliseconds(1 + static_cast<std::int64_t>(1000 * sorting))),
                          nodes_of(context), 0.19);
    const double faster = ran.pull.reduce / ran.memory.reduce;
    sum += faster / static_cast<double>(rows.size());
    theirs.points.push_back({row[0], row[1] / row[2]});
    ours.points.push_back({row[0], faster});
  }
  return {{{"first shuffle: reduce stage, pull over memory", "2.0", single(sum), Unit::number, {1.5, 2.5}}},
          {line_chart("scache-terasort.svg", "Terasort, first shuffle: reduce stage", "GB on 50 nodes", "times as fast",
                      {theirs, ours})},
          "`shaped_bench` measures twice as fast on real workers."};
}

/// Hadoop's sort reads and writes files: both take their time from disks.
Findings hadoop_sort(const Context& context) {
  double sum = 0, most = 0;
  for (const double gigabytes : {128.0, 256.0, 384.0, 512.0}) {
    const std::uint32_t nodes = nodes_of(context);
    const std::uint64_t bytes = bytes_of(context, gigabytes);
    Workload workload = group_by(nodes, bytes, seconds(1));
    auto& stages = workload.jobs[0].stages;
    stages[0].input_bytes = stages[1].output_bytes = bytes;
    const auto took = [&](shuffle::Mode mode) {
      ClusterModel model = scache_cluster(nodes, bytes / stages[0].tasks, mode);
      model.network.disk_read = model.network.disk_write = 80e6;
      model.network.nic = 125e6;
      return mean_completion(run(workload, model, "fifo"));
    };
    const double change = less(took(shuffle::Mode::pull), took(shuffle::Mode::memory));
    sum += change / 4;
    most = std::min(most, change);
  }
  return {{{"whole job, mean of four sizes", "−13 %", single(sum), Unit::change, {-0.3, -0.05}},
           {"whole job, most", "−15 %", single(most), Unit::change, {-0.35, -0.05}}}};
}

// ---- SC-5 -------------------------------------------------------------------------------------------------------------

/// The public DAGs have no bytes, but say what part of a machine's network a task's input takes: that, for as long as it runs.
Workload query(const JobSpec& dag) {
  JobSpec spec = dag;
  spec.arrival = Time(0);
  for (StageSpec& one : spec.stages) {
    const double bytes = one.demand.network_in * kNic * in_seconds(one.duration) * one.tasks;
    one.demand = {};
    if (one.parents.empty()) continue;
    for (const std::uint32_t parent : one.parents) {
      auto& of_parent = spec.stages[parent].shuffle_bytes;
      of_parent = std::max(of_parent, static_cast<std::uint64_t>(bytes / static_cast<double>(one.parents.size())));
    }
  }
  return jobs({spec});
}

Findings tpcds_queries(const Context& context) {
  const std::string file = "queries_tpcds_new.txt";
  const auto path = context.trace(file);
  if (!path) return {{}, {}, "", file + " is not below --traces (or WEFT_TRACES); it comes from github.com/lenhattan86/IRFsim"};
  const Workload dags = bench::need(simulator::workloads::load("carbyne:" + *path, {}));
  const auto on = [&](std::uint32_t nodes) {
    std::vector<double> changes;
    double before = 0, after = 0;
    for (const JobSpec& dag : dags.jobs) {
      const Workload workload = query(dag);
      const auto took = [&](shuffle::Mode mode) { return mean_completion(run(workload, scache_cluster(nodes, 0, mode), "fifo")); };
      const double pull = took(shuffle::Mode::pull), memory = took(shuffle::Mode::memory);
      before += pull;
      after += memory;
      changes.push_back(less(pull, memory));
    }
    return std::vector<double>{simulator::report::estimate(changes).mean, middle(changes), less(before, after)};
  };
  const std::vector<double> few = on(3), many = on(50);
  return {
      {{"time of a query, mean", "−40.7 %", single(few[0]), Unit::change, at_most(-0.02)},
       {"time of a query, median", "−39 %", single(few[1]), Unit::change, at_most(-0.02)},
       {"all queries together", "−50.1 %", single(few[2]), Unit::change, at_most(-0.02)},
       {"time of a query on 50 nodes, where a stage is one wave, mean", "none", single(many[0]), Unit::change, {}}},
      {},
      "The published queries' data and plans are not public, so only the direction is claimed: the DAGs of Carbyne's authors, one "
      "after "
      "the other, shuffle what their stages are said to take of the network. All tasks of such a stage last equally long: where "
      "they "
      "all run at once, nothing is left to prefetch behind, and a prefetch asks fewer nodes at a time than a task's own fetch."};
}

// ---- SC-13 ------------------------------------------------------------------------------------------------------------

/// The reduce stage with memory for so many of the five rounds; files on disks are no way round.
double with_memory(double rounds) {
  constexpr std::uint32_t kNodes = 4;
  const std::uint64_t bytes = 1'600'000'000;
  Workload workload = group_by(kNodes, bytes, seconds(1));
  workload.jobs[0].stages[0].duration = seconds(60);
  ClusterModel model = scache_cluster(kNodes, 0, shuffle::Mode::memory);
  model.network.nic = 10e6;
  model.network.disk_read = model.network.disk_write = 2e6;
  model.shuffle.fetch_bytes = 4u << 20;
  model.shuffle.memory = static_cast<std::uint64_t>(2 * (60e6 * rounds + 8e6));  // half of it is for what is prefetched
  model.shuffle.page_cache = bytes;
  return times_of(workload, model).reduce;
}

Findings memory_steps(const Context&) {
  Curve curve{"reduce stage", {}, false};
  double at_rounds = 0, between = 0;
  for (int round = 1; round < 5; ++round) {
    const double whole = with_memory(round), half = with_memory(round + 0.5), next = with_memory(round + 1);
    at_rounds += whole - next;
    between += whole - half;
    curve.points.push_back({static_cast<double>(round), whole});
    curve.points.push_back({round + 0.5, half});
    if (round == 4) curve.points.push_back({5, next});
  }
  return {{{"gain by memory for one round more, mean", "a step", single(at_rounds / 4), Unit::time, at_least(1)},
           {"part of it that half a round more gains", "none", single(between / at_rounds), Unit::percent, {-0.25, 0.35}}},
          {line_chart("scache-memory-steps.svg", "Reduce stage by memory", "rounds that memory has room for", "s", {curve})},
          ""};
}

}  // namespace

std::vector<Experiment> scache_experiments() {
  const std::string cluster_text =
      "10 nodes of 4 slots with a fifth of the published bytes (there: 50 nodes), 300 Mbit/s each way, disks of 21.5 MB/s behind a "
      "page "
      "cache of a map's output, as traces of the published runs show; simulated";
  const std::string quick = "4 nodes and a twelfth of the bytes";
  return {
      {"SC-1", "GroupByTest: what prefetching gains", kScachePaper,
       cluster_text + "; one shuffle, five rounds of maps and of reduces", quick, group_by_test},
      {"SC-3", "Terasort: what prefetching gains", kScachePaper,
       cluster_text + "; a fifth of a shuffle goes over the network, compressed", quick, terasort},
      {"SC-5", "TPC-DS", kScachePaper,
       "3 such nodes, so that stages take several waves; 41 DAGs of TPC-DS queries, one after the other; simulated", "",
       tpcds_queries},
      {"SC-13", "Memory pays off in whole rounds", kScachePaper,
       "4 such nodes, 10 MB/s of network and hardly any disk; a shuffle of five rounds and memory for 1 to 5 of them; simulated",
       "", memory_steps},
      {"SC-14", "Hadoop's sort: whole jobs", kScachePaper,
       "10 nodes of 4 slots with a fifth of 128 to 512 GB, 1 Gbit/s, disks of 80 MB/s that maps read from and reduces write to; "
       "simulated",
       quick, hadoop_sort}};
}

}  // namespace weft::papers
