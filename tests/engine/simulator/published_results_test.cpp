// What was published about delay scheduling and about placing reduces by their centre of gravity, on simulated Hadoop 1 clusters
// with a network: the ratios, as the original testbeds cannot be rebuilt.
#include <cmath>

#include "tests/engine/simulator/simulated.hpp"

namespace weft::simulator {
namespace {

using namespace test;

constexpr double kMega = 1e6;

/// Nodes with two map and two reduce slots that report every second; racks are oversubscribed.
ClusterModel hadoop(std::uint32_t nodes, std::uint32_t racks, std::uint64_t seed) {
  ClusterModel model = cluster(nodes, 4, racks);
  model.groups[0].capacity.map_slots = model.groups[0].capacity.reduce_slots = 2;
  model.network.flows = true;
  model.network.nic = 125 * kMega;
  model.network.disk_read = model.network.disk_write = 80 * kMega;
  model.network.oversubscription = 5;
  model.heartbeat = seconds(1);
  model.seed = seed;
  return model;
}

double mean_seconds(const RunResult& result, std::size_t every, std::size_t first) {
  double sum = 0;
  std::size_t count = 0;
  for (std::size_t i = first; i < result.jobs.size(); i += every, ++count) {
    EXPECT_TRUE(result.jobs[i].completion_time().has_value()) << i;
    sum += std::chrono::duration<double>(result.jobs[i].completion_time().value_or(Time(0))).count();
  }
  return sum / static_cast<double>(count);
}

// ---- CG-4: Hammoud, Rehman, Sakr, CLOUD 2012 ---------------------------------------------------------------------------

/// Small jobs, one after the other, whose maps come to lie unevenly in the racks. Reduces start when half of them are known to have
/// ended: the earlier they start, the less there is to go by.
Workload small_shuffles(std::uint64_t seed) {
  Random random(seed, 7);
  Workload workload;
  Time arrival(0);
  for (std::size_t i = 0; i < 60; ++i) {
    arrival += milliseconds(random.between(5'000, 25'000));
    StageSpec maps = stage(static_cast<std::uint32_t>(3 + random.below(10)), milliseconds(random.between(4'000, 12'000)));
    maps.input_bytes = std::uint64_t{maps.tasks} * (64 << 20);
    maps.shuffle_bytes = maps.input_bytes;
    maps.partition_skew = 0.5;
    StageSpec reduces = stage(static_cast<std::uint32_t>(1 + random.below(4)), seconds(3), {0});
    workload.jobs.push_back(job(arrival, {maps, reduces}));
  }
  return workload;
}

struct Placed {
  double off_rack = 0, seconds = 0;
};

Placed placed(const std::string& scheduler, std::uint32_t nodes, std::uint32_t racks, std::uint64_t seed) {
  ClusterModel model = hadoop(nodes, racks, seed);
  model.slow_start = 0.5;
  const RunResult result = test::run(small_shuffles(seed), model, scheduler);
  return {result.traffic[static_cast<std::size_t>(TrafficKind::shuffle)].cross_rack, mean_seconds(result, 1, 0)};
}

TEST(PublishedResults, CogrsMovesFewerBytesBetweenRacksThanTheNativeScheduler) {  // CG-4: -9.6 % and -38.6 %
  const std::string native = "fifo(remote_per_heartbeat=1, reduces_per_heartbeat=1)";
  for (const auto& [nodes, racks] : {std::pair(14u, 2u), std::pair(20u, 5u)}) {
    Placed before, after;
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      const Placed a = placed(native, nodes, racks, seed), b = placed("cogrs(inner=" + native + ")", nodes, racks, seed);
      before.off_rack += a.off_rack, before.seconds += a.seconds;
      after.off_rack += b.off_rack, after.seconds += b.seconds;
    }
    const double change = after.off_rack / before.off_rack - 1;
    EXPECT_LE(change, -0.05) << racks << " racks";
    EXPECT_GE(change, -0.45) << racks << " racks";
    EXPECT_LE(after.seconds, before.seconds * 1.02) << racks << " racks";
    RecordProperty("off_rack_change_" + std::to_string(racks) + "_racks", std::to_string(change));
    RecordProperty("time_change_" + std::to_string(racks) + "_racks", std::to_string(after.seconds / before.seconds - 1));
  }
}

// ---- BS-5: Zaharia et al., EuroSys 2010 ------------------------------------------------------------------------------

/// Small jobs (3 maps) among large ones (every tenth, 120 maps), all bound by what they read.
Workload reading_jobs(std::uint64_t seed) {
  Random random(seed, 8);
  Workload workload;
  Time arrival(0);
  for (std::size_t i = 0; i < 150; ++i) {
    arrival += milliseconds(random.between(500, 3'500));
    StageSpec maps = stage(i % 10 == 0 ? 120 : 3, seconds(1));
    maps.input_bytes = std::uint64_t{maps.tasks} * (256 << 20);
    workload.jobs.push_back(job(arrival, {maps}));
  }
  return workload;
}

double locality(const RunResult& result) {
  return static_cast<double>(result.locality.node) / static_cast<double>(result.locality.all());
}

TEST(PublishedResults, DelaySchedulingReachesLocalityThroughputAndShortWaits) {  // BS-5
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const Workload workload = reading_jobs(seed);
    const ClusterModel model = hadoop(30, 3, seed);
    const RunResult fair = test::run(workload, model, "fair");
    for (const char* wait : {"5s", "15s"}) {
      const RunResult delay =
          test::run(workload, model, std::string("delay(inner=fair, node_wait=") + wait + ", rack_wait=" + wait + ")");
      EXPECT_GE(locality(delay), 0.95) << wait << ", seed " << seed;
      EXPECT_LE(locality(fair), 0.8) << "seed " << seed;
      EXPECT_LE(delay.makespan, fair.makespan) << wait << ", seed " << seed;
      EXPECT_LE(mean_seconds(delay, 10, 1), mean_seconds(fair, 10, 1)) << "small jobs, " << wait << ", seed " << seed;
      RecordProperty(std::string("locality_") + wait, std::to_string(locality(delay)) + " of " + std::to_string(locality(fair)));
      RecordProperty(std::string("throughput_") + wait,
                     std::to_string(static_cast<double>(fair.makespan.count()) / static_cast<double>(delay.makespan.count())));
      RecordProperty(std::string("small_jobs_") + wait, std::to_string(mean_seconds(fair, 10, 1) / mean_seconds(delay, 10, 1)));
    }
  }
}

}  // namespace
}  // namespace weft::simulator
