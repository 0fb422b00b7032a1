// Tasks that slow each other down on a node, uplinks of racks that differ by direction, and the U-curve over slots per node.
#include "engine/simulator/contention.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/engine/simulator/simulated.hpp"

namespace weft::simulator {
namespace {

using namespace test;

double in_full_seconds(Time time) { return std::chrono::duration<double>(time).count(); }

schedulers::Resources takes(double cpu, double disk = 0, double memory = 0) {
  schedulers::Resources load;
  load.cpu = cpu;
  load.disk_read = disk / 2;
  load.disk_write = disk / 2;
  load.memory = memory;
  return load;
}

/// Seconds until `tasks` of ten seconds have ended that begin together on a node.
double together(std::uint32_t tasks, const schedulers::Resources& load, const InterferenceModel& interference) {
  ClusterModel model = cluster(1, 100);
  model.interference = interference;
  Workload workload = jobs({job(Time(0), {stage(tasks, seconds(10))})});
  workload.jobs[0].stages[0].load = load;
  return in_full_seconds(run(workload, model).makespan);
}

TEST(Contention, ProcessorsAreSharedWithoutLoss) {
  InterferenceModel node;
  node.cpu = 4;
  EXPECT_NEAR(together(4, takes(1), node), 10, 1e-6);
  EXPECT_NEAR(together(6, takes(1), node), 15, 1e-6);
  EXPECT_NEAR(together(8, takes(0.5), node), 10, 1e-6);
  EXPECT_NEAR(together(8, takes(0, 100), node), 10, 1e-6) << "they want no processor, and there is no limit of the disk";
}

TEST(Contention, DisksSeekAndMemoryIsPaged) {
  InterferenceModel node;
  node.disk = 100;
  node.memory = 100;
  node.disk_loss = 0.5;
  node.memory_loss = 1;
  EXPECT_NEAR(together(2, takes(0, 50, 50), node), 10, 1e-6);
  EXPECT_NEAR(together(4, takes(0, 50), node), 10 * std::pow(2, 1.5), 1e-6);
  EXPECT_NEAR(together(4, takes(0, 0, 50), node), 40, 1e-6);
  EXPECT_NEAR(together(4, takes(1, 50, 50), node), 40 * std::pow(2, 1.5), 1e-6) << "the one on top of the other";
}

TEST(Contention, WhoEndsEarlierLeavesMoreToTheOthers) {
  ClusterModel model = cluster(1, 2);
  model.interference.cpu = 1;
  Workload workload = jobs({job(Time(0), {stage(2, seconds(0))})});
  workload.jobs[0].stages[0].durations = {seconds(4), seconds(10)};
  const RunResult result = run(workload, model);
  EXPECT_NEAR(in_full_seconds(result.makespan), 14, 1e-6) << "eight seconds at half the speed, six at the full";
  EXPECT_NEAR(in_full_seconds(result.work.useful), 8 + 14, 1e-6);
}

TEST(Contention, AReduceLoadsItsNodeByPhase) {
  // A reduce on each node: 100 MB come from the other one in ten seconds, then it works ten; beside it a task of sixty seconds.
  const auto beside = [](const schedulers::Resources& fetching, const schedulers::Resources& working) {
    ClusterModel model = cluster(2, 2);
    model.groups[0].capacity.map_slots = model.groups[0].capacity.reduce_slots = 1;
    model.network.flows = true;
    model.network.nic = 10e6;
    model.interference.cpu = 1;
    Workload workload =
        jobs({job(Time(0), {stage(2, Time(0)), stage(2, seconds(10), {0})}), job(milliseconds(1), {stage(2, seconds(60))})});
    workload.jobs[0].stages[0].shuffle_bytes = 400'000'000;
    workload.jobs[0].hints.map_profile = workload.jobs[1].hints.map_profile = takes(0.5);
    workload.jobs[0].hints.shuffle_profile = fetching;
    workload.jobs[0].hints.reduce_profile = working;
    return in_full_seconds(*run(workload, model, "fair").jobs[1].completion_time());
  };
  EXPECT_NEAR(beside(takes(0.1), takes(0.5)), 60, 0.01);
  EXPECT_NEAR(beside(takes(0.1), takes(1)), 65, 0.01) << "two thirds of the processor for fifteen seconds of work";
  EXPECT_NEAR(beside(takes(1), takes(0.5)), 60 + 10.0 / 3, 0.01) << "two thirds of it while the other fetches";
}

TEST(Contention, HeartbeatsTellWhatIsUsed) {
  ClusterModel model = cluster(1, 4);
  model.interference.cpu = 1;
  model.interference.memory = 1000;
  model.heartbeat = seconds(1);
  Workload workload = jobs({job(Time(0), {stage(4, seconds(10))})});
  workload.jobs[0].stages[0].load = takes(0.5, 0, 100);
  double most_cpu = 0, most_memory = 0;
  RunOptions options;
  options.on_event = [&](Time, const master::Event& event) {
    if (const auto* heartbeat = std::get_if<master::WorkerHeartbeat>(&event)) {
      most_cpu = std::max(most_cpu, heartbeat->used.cpu);
      most_memory = std::max(most_memory, heartbeat->used.memory);
    }
  };
  run(workload, model, "fifo", options);
  EXPECT_DOUBLE_EQ(most_cpu, 1) << "there is no more";
  EXPECT_DOUBLE_EQ(most_memory, 400);
}

TEST(Contention, ADeadNodesTasksWorkElsewhere) {
  ClusterModel model = cluster(2, 4);
  model.interference.cpu = 2;
  model.faults.nodes = {{seconds(7), 0, false, seconds(3)}};
  model.faults.attempt_failures = 0.2;
  const Workload workload = jobs({job(Time(0), {stage(16, seconds(5)), stage(4, seconds(3), {0})})});
  EXPECT_EQ(run(workload, model).jobs[0].outcome, Outcome::finished);
  EXPECT_EQ(log_of(workload, model), log_of(workload, model));
}

// ---- RA-1: the resource-aware scheduler's first experiment ---------------------------------------------------------------

/// Nine jobs of sorts, combines and selects on twenty nodes, with the published loads of their tasks as parts of a node.
Workload mixed_jobs() {
  const schedulers::Resources sort = takes(0.30, 0.45, 0.25), combine = takes(0.25, 0.10, 0.10), select = takes(0.15, 0.20, 0.10);
  const schedulers::Resources sorted = takes(0.20, 0.50, 0.60), combined = takes(0.10, 0.10, 0.10),
                              selected = takes(0.10, 0.10, 0.25);
  struct Job {
    int at;
    std::uint32_t gigabytes;
    const schedulers::Resources &map, &reduce;
    int map_seconds;
    std::uint32_t reduces;
  };
  Workload workload;
  for (const Job& one :
       {Job{0, 90, sort, sorted, 40, 40}, Job{100, 5, combine, combined, 70, 1}, Job{200, 10, select, selected, 25, 1},
        Job{350, 25, select, selected, 25, 1}, Job{500, 5, select, selected, 25, 1}, Job{600, 13, combine, combined, 70, 1},
        Job{1100, 50, combine, combined, 70, 1}, Job{2500, 19, sort, sorted, 40, 20}, Job{3750, 6, sort, sorted, 40, 20}}) {
    JobSpec spec = job(seconds(one.at), {stage(one.gigabytes * 16, seconds(one.map_seconds)),
                                         stage(one.reduces, seconds(one.reduces == 1 ? 400 : 60), {0})});
    spec.stages[0].load = one.map;
    spec.stages[1].load = one.reduce;
    spec.options.pool = "job " + std::to_string(workload.jobs.size());
    workload.jobs.push_back(std::move(spec));
  }
  return workload;
}

TEST(PublishedResults, OfFairWithOneToEightMapSlotsFourFinishFirst) {  // RA-1
  const Workload workload = mixed_jobs();
  std::vector<double> makespans;
  for (int slots = 1; slots <= 8; ++slots) {
    ClusterModel model = cluster(20, 100);
    model.groups[0].capacity.map_slots = slots;
    model.groups[0].capacity.reduce_slots = 2;
    model.interference.cpu = model.interference.disk = model.interference.memory = 1;
    makespans.push_back(in_full_seconds(run(workload, model, "fair").makespan));
    RecordProperty("makespan_" + std::to_string(slots), std::to_string(makespans.back()));
  }
  const auto best = std::min_element(makespans.begin(), makespans.end()),
             worst = std::max_element(makespans.begin(), makespans.end());
  EXPECT_GE(best - makespans.begin() + 1, 3) << testing::PrintToString(makespans);
  EXPECT_LE(best - makespans.begin() + 1, 5) << testing::PrintToString(makespans);
  EXPECT_GE(*worst / *best, 1.6) << testing::PrintToString(makespans);
  EXPECT_LE(*worst / *best, 2.4) << testing::PrintToString(makespans);
  EXPECT_TRUE(std::is_sorted(makespans.begin(), best + 1, std::greater<>())) << "falls to the best";
  EXPECT_TRUE(std::is_sorted(best, makespans.end())) << "and rises from there";
}

// ---- uplinks ---------------------------------------------------------------------------------------------------------

TEST(Uplinks, DifferByDirectionAndRack) {
  // One map in a rack, one reduce in the other, in either order.
  const auto fetches = [](double up, double down) {
    ClusterModel model = cluster(2, 1, 2);
    model.network.flows = true;
    model.network.nic = 100e6;
    model.network.rack_uplinks = {{0, {up, down}}};
    Workload workload = jobs({job(Time(0), {stage(1, seconds(1)), stage(2, seconds(1), {0})})});
    workload.jobs[0].stages[0].shuffle_bytes = 200'000'000;
    workload.jobs[0].stages[0].input_bytes = 1;
    workload.jobs[0].stages[0].hosts = {{"node-0"}};
    return in_full_seconds(run(workload, model, "fifo").makespan);
  };
  EXPECT_NEAR(fetches(10e6, 0), 2 + 10, 0.01) << "out of the map's rack";
  EXPECT_NEAR(fetches(0, 10e6), 2 + 1, 0.01) << "what comes into it is nothing";
}

TEST(Uplinks, OfASenderAreSharedByAllWhoFetchFromItsRack) {
  // Four maps in one rack, a reduce on each node of two: those of the other rack take 25 MB each, all over one uplink.
  ClusterModel model = cluster(8, 1, 2);
  model.network.flows = true;
  model.network.nic = 100e6;
  model.network.rack_uplinks = {{0, {10e6, 0}}, {1, {0, 0}}};
  model.groups[0].hosts = {"a", "b", "c", "d", "e", "f", "g", "h"};
  Workload workload = jobs({job(Time(0), {stage(4, seconds(1)), stage(8, seconds(1), {0})})});
  StageSpec& maps = workload.jobs[0].stages[0];
  maps.shuffle_bytes = 200'000'000;  // half of it leaves the rack
  maps.input_bytes = 4;
  maps.hosts = {{"a"}, {"b"}, {"c"}, {"d"}};
  const RunResult result = run(workload, model, "delay(inner=fifo, node_wait=5s)");
  EXPECT_NEAR(result.traffic[1].cross_rack, 100e6, 1e3);
  EXPECT_NEAR(in_full_seconds(result.makespan), 2 + 10, 0.01);
}

}  // namespace
}  // namespace weft::simulator
