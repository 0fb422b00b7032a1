// The shuffle service in simulated clusters: prefetching while maps run, memory that does not suffice, and what the published
// comparison with disks gained.
#include <algorithm>
#include <map>

#include "tests/engine/simulator/simulated.hpp"

namespace weft::simulator {
namespace {

using namespace test;

constexpr double kMegabyte = 1e6;

double in_seconds(Time time) { return std::chrono::duration<double>(time).count(); }

/// What a run's log says of a job's two stages.
struct Stages {
  double map = 0, reduce = 0;                                          // seconds
  double write = 0, read = 0;                                          // shuffle times of the median task
  std::map<std::pair<std::uint32_t, std::uint32_t>, NodeId> launched;  // by stage and task
  RunResult result;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

Stages stages(const Workload& workload, const ClusterModel& model, const std::string& scheduler = "fifo") {
  Stages stages;
  std::vector<double> writes, reads;
  Time maps_end(0), reduces_end(0);
  RunOptions options;
  options.on_event = [&](Time at, const master::Event& event) {
    const auto* finished = std::get_if<master::TaskFinished>(&event);
    if (finished == nullptr) return;
    const bool map = finished->attempt.task.stage.value() == 0;
    (map ? maps_end : reduces_end) = at;
    (map ? writes : reads).push_back(in_seconds(map ? finished->shuffle_times.write : finished->shuffle_times.read));
  };
  options.on_command = [&](Time, const master::Command& command) {
    if (const auto* launch = std::get_if<master::LaunchTask>(&command))
      stages.launched[{launch->attempt.task.stage.value(), launch->attempt.task.index}] = launch->node;
  };
  stages.result = run(workload, model, scheduler, options);
  stages.map = in_seconds(maps_end);
  stages.reduce = in_seconds(reduces_end - maps_end);
  stages.write = median(std::move(writes));
  stages.read = median(std::move(reads));
  return stages;
}

ClusterModel in_mode(ClusterModel model, shuffle::Mode mode) {
  model.shuffle.mode = mode;
  if (mode == shuffle::Mode::memory && model.preplace >= 1) model.preplace = 0.05;
  return model;
}

/// Four nodes of two slots on a slow network; a map that works ten seconds, five rounds, is read five rounds.
ClusterModel slow_network() {
  ClusterModel model = cluster(4, 2);
  model.network.flows = true;
  model.network.nic = 10 * kMegabyte;
  model.network.disk_read = model.network.disk_write = 20 * kMegabyte;
  return model;
}
Workload five_rounds(std::uint64_t bytes, Time map, Time reduce) {
  StageSpec maps = stage(40, map);
  maps.shuffle_bytes = bytes;
  return jobs({job(Time(0), {maps, stage(40, reduce, {0})})});
}

TEST(SimulatedPrefetch, BlocksComeWhileMapsRun) {
  // 75 MB to each node: 7.5 s of its network, while maps run for 50 s.
  const Workload workload = five_rounds(400'000'000, seconds(10), seconds(1));
  const Stages late = stages(workload, in_mode(slow_network(), shuffle::Mode::pull));
  const Stages early = stages(workload, in_mode(slow_network(), shuffle::Mode::memory));
  EXPECT_NEAR(late.reduce, 5 + 7.5, 0.2) << "all of it is fetched by tasks";
  EXPECT_LT(early.reduce, 5 + 0.2 * 7.5) << "what the last round of maps wrote comes late";
  EXPECT_GT(early.reduce, 5 + 0.2 * 0.2 * 7.5) << "for the first round of reduces at least";
  EXPECT_NEAR(early.map, 50, 0.1);
  const auto& bytes = early.result.prefetched;
  EXPECT_GT(bytes.prefetched_bytes, 250'000'000u);
  EXPECT_EQ(bytes.read_bytes, bytes.prefetched_bytes);
  EXPECT_EQ(bytes.wasted_bytes, 0u);
  EXPECT_NEAR(early.result.traffic[1].remote, 300e6, 1e6) << "every byte moves once";
  EXPECT_EQ(late.result.prefetched.prefetched_bytes, 0u);
}

TEST(SimulatedPrefetch, BlocksOfMapsThatWroteAsARecordingSaysComeAsWell) {
  Workload workload = five_rounds(400'000'000, seconds(10), seconds(1));
  StageSpec& maps = workload.jobs[0].stages[0];
  maps.written.assign(40, std::vector<std::uint64_t>(40, 250'000));
  maps.written[0][0] = 1;
  const Stages early = stages(workload, in_mode(slow_network(), shuffle::Mode::memory));
  EXPECT_LT(early.reduce, 5 + 0.5 * 7.5) << "most of it came before";
  EXPECT_GT(early.result.prefetched.prefetched_bytes, 250'000'000u);
}

TEST(SimulatedPrefetch, MapsWaitForTheDiskOnlyWhenTheirOutputGoesThere) {
  const Workload workload = five_rounds(4'000'000'000, seconds(1), seconds(1));  // 200 MB a round on each node: 10 s of its disk
  EXPECT_NEAR(stages(workload, in_mode(slow_network(), shuffle::Mode::memory)).map, 5, 0.1);
  EXPECT_NEAR(stages(workload, in_mode(slow_network(), shuffle::Mode::pull)).map, 50, 0.1);
  ClusterModel model = in_mode(slow_network(), shuffle::Mode::pull);
  model.shuffle.page_cache = 300'000'000;
  EXPECT_NEAR(stages(workload, model).map, 50 - 15, 0.1) << "what the cache holds at the end is nobody's wait";
}

TEST(SimulatedPrefetch, AStoreThatIsFullSendsOutputsToDisk) {
  ClusterModel model = in_mode(slow_network(), shuffle::Mode::memory);
  const Workload workload = five_rounds(4'000'000'000, seconds(1), seconds(1));  // 1 GB on each node
  model.shuffle.memory = 500'000'000;
  const Stages small = stages(workload, model);
  EXPECT_GT(small.map, 10) << "half of it goes to disk";
  EXPECT_LT(small.map, 40);
  EXPECT_EQ(small.result.jobs[0].outcome, Outcome::finished);
}

TEST(SimulatedPrefetch, MemoryPaysOffInWholeRounds) {
  // Each round is 60 MB on each node, 6 s of its network; maps give it ten times as long.
  const Workload workload = five_rounds(1'600'000'000, seconds(60), seconds(1));
  std::vector<double> times;
  std::vector<std::uint64_t> evicted;
  for (const int rounds : {1, 2, 3, 5}) {
    ClusterModel model = in_mode(slow_network(), shuffle::Mode::memory);
    model.network.disk_read = model.network.disk_write = 2 * kMegabyte;  // files are no way round
    model.shuffle.memory = static_cast<std::uint64_t>(2 * (60.0 * rounds + 8) * kMegabyte);
    const Stages one = stages(workload, model);
    times.push_back(one.reduce);
    evicted.push_back(one.result.prefetched.evicted_bytes);
  }
  EXPECT_TRUE(std::is_sorted(times.rbegin(), times.rend())) << testing::PrintToString(times);
  EXPECT_GT(times.front(), times.back() + 15) << testing::PrintToString(times);
  EXPECT_EQ(evicted.back(), 0u) << "all fits";
}

TEST(SimulatedPrefetch, ADeadNodeTakesWhatWasPrefetchedThereAndFromThere) {
  const Workload workload = five_rounds(400'000'000, seconds(10), seconds(5));
  for (const Time at : {seconds(25), seconds(52), seconds(60)}) {
    for (const bool silent : {false, true}) {
      for (const std::uint32_t replicas : {1u, 2u}) {
        ClusterModel model = in_mode(slow_network(), shuffle::Mode::memory);
        model.shuffle.memory = 200'000'000;
        model.faults.nodes = {{at, 1, silent, seconds(30)}};
        model.shuffle_replicas = replicas;
        const Stages run = stages(workload, model);
        EXPECT_EQ(run.result.jobs[0].outcome, Outcome::finished) << in_seconds(at);
        EXPECT_EQ(log_of(workload, model), log_of(workload, model)) << "the same again";
      }
    }
  }
}

TEST(SimulatedPrefetch, NeedsANetworkAndAMode) {
  ClusterModel model = cluster(2, 1);
  model.shuffle.mode = shuffle::Mode::memory;
  EXPECT_NE(validate(model).error().to_string().find("network.flows"), std::string::npos);
  model.shuffle.mode.reset();
  model.shuffle.memory = 1;
  EXPECT_NE(validate(model).error().to_string().find("shuffle.mode"), std::string::npos);
}

// ---- SC-1 to SC-3: SCache, on the shape of benchmarks/shuffle/shaped_bench ---------------------------------------------

/// Four nodes of two slots, 300 Mbit/s (36 MB/s of payload) each way, disks of 21.5 MB/s behind a page cache of a map's output.
ClusterModel shaped(shuffle::Mode mode) {
  ClusterModel model = cluster(4, 2);
  model.network.flows = true;
  model.network.nic = 36 * kMegabyte;
  model.network.disk_read = model.network.disk_write = 21.5 * kMegabyte;
  model.shuffle.page_cache = (512u << 20) / 40;
  model.shuffle.memory = 512u << 20;
  return in_mode(model, mode);
}

double change(double before, double after) { return 100 * (after / before - 1); }

TEST(PublishedResults, AGroupByTestGainsByMemoryAsOnARealCluster) {  // SC-1, SC-2
  // Maps of 12.8 MiB at 13.6 MB/s. Where neither network nor disk is slow, the five rounds of reduces take 0.13 s.
  const Workload workload = five_rounds(512u << 20, milliseconds(987), milliseconds(26));
  const Stages pull = stages(workload, shaped(shuffle::Mode::pull)), memory = stages(workload, shaped(shuffle::Mode::memory));
  const double map = change(pull.map, memory.map), reduce = change(pull.reduce, memory.reduce);
  const double shuffle = change(pull.write + pull.read, memory.write + memory.read);
  EXPECT_NEAR(map, -11, 10) << pull.map << " s, " << memory.map << " s";
  EXPECT_NEAR(reduce, -76, 10) << pull.reduce << " s, " << memory.reduce << " s";
  EXPECT_NEAR(shuffle, -91, 10) << pull.write << " + " << pull.read << " s, " << memory.write << " + " << memory.read << " s";
  RecordProperty("map", std::to_string(map));
  RecordProperty("reduce", std::to_string(reduce));
  RecordProperty("shuffle", std::to_string(shuffle));
}

TEST(PublishedResults, ASortIsReducedAboutTwiceAsFastFromMemory) {  // SC-3
  // Maps of 6.4 MiB at 13.6 MB/s, of which 19 % go over the network, compressed; a reduce sorts its part in 47 ms.
  const Workload workload = five_rounds(256u << 20, milliseconds(493), milliseconds(47));
  const auto sorted = [&](shuffle::Mode mode) {
    ClusterModel model = shaped(mode);
    model.shuffle.compressed = 0.19;
    return stages(workload, model);
  };
  const Stages pull = sorted(shuffle::Mode::pull), memory = sorted(shuffle::Mode::memory);
  const double map = change(pull.map, memory.map), reduce = change(pull.reduce, memory.reduce);
  EXPECT_NEAR(map, -1, 10) << pull.map << " s, " << memory.map << " s";
  EXPECT_NEAR(reduce, -50, 10) << pull.reduce << " s, " << memory.reduce << " s";
  EXPECT_GE(pull.reduce / memory.reduce, 1.5);
  RecordProperty("map", std::to_string(map));
  RecordProperty("reduce", std::to_string(reduce));
}

}  // namespace
}  // namespace weft::simulator
