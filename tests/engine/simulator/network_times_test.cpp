// What bytes between simulated nodes wait for beside their turn on a link: round trips to other racks, and replies that come before
// them over the same connection. And what nodes tell of their uplinks.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "engine/simulator/shuffle_service.hpp"
#include "tests/engine/simulator/simulated.hpp"

namespace weft::simulator {
namespace {

using namespace test;

constexpr double kUplink = 10e6;  // bytes a second

/// A node of one slot in each rack.
ClusterModel racks_of_one(std::uint32_t racks, Time round_trip) {
  ClusterModel model = cluster(racks, 1, racks);
  model.network.flows = true;
  model.network.uplink = kUplink;
  model.network.round_trip = round_trip;
  return model;
}

/// Two maps whose input of so many bytes each lies on the first node; one is read by the second.
Workload read_from_first_node(std::uint64_t bytes) {
  StageSpec maps = stage(2, seconds(5));
  maps.input_bytes = 2 * bytes;
  maps.hosts = {{"node-0"}, {"node-0"}};
  return jobs({job(Time(0), {maps})});
}

TEST(SimulatedNetwork, InputFromAnotherRackComesAfterFourRoundTrips) {
  const Workload workload = read_from_first_node(10'000'000);
  EXPECT_EQ(run(workload, racks_of_one(2, Time(0))).makespan, seconds(6));
  EXPECT_EQ(run(workload, racks_of_one(2, milliseconds(100))).makespan, milliseconds(6400));
}

TEST(SimulatedNetwork, InsideARackThereAreNone) {
  ClusterModel model = racks_of_one(2, milliseconds(100));
  model.racks = 1;
  EXPECT_EQ(run(read_from_first_node(10'000'000), model).makespan, seconds(5));
}

TEST(SimulatedNetwork, WhoseSourceDiesDuringARoundTripBeginsAgainElsewhere) {
  StageSpec maps = stage(3, seconds(5));
  maps.input_bytes = 30'000'000;
  maps.hosts = {{"node-0"}, {"node-2"}, {"node-0", "node-2"}};  // the last one is read by the second node, from the first
  ClusterModel model = racks_of_one(3, milliseconds(100));
  model.faults.nodes = {{milliseconds(150), 0, false, Time(0)}};
  Time ended(0);
  RunOptions options;
  options.on_event = [&](Time at, const master::Event& event) {
    const auto* finished = std::get_if<master::TaskFinished>(&event);
    if (finished != nullptr && finished->attempt.task.index == 2) ended = at;
  };
  run(jobs({job(Time(0), {maps})}), model, "fifo", options);
  EXPECT_EQ(ended, milliseconds(150 + 400 + 1000 + 5000));
}

TEST(SimulatedNetwork, NoRoundTripEndsBeforeItBegins) {
  EXPECT_EQ(validate(racks_of_one(2, milliseconds(-1))).error().to_string(), "a round trip must not be negative");
}

/// Three maps, one in each rack, of 6 MB each for a single reduce.
Workload one_reduce() {
  StageSpec maps = stage(3, seconds(1));
  maps.shuffle_bytes = 18'000'000;
  return jobs({job(Time(0), {maps, stage(1, seconds(1), {0})})});
}

TEST(SimulatedNetwork, AFetchIsOneRoundTripAndWithAShuffleModeOneToEachNode) {
  ClusterModel model = racks_of_one(3, milliseconds(100));
  EXPECT_EQ(run(one_reduce(), model).makespan, milliseconds(1000 + 100 + 1200 + 1000));
  model.shuffle.mode = shuffle::Mode::memory;  // and no placing, so that nothing is prefetched
  EXPECT_EQ(run(one_reduce(), model).makespan, milliseconds(1000 + 200 + 1200 + 1000));
}

TEST(SimulatedNetwork, AFetchThatFailsDuringARoundTripDoesNotBegin) {
  ClusterModel model = racks_of_one(3, seconds(10));
  model.heartbeat = seconds(30);  // what has failed is there until its node says so
  for (int at = 30; at < 120; at += 3) {
    for (const std::uint32_t dead : {0u, 1u, 2u}) {
      model.faults.nodes = {{seconds(at), dead, false, seconds(5)}};
      EXPECT_EQ(run(one_reduce(), model).jobs[0].outcome, Outcome::finished) << at << " s, node " << dead;
    }
  }
}

TEST(SimulatedNetwork, OneAfterTheOtherAFullUplinkHoldsUpOnlyWhatComesOverIt) {
  ClusterModel model = racks_of_one(3, Time(0));
  model.network.rack_uplinks[1] = {0.5 * kUplink, 0.5 * kUplink};  // half as fast
  model.network.rack_uplinks[2] = {kUplink, kUplink};
  model.network.rack_uplinks[0] = {kUplink, kUplink};
  Workload workload = one_reduce();
  workload.jobs[0].stages[0].durations = {seconds(1), milliseconds(500), milliseconds(500)};  // the reduce starts on the first node
  EXPECT_EQ(run(workload, model).makespan, milliseconds(1000 + 1200 + 1000)) << "from both at the same time";
  model.shuffle.mode = shuffle::Mode::memory;
  EXPECT_EQ(run(workload, model).makespan, milliseconds(1000 + 1200 + 600 + 1000));
}

TEST(SimulatedNetwork, EachTaskReadsAllOfABroadcast) {
  StageSpec table = stage(1, seconds(1));
  table.shuffle_bytes = 10'000'000;
  const auto read = [&](std::uint32_t broadcast) {
    table.broadcast = broadcast;
    return run(jobs({job(Time(0), {table, stage(3, seconds(1), {0})})}), racks_of_one(3, Time(0)));
  };
  const RunResult parts = read(0), whole = read(1);
  EXPECT_NEAR(parts.traffic[1].total, 10e6, 1);
  EXPECT_NEAR(whole.traffic[1].total, 30e6, 1);
  EXPECT_NEAR(whole.traffic[1].cross_rack, 20e6, 1);
  EXPECT_EQ(whole.makespan, milliseconds(1000 + 2000 + 1000));
}

TEST(SimulatedNetwork, NodesTellWhatUplinksCarriedInTheMean) {
  std::vector<std::pair<Time, double>> told;  // by the first rack, out of it
  RunOptions options;
  options.on_event = [&](Time at, const master::Event& event) {
    const auto* heartbeat = std::get_if<master::WorkerHeartbeat>(&event);
    if (heartbeat != nullptr && heartbeat->node == NodeId(1)) told.emplace_back(at, heartbeat->cross_rack.up);
  };
  run(read_from_first_node(5'000'000), racks_of_one(2, Time(0)), "fifo", options);  // half a second of the uplink
  ASSERT_GE(told.size(), 2u);
  EXPECT_EQ(told[0].first, seconds(1));
  EXPECT_NEAR(told[0].second, 0.5 * kUplink, 1);
  EXPECT_EQ(told[1].first, seconds(2));
  EXPECT_EQ(told[1].second, 0);
}

TEST(SimulatedNetwork, HeartbeatsTellTheMeanSinceTheLastOne) {
  ClusterModel model = racks_of_one(2, Time(0));
  model.groups[0].count = 4;  // two in each rack
  model.heartbeat = seconds(2);
  StageSpec maps = stage(3, seconds(5));
  maps.input_bytes = 15'000'000;
  maps.hosts = {{"node-0"}, {"node-1"}, {"node-0"}};  // the last one runs in the other rack
  double bytes = 0;
  std::map<NodeId, Time> last;
  RunOptions options;
  options.on_event = [&](Time at, const master::Event& event) {
    const auto* heartbeat = std::get_if<master::WorkerHeartbeat>(&event);
    if (heartbeat == nullptr) return;
    bytes += heartbeat->cross_rack.up * std::chrono::duration<double>(at - std::exchange(last[heartbeat->node], at)).count();
  };
  const RunResult result = run(jobs({job(Time(0), {maps})}), model, "fifo", options);
  EXPECT_GT(result.traffic[0].cross_rack, 4e6);
  EXPECT_NEAR(bytes, result.traffic[0].cross_rack, 10) << "nothing is missed, and nothing is counted twice";
}

TEST(SimulatedNetwork, WhatIsPrefetchedFromAnotherRackComesAfterARoundTrip) {
  StageSpec maps = stage(2, seconds(1));
  maps.shuffle_bytes = 12'000'000;
  maps.durations = {seconds(1), seconds(3)};
  const Workload workload = jobs({job(Time(0), {maps, stage(2, seconds(1), {0})})});
  const auto makespan = [&](Time round_trip, std::vector<NodeFault> faults = {}) {
    ClusterModel model = racks_of_one(2, round_trip);
    model.shuffle.mode = shuffle::Mode::memory;
    model.preplace = 0.5;
    model.faults.nodes = std::move(faults);
    return run(workload, model).makespan;
  };
  EXPECT_EQ(makespan(Time(0)), milliseconds(3000 + 300 + 1000));
  EXPECT_EQ(makespan(milliseconds(100)), milliseconds(3000 + 100 + 300 + 1000));
  // The node that has been asked dies before it answers; the other one then does all that is left.
  EXPECT_EQ(makespan(milliseconds(1000), {{milliseconds(3500), 1, false, Time(0)}}), milliseconds(3500 + 3000 + 1000 + 1000));
}

constexpr std::uint64_t kBlock = 1'000'000;  // bytes

/// Fetches stay under way until they are let through.
class HeldFetches final : public ShuffleService::World {
 public:
  struct Fetch {
    std::uint32_t from;
    bool asked;
    Done done;
  };
  std::vector<Fetch> under_way;

  std::size_t from(std::uint32_t machine) const {
    return static_cast<std::size_t>(std::ranges::count(under_way, machine, &Fetch::from));
  }
  void let_through(std::size_t index, bool whole = true) {
    const Done done = std::move(under_way[index].done);
    under_way.erase(under_way.begin() + static_cast<std::ptrdiff_t>(index));
    done(whole);
  }

  std::optional<std::uint32_t> machine_of(NodeId node) const override { return node.value(); }
  bool far(std::uint32_t, std::uint32_t) const override { return false; }
  std::optional<std::vector<std::uint64_t>> blocks(std::uint32_t, const shuffle::FetchRequest& request) const override {
    return std::vector<std::uint64_t>(request.maps.size(), kBlock);
  }
  void fetch(JobId, std::uint32_t from, std::uint32_t, double, bool asked, Done done) override {
    under_way.push_back({from, asked, std::move(done)});
  }
  void use_disk(std::uint32_t, double, bool, Done done) override { done(true); }
};

/// A node prefetches three partitions of what maps wrote on two others.
struct SimulatedPrefetching : testing::Test {
  HeldFetches world;
  ShuffleModel model{.mode = shuffle::Mode::memory};
  ShuffleService service{world, model, 3};

  SimulatedPrefetching() {
    service.join(0, 4);
    master::PrefetchShuffle command;
    command.node = NodeId(0);
    command.job = JobId(1);
    command.shuffle = ShuffleId(0);
    command.partitions = {0, 1, 2};
    command.outputs = {{0, 0, NodeId(1)}, {1, 0, NodeId(2)}};
    command.block_bytes = kBlock;
    command.complete = true;
    service.prefetch(0, command);
  }
};

TEST_F(SimulatedPrefetching, RepliesOfANodeComeOneAfterTheOther) {
  EXPECT_EQ(world.from(1), 1u);
  EXPECT_EQ(world.from(2), 1u);
  std::size_t fetches = 0;
  for (bool whole = true; !world.under_way.empty(); whole = !whole, ++fetches) {  // one that fails does not stop the next
    EXPECT_LE(world.from(1), 1u);
    EXPECT_LE(world.from(2), 1u);
    EXPECT_EQ(world.under_way[0].asked, fetches >= 2) << "the first of each node is asked of an idle connection";
    world.let_through(0, whole);
  }
  EXPECT_EQ(fetches, 6u) << "three partitions of two nodes";
  EXPECT_EQ(service.prefetched().prefetched_bytes, 3 * kBlock) << "every second one";
}

TEST_F(SimulatedPrefetching, WhatComesAfterItWasGivenUpWasWasted) {
  service.drop(0, JobId(1), ShuffleId(0), 0);
  world.let_through(0);
  EXPECT_EQ(service.prefetched().prefetched_bytes, kBlock);
  EXPECT_EQ(service.prefetched().wasted_bytes, kBlock);
  service.release(0, JobId(1));
  while (!world.under_way.empty()) world.let_through(0);
  EXPECT_EQ(service.prefetched().wasted_bytes, service.prefetched().prefetched_bytes) << "of a job that is over, too";
}

}  // namespace
}  // namespace weft::simulator
