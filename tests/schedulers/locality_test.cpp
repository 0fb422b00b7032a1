// delay and cogrs: where tasks go.
#include "base/random.hpp"
#include "base/sanitized.hpp"
#include "schedulers/parts/gravity.hpp"
#include "schedulers/policies/cogrs.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers {
namespace {

// ---- delay ------------------------------------------------------------------------------------------------------------

TEST(Delay, WaitsForTheNodesThatReducesWerePlacedOn) {
  World world("delay(inner=fifo, node_wait=5s, rack_wait=3s)");
  world.node(1, "a", "r", 1);
  world.node(2, "b", "r", 1);
  StageInfo& stage = world.stage(world.job(1), 0, anywhere(3));
  for (std::uint32_t task : {0u, 1u, 2u}) world.state.preplace(stage, task, NodeId(1));
  world.schedule();
  ASSERT_EQ(world.launched.size(), 1u);
  EXPECT_EQ(world.launched[0].node, NodeId(1));
  EXPECT_EQ(world.held, "waits for room on a node that holds its input");
  ASSERT_FALSE(world.wakes.empty());
  world.at(7.9);
  world.schedule();
  EXPECT_EQ(world.launched.size(), 1u);
  world.at(8);
  world.schedule();
  ASSERT_EQ(world.launched.size(), 2u);
  EXPECT_EQ(world.launched[1].node, NodeId(2));
  EXPECT_EQ(world.launched[1].task.index, 2u) << "what its own node would come to last";
}

TEST(Delay, SkipsSoManyOpportunitiesThenTakesAny) {
  World world("delay(inner=fifo, skips=2)");
  world.node(1, "a", "r", 1);
  world.node(2, "b", "r", 0.1);
  world.job(1, 0, Time(0), {{"b"}, {"b"}});
  world.beat(1);
  world.beat(1);
  EXPECT_TRUE(world.launched.empty());
  EXPECT_EQ(world.held, "waits for room on a node that holds its input");
  world.beat(1);
  ASSERT_EQ(world.launched.size(), 1u);
  world.finish(world.launched[0].task);
  world.beat(1);
  EXPECT_EQ(world.launched.size(), 2u) << "the count is kept until a local task comes";
}

TEST(Delay, WhileOneWaitsTheNextIsServed) {
  World world("delay(inner=fifo, skips=5)");
  world.node(1, "a", "r", 1);
  world.job(1, 0, Time(0), {{"b"}});
  world.job(2, 0, Time(1), {{"a"}});
  world.beat(1);
  EXPECT_EQ(world.order(), "2");
}

TEST(Delay, ZeroSkipsEqualsTheInnerScheduler) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    auto run = [seed](const char* spec) {
      Random random(seed);
      World world(spec);
      for (std::uint32_t i = 1; i <= 4; ++i) world.node(i, fmt::format("h{}", i), fmt::format("r{}", i % 2), 2);
      for (std::uint64_t id = 1; id <= 4; ++id) {
        auto hosts = anywhere(1 + random.below(8));
        for (auto& list : hosts) list.push_back(fmt::format("h{}", 1 + random.below(6)));
        world.job(id, 0, Time(0), std::move(hosts));
      }
      std::string text;
      world.schedule();
      for (std::size_t i = 0; i < world.launched.size(); ++i) {
        const auto launch = world.launched[i];
        text += fmt::format("{}@{} ", weft::to_string(launch.task), launch.node.value());
        world.finish(launch.task);
        world.beat(launch.node.value());
      }
      return text;
    };
    ASSERT_EQ(run("delay(inner=fair, skips=0)"), run("fair")) << "seed " << seed;
    ASSERT_EQ(run("delay(inner=fair, node_wait=0s, rack_wait=0s)"), run("fair")) << "seed " << seed;
  }
}

TEST(Delay, UnlimitedWaitingGivesLocalTasksOnly) {
  for (const char* spec : {"delay(inner=fair, skips=1000000000)", "delay(inner=fair, node_wait=1000h)"}) {
    World world(spec);
    Random random(3);
    for (std::uint32_t i = 1; i <= 8; ++i) world.node(i, fmt::format("h{}", i), fmt::format("r{}", i % 2), 2);
    std::size_t tasks = 0;
    for (std::uint64_t id = 1; id <= 5; ++id) {
      auto hosts = anywhere(10 + random.below(20));
      for (auto& list : hosts) list.push_back(fmt::format("h{}", 1 + random.below(8)));
      tasks += hosts.size();
      world.job(id, 0, Time(0), std::move(hosts));
    }
    world.schedule();
    for (std::size_t i = 0; i < world.launched.size(); ++i) {
      const auto launch = world.launched[i];
      EXPECT_NE(launch.reason.find("input on this node"), std::string::npos) << launch.reason;
      world.finish(launch.task);
      world.beat(launch.node.value());
    }
    EXPECT_EQ(world.launched.size(), tasks) << spec;
  }
}

TEST(Delay, NonLocalLaunchesFollowThePowerLaw) {  // BS-6: P = (1 - p)^D
  constexpr int kRuns = kSanitized ? 5000 : 20000, kSkips = 3, kNodes = 10, kHolding = 3;
  Random random(11);
  int patient = 0, remote = 0;
  for (int run = 0; run < kRuns; ++run) {
    World world(fmt::format("delay(inner=fifo, skips={})", kSkips));
    for (std::uint32_t i = 1; i <= kNodes; ++i) world.node(i, fmt::format("h{}", i), "r", 1);
    world.job(1, 0, Time(0), {{"h1", "h2", "h3"}});
    int passed = -1;
    for (; world.launched.empty(); ++passed) world.beat(1 + static_cast<std::uint32_t>(random.below(kNodes)));
    if (passed == kSkips) ++patient;
    if (world.launched[0].node.value() > kHolding) ++remote;
  }
  // The job gives up waiting with (1 - p)^D. The offer that then comes may be local by chance after all.
  auto expect_share = [](int count, double expected) {
    EXPECT_NEAR(count / static_cast<double>(kRuns), expected, 4 * std::sqrt(expected * (1 - expected) / kRuns));
  };
  const double p = static_cast<double>(kHolding) / kNodes;
  expect_share(patient, std::pow(1 - p, kSkips));
  expect_share(remote, std::pow(1 - p, kSkips + 1));
}

TEST(Delay, WaitsForTheNodeThenTheRackThenTakesAny) {
  World world("delay(inner=fifo, node_wait=5s, rack_wait=3s)");
  world.node(1, "same-rack", "r1", 1);
  world.node(2, "elsewhere", "r2", 1);
  world.node(3, "holder", "r1", 0.1);
  world.job(1, 0, Time(0), {{"holder"}, {"holder"}, {"holder"}});
  world.schedule();
  EXPECT_TRUE(world.launched.empty());
  EXPECT_EQ(world.wakes.back(), std::chrono::seconds(5));
  world.at(4.9);
  world.schedule();
  EXPECT_TRUE(world.launched.empty());
  world.at(5);
  world.schedule({Trigger::Kind::timer, {}});
  ASSERT_EQ(world.launched.size(), 1u) << "rack-local now; the launch leaves it at that level, waiting again";
  EXPECT_EQ(world.launched[0].node, NodeId(1));
  EXPECT_EQ(world.wakes.back(), std::chrono::seconds(8));
  world.at(8);
  world.schedule({Trigger::Kind::timer, {}});
  ASSERT_EQ(world.launched.size(), 2u);
  EXPECT_EQ(world.launched[1].node, NodeId(2));
  EXPECT_EQ(world.launched[1].reason, "delay: input elsewhere");
  world.finish(world.launched[1].task);
  world.beat(2);
  EXPECT_EQ(world.launched.size(), 3u) << "at the level of any it takes what comes";
}

TEST(Delay, TasksWithoutAPreferenceNeverWait) {
  World world("delay(inner=fifo, node_wait=5s)");
  world.node(1, "a", "r", 2);
  world.job(1, 0, Time(0), anywhere(2));
  world.schedule();
  EXPECT_EQ(world.launched.size(), 2u);
  EXPECT_TRUE(world.wakes.empty());
}

TEST(Delay, ReachesFullLocalityOnABusyClusterWithinSeconds) {  // BS-5
  constexpr std::uint32_t kNodes = 50;
  auto local_share = [](const std::string& spec) {
    World world(spec);
    Random random(5);
    for (std::uint32_t i = 1; i <= kNodes; ++i) world.node(i, fmt::format("h{}", i), fmt::format("r{}", i % 5), 2);
    for (std::uint64_t id = 1; id <= 40; ++id) {  // small jobs: each has data on few nodes
      auto hosts = anywhere(10);
      for (auto& list : hosts) {
        for (int replica = 0; replica < 3; ++replica) list.push_back(fmt::format("h{}", 1 + random.below(kNodes)));
      }
      world.job(id, 0, Time(0), std::move(hosts));
    }
    std::set<std::pair<Time, std::size_t>> ends;
    std::size_t seen = 0, local = 0;
    auto note = [&] {
      for (; seen < world.launched.size(); ++seen) {
        ends.emplace(world.state.now() + Time(random.between(2'000'000'000, 6'000'000'000)), seen);
        if (world.launched[seen].reason.find("on this node") != std::string::npos) ++local;
      }
    };
    world.schedule();
    note();
    while (!ends.empty()) {
      const auto [when, which] = *ends.begin();
      ends.erase(ends.begin());
      world.state.set_now(when);
      world.finish(world.launched[which].task);
      world.beat(world.launched[which].node.value());
      note();
      if (ends.empty() && seen < 400) {
        world.state.set_now(world.wakes.back());
        world.schedule({Trigger::Kind::timer, {}});
        note();
      }
    }
    EXPECT_EQ(seen, 400u);
    return static_cast<double>(local) / 400;
  };
  EXPECT_GE(local_share("delay(inner=fair, node_wait=5s, rack_wait=5s)"), 0.95);
  EXPECT_LT(local_share("fair"), 0.95);
}

// ---- cogrs ------------------------------------------------------------------------------------------------------------

void fourteen_nodes(World& world) {
  for (std::uint32_t i = 1; i <= 14; ++i) world.node(i, fmt::format("h{}", i), i <= 7 ? "rack1" : "rack2", 1);
}
Gravity feeding(const World& world, const std::vector<std::uint32_t>& nodes) {
  Gravity gravity;
  for (std::uint32_t node : nodes) gravity.add(world.state, NodeId(node), 1);
  return gravity;
}

TEST(Gravity, GivesTheFiveDistancesOfThePaper) {  // CG-1
  World world;
  fourteen_nodes(world);
  const Gravity gravity = feeding(world, {1, 2, 4, 5, 6, 8, 9, 10, 11, 13, 14});  // 5 in rack 1 without 3; 6 in rack 2 without 12
  EXPECT_EQ(gravity.wtnd(world.state, NodeId(13)), 30);
  EXPECT_EQ(gravity.wtnd(world.state, NodeId(12)), 32);
  EXPECT_EQ(gravity.wtnd(world.state, NodeId(3)), 34);
  EXPECT_EQ(gravity.wtnd(world.state, NodeId(11)), 30);
  EXPECT_EQ(gravity.wtnd(world.state, NodeId(8)), 30);
}

TEST(Gravity, GivesTheTwoRackExample) {  // CG-2
  World world;
  for (std::uint32_t i = 1; i <= 6; ++i) world.node(i, fmt::format("h{}", i), i <= 3 ? "rack1" : "rack2", 1);
  const Gravity gravity = feeding(world, {1, 2});
  EXPECT_EQ(gravity.wtnd(world.state, NodeId(4)), 8);
  EXPECT_EQ(gravity.wtnd(world.state, NodeId(1)), 2);
  EXPECT_EQ(gravity.wtnd(world.state, NodeId(2)), 2);
}

TEST(Gravity, EqualsTheDirectSumAndItsCentreIsASourceNoNodeBeats) {  // CG-3
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Random random(seed);
    World world;
    const auto nodes = static_cast<std::uint32_t>(1 + random.below(20));
    for (std::uint32_t i = 1; i <= nodes; ++i) world.node(i, fmt::format("h{}", i), fmt::format("r{}", random.below(4)), 1);
    Gravity gravity;
    std::vector<std::pair<NodeId, double>> sources;
    for (std::uint64_t i = 0; i <= random.below(30); ++i) {
      sources.emplace_back(NodeId(static_cast<std::uint32_t>(1 + random.below(nodes))), static_cast<double>(1 + random.below(100)));
      gravity.add(world.state, sources.back().first, sources.back().second);
    }
    double least = 1e300;
    for (std::uint32_t i = 1; i <= nodes; ++i) {
      double sum = 0;
      for (const auto& [source, weight] : sources) sum += weight * world.state.distance(source, NodeId(i));
      ASSERT_NEAR(gravity.wtnd(world.state, NodeId(i)), sum, 1e-6) << "seed " << seed;
      least = std::min(least, sum);
    }
    ASSERT_NEAR(gravity.wtnd(world.state, gravity.nearest().front().node), least, 1e-6) << "seed " << seed;
  }
}

/// A job whose maps have ended on the given nodes, each with what it wrote for every reduce.
JobInfo& sized_job(World& world, const std::vector<std::pair<std::uint32_t, std::vector<std::uint64_t>>>& maps_on) {
  JobInfo& job = world.job(1);
  StageInfo& maps = world.stage(job, 0, anywhere(maps_on.size()), {});
  const std::size_t reduces = maps_on.front().second.size();
  maps.output = ShuffleSizes(static_cast<std::uint32_t>(maps_on.size()), static_cast<std::uint32_t>(reduces));
  for (std::uint32_t i = 0; i < maps_on.size(); ++i) {
    EXPECT_TRUE(world.launch({job.id, StageId(0), i}, NodeId(maps_on[i].first), "test"));
    maps.output.add(i, NodeId(maps_on[i].first), maps_on[i].second);
  }
  for (std::uint32_t i = 0; i < maps_on.size(); ++i) world.finish({job.id, StageId(0), i});
  world.launched.clear();
  world.stage(job, 1, anywhere(reduces), {.cpu = 1}, 0, {0});
  return job;
}
/// Six nodes in two racks, and maps that wrote the same for all reduces.
JobInfo& two_rack_job(World& world, const std::vector<std::uint32_t>& map_nodes, std::uint32_t reduces) {
  for (std::uint32_t i = 1; i <= 6; ++i) world.node(i, fmt::format("h{}", i), i <= 3 ? "rack1" : "rack2", 1);
  std::vector<std::pair<std::uint32_t, std::vector<std::uint64_t>>> maps_on;
  for (const std::uint32_t node : map_nodes) maps_on.emplace_back(node, std::vector<std::uint64_t>(reduces, 100));
  return sized_job(world, maps_on);
}

TEST(Cogrs, GivesAReduceToItsCentreOfGravity) {
  World world("cogrs");
  two_rack_job(world, {1, 2}, 1);
  for (std::uint32_t far : {6u, 5u, 4u, 3u}) {
    world.beat(far);
    EXPECT_TRUE(world.launched.empty()) << far;
  }
  EXPECT_EQ(world.held, "waits for a node nearer to what it reads");
  world.beat(2);
  ASSERT_EQ(world.launched.size(), 1u) << "as near as the other source";
}

TEST(Cogrs, TheNativeSchedulerGivesItToWhoeverAsksFirst) {  // CG-5
  for (std::uint32_t first : {1u, 2u, 4u}) {
    World world("fifo");
    two_rack_job(world, {1, 2}, 1);
    world.beat(first);
    ASSERT_EQ(world.launched.size(), 1u);
    EXPECT_EQ(world.launched[0].node, NodeId(first));
  }
}

TEST(Cogrs, TheNearestFreeNodeWinsWhenTheCentreIsBusy) {
  World world("cogrs");
  two_rack_job(world, {1, 2}, 1);
  world.job(2, 1, Time(0), anywhere(2));
  ASSERT_TRUE(world.launch({JobId(2), StageId(0), 0}, NodeId(1), "busy"));
  ASSERT_TRUE(world.launch({JobId(2), StageId(0), 1}, NodeId(2), "busy"));
  world.launched.clear();
  world.beat(5);
  EXPECT_TRUE(world.launched.empty()) << "node 3 is free and nearer";
  world.beat(3);
  EXPECT_EQ(world.launched.size(), 1u);
}

TEST(Cogrs, NoReduceWaitsForEver) {
  World world("cogrs(wait=2s)");
  two_rack_job(world, {1}, 1);
  world.beat(5);
  ASSERT_FALSE(world.wakes.empty());
  EXPECT_EQ(world.wakes.back(), std::chrono::seconds(2));
  world.at(1.9);
  world.beat(5);
  EXPECT_TRUE(world.launched.empty());
  world.at(2);
  world.beat(5);
  EXPECT_EQ(world.launched.size(), 1u);
}

/// All slots of these nodes of one slot taken.
void busy(World& world, const std::vector<std::uint32_t>& nodes) {
  world.job(2, 1, Time(0), anywhere(nodes.size()));
  for (std::uint32_t i = 0; i < nodes.size(); ++i) ASSERT_TRUE(world.launch({JobId(2), StageId(0), i}, NodeId(nodes[i]), "busy"));
  world.launched.clear();
}

TEST(Cogrs, WithoutWeightsEveryFeedingMapCounts) {
  for (const auto& [metric, centre] : {std::pair("wtnd", 1u), std::pair("tnd", 4u)}) {
    SCOPED_TRACE(metric);
    World world(fmt::format("cogrs(metric={})", metric));
    for (std::uint32_t i = 1; i <= 6; ++i) world.node(i, fmt::format("h{}", i), i <= 3 ? "rack1" : "rack2", 1);
    // One large output on node 1; three small ones on node 4, and a fourth there that has nothing for the reduce.
    sized_job(world, {{1, {1'000}}, {4, {10}}, {4, {10}}, {4, {10}}, {4, {0}}});
    for (std::uint32_t other : {1u, 2u, 3u, 4u, 5u, 6u}) {
      if (other != centre) world.beat(other);
      ASSERT_TRUE(world.launched.empty()) << other;
    }
    world.beat(centre);
    EXPECT_EQ(world.launched.size(), 1u);
  }
}

TEST(Cogrs, TheSecondRackIsNextWhenThatOfTheCentreIsFull) {
  World world("cogrs");
  for (std::uint32_t i = 1; i <= 6; ++i) world.node(i, fmt::format("h{}", i), fmt::format("rack{}", (i + 1) / 2), 1);
  sized_job(world, {{1, {600}}, {3, {400}}});
  busy(world, {1, 2, 3});
  world.beat(5);
  EXPECT_TRUE(world.launched.empty()) << "4000 from node 5 of a rack without sources, 3200 from node 4, which is free";
  world.beat(4);
  EXPECT_EQ(world.launched.size(), 1u);
}

TEST(Cogrs, AllSourcesAreLookedAt) {
  World world("cogrs");
  std::vector<std::pair<std::uint32_t, std::vector<std::uint64_t>>> maps;
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 1; i <= 12; ++i) {
    world.node(i, fmt::format("h{}", i), fmt::format("rack{}", i), 1);
    maps.emplace_back(i, std::vector<std::uint64_t>{1'000 - i});
    if (i <= 10) all.push_back(i);
  }
  sized_job(world, maps);
  busy(world, all);
  world.beat(12);
  EXPECT_TRUE(world.launched.empty()) << "node 11, the eleventh nearest, is free and nearer";
  world.beat(11);
  EXPECT_EQ(world.launched.size(), 1u);
}

TEST(Cogrs, AfterItsWaitANodeGetsWhatIsNearestToItForItsSize) {
  World world("cogrs(wait=2s)");
  for (std::uint32_t i = 1; i <= 4; ++i) world.node(i, fmt::format("h{}", i), i <= 2 ? "rack1" : "rack2", 1);
  // Reduces 0 to 5 are large and far from node 4; the smallest has a part of its input there, and its centre on node 1.
  sized_job(world, {{1, {900, 900, 900, 900, 900, 900, 60}}, {4, {0, 0, 0, 0, 0, 0, 30}}});
  world.beat(4);
  ASSERT_TRUE(world.launched.empty());
  world.at(2);
  world.beat(4);
  ASSERT_EQ(world.launched.size(), 1u);
  EXPECT_EQ(world.launched[0].task.index, 6u);
}

TEST(Cogrs, ServesTheLargestReduceOfACentreFirst) {
  World world("cogrs");
  JobInfo& job = two_rack_job(world, {1}, 1);
  StageInfo& maps = world.stage(job, 2, anywhere(1));
  maps.output = ShuffleSizes(1, 3);
  ASSERT_TRUE(world.launch({job.id, StageId(2), 0}, NodeId(4), "test"));
  maps.output.add(0, NodeId(4), {10, 1000, 100});
  world.finish({job.id, StageId(2), 0});
  world.launched.clear();
  world.stage(job, 3, anywhere(3), {.cpu = 1}, 0, {2});
  std::string order;
  for (std::size_t i = 0; i < 3; ++i) {
    world.beat(4);
    ASSERT_EQ(world.launched.size(), i + 1);
    order += fmt::format("{}", world.launched[i].task.index);
    world.finish(world.launched[i].task);
  }
  EXPECT_EQ(order, "120");
}

}  // namespace
}  // namespace weft::schedulers
