// What all composed schedulers do alike: limits per heartbeat, where tasks without a preference go, and promised nodes.
#include "schedulers/parts/composed.hpp"

#include <set>

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::composed_rules {
namespace {

TEST(Heartbeats, GetSoManyRemoteTasksAndNoMore) {
  for (std::size_t limit : {1u, 2u}) {
    World world(fmt::format("fifo(remote_per_heartbeat={})", limit));
    world.node(1, "a", "r", 8);
    world.job(1, 0, Time(0), {{"x"}, {"x"}, {"x"}, {"x"}, {"a"}, {"a"}});
    world.beat(1);
    EXPECT_EQ(world.launched.size(), 2 + limit) << "and those that are local";
    world.beat(1);
    EXPECT_EQ(world.launched.size(), 2 + 2 * limit);
  }
}

TEST(Heartbeats, GetSoManyReducesAndNoMore) {
  for (std::size_t limit : {1u, 2u}) {
    World world(fmt::format("fifo(reduces_per_heartbeat={})", limit));
    world.node(1, "a", "r", 8);
    JobInfo& job = world.job(1);
    world.stage(job, 0, anywhere(1));
    world.schedule();
    world.finish(world.launched[0].task);
    world.stage(job, 1, anywhere(6), {.cpu = 1}, 0, {0});
    world.beat(1);
    EXPECT_EQ(world.launched.size(), 1 + limit);
    world.beat(1);
    EXPECT_EQ(world.launched.size(), 1 + 2 * limit);
  }
}

TEST(Spreading, GoesOnAtTheNodeAfterTheLast) {
  World world;
  for (std::uint32_t i = 1; i <= 4; ++i) world.node(i, fmt::format("h{}", i), "r", 4);
  std::multiset<std::uint32_t> used;
  for (std::uint64_t id = 1; id <= 8; ++id) {  // one task at a time, of many jobs
    world.job(id, 0, Time(0), anywhere(1));
    world.schedule();
    used.insert(world.launched.back().node.value());
  }
  for (std::uint32_t i = 1; i <= 4; ++i) EXPECT_EQ(used.count(i), 2u) << i;
}

TEST(Promises, AFreeNodeTakesTheLastOfTheNodeWithMostBeforeIt) {
  World world;
  world.node(1, "a", "r", 0.1);
  world.node(2, "b", "r", 0.1);
  world.node(3, "c", "r", 1);
  StageInfo& stage = world.stage(world.job(1), 0, anywhere(5));
  for (std::uint32_t task : {0u, 4u}) world.state.preplace(stage, task, NodeId(1));
  for (std::uint32_t task : {1u, 2u, 3u}) world.state.preplace(stage, task, NodeId(2));
  world.beat(3);
  ASSERT_EQ(world.launched.size(), 1u);
  EXPECT_EQ(world.launched[0].task.index, 3u);
}

/// Node 1 is busy, and two tasks of job 1 were placed there; job 2 has work, too.
struct Kept {
  World world;
  explicit Kept(std::uint64_t others, double seconds = 0) {
    world.node(1, "a", "r", 1);
    world.node(2, "b", "r", 1);
    world.job(3, 9, Time(0), anywhere(1));
    world.beat(1);
    StageInfo& stage = world.stage(world.job(1), 0, anywhere(3), {.cpu = 1}, seconds);
    for (std::uint32_t task : {0u, 1u, 2u}) world.state.preplace(stage, task, NodeId(1));
    if (others > 0) world.job(2, 0, Time(1), anywhere(others));
  }
};

TEST(Promises, AreKeptWhileANodeHasOtherWork) {
  Kept kept(1);
  kept.world.beat(2);
  EXPECT_EQ(kept.world.order(), "32");
  EXPECT_EQ(kept.world.holds[JobId(1)], "waits for room on the nodes that its input is brought to");
  kept.world.finish(kept.world.launched[0].task);
  kept.world.beat(1);
  EXPECT_EQ(kept.world.order(), "321");
  EXPECT_EQ(kept.world.launched.back().node, NodeId(1));
  kept.world.finish(kept.world.launched[1].task);
  kept.world.beat(2);
  EXPECT_EQ(kept.world.order(), "3211") << "there is nothing else";
}

TEST(Promises, AreKeptForSomeSecondsFromTheFirstTimeOn) {
  Kept kept(3);
  kept.world.at(1);
  kept.world.beat(2);
  for (const auto& [now, order] : {std::pair(5.9, "322"), std::pair(6.0, "3221")}) {
    kept.world.finish(kept.world.launched.back().task);
    kept.world.at(now);
    kept.world.beat(2);
    EXPECT_EQ(kept.world.order(), order) << now;
  }
}

TEST(Promises, AreKeptForHalfOfWhatATaskTakesAndForSomeSecondsAtMost) {
  const auto order_at = [](double seconds, Kept kept) {
    kept.world.at(1);
    kept.world.beat(2);
    kept.world.finish(kept.world.launched.back().task);
    kept.world.at(seconds);
    kept.world.beat(2);
    return kept.world.order();
  };
  EXPECT_EQ(order_at(2.9, Kept(3, 4)), "322");
  EXPECT_EQ(order_at(3.0, Kept(3, 4)), "321");
  EXPECT_EQ(order_at(5.9, Kept(3, 100)), "322");
  EXPECT_EQ(order_at(6.0, Kept(3, 100)), "321");
}

TEST(Promises, AreKeptAnewAfterOneWasHeld) {
  Kept kept(4);
  kept.world.beat(2);
  kept.world.at(4);
  kept.world.finish(kept.world.launched[0].task);
  kept.world.beat(1);
  kept.world.at(6);
  kept.world.finish(kept.world.launched[1].task);
  kept.world.beat(2);
  EXPECT_EQ(kept.world.order(), "3212");
}

/// What two reduces of 4 MiB each read lies in another rack than node 2, but for a part, and they were placed on node 1, which is
/// busy.
struct Fetched {
  World world;
  StageInfo* reduces = nullptr;
  std::size_t begun = 0;

  explicit Fetched(const UplinkRate& uplink, std::size_t placed = 2, double seconds = 0, const std::string& other_rack = "s",
                   std::uint64_t near = 0) {
    world.node(1, "a", "r", {.cpu = 1}, {}, uplink);
    world.node(2, "b", other_rack, {.cpu = 1}, {}, uplink);
    world.job(3, 9, Time(0), anywhere(1));
    world.beat(1);
    JobInfo& job = world.job(1);
    StageInfo& maps = world.stage(job, 0, anywhere(near > 0 ? 2 : 1));
    maps.output = ShuffleSizes(near > 0 ? 2 : 1, static_cast<std::uint32_t>(placed));
    maps.output.add(0, NodeId(1), std::vector<std::uint64_t>(placed, (4 << 20) - near));
    if (near > 0) maps.output.add(1, NodeId(2), std::vector<std::uint64_t>(placed, near));
    for (std::uint32_t map = 0; map < maps.tasks.size(); ++map) {
      world.beat(2);
      world.finish(world.launched.back().task);
    }
    reduces = &world.stage(job, 1, anywhere(placed), {.cpu = 1}, seconds, {0});
    for (std::uint32_t task = 0; task < placed; ++task) world.state.preplace(*reduces, task, NodeId(1));
    begun = world.launched.size();
  }
  std::size_t launched_at(double seconds) {
    world.at(seconds);
    world.beat(2);
    return world.launched.size() - begun;
  }
};

TEST(Promises, AreKeptFromIdleNodesForAsLongAsFetchingAgainWouldTake) {
  Fetched fetched({.up = 4 << 20, .down = 4 << 20});
  EXPECT_EQ(fetched.launched_at(1), 0u);
  EXPECT_EQ(fetched.world.wakes.back(), Time(2'000'000'000));
  EXPECT_EQ(fetched.launched_at(1.99), 0u);
  EXPECT_EQ(fetched.launched_at(2), 1u);
}

TEST(Promises, AreKeptForLongerWhereMoreNodesShareTheUplink) {
  Fetched fetched({.up = 4 << 20, .down = 4 << 20});
  fetched.world.node(3, "c", "s", 1);
  EXPECT_EQ(fetched.launched_at(1), 0u);
  EXPECT_EQ(fetched.launched_at(2.99), 0u);
  EXPECT_EQ(fetched.launched_at(3), 1u);
}

TEST(Promises, AreKeptFromIdleNodesForWhatLiesInOtherRacks) {
  Fetched fetched({.up = 4 << 20, .down = 4 << 20}, 2, 0, "s", 3 << 20);
  EXPECT_EQ(fetched.launched_at(1), 0u);
  EXPECT_EQ(fetched.launched_at(1.24), 0u);
  EXPECT_EQ(fetched.launched_at(1.25), 1u);
}

TEST(Promises, AreKeptForSomeSecondsWhereFetchingAgainWouldTakeLongerThanHalfTheTask) {
  const auto kept_until = [](Fetched fetched) {
    fetched.world.job(2, 0, Time(1), anywhere(6));  // other work
    for (int seconds = 1; seconds <= 6; ++seconds) {
      fetched.launched_at(seconds);
      const TaskId task = fetched.world.launched.back().task;
      if (task.job == JobId(1)) return seconds;
      fetched.world.finish(task);
    }
    return 0;
  };
  EXPECT_EQ(kept_until(Fetched({}, 2, 4)), 3) << "no uplink is known";
  EXPECT_EQ(kept_until(Fetched({.up = 4 << 20, .down = 4 << 20}, 2, 4)), 3) << "a second to fetch";
  EXPECT_EQ(kept_until(Fetched({.up = 1 << 20, .down = 1 << 20}, 2, 4)), 6) << "four seconds to fetch";
  EXPECT_EQ(kept_until(Fetched({.up = 1 << 20, .down = 1 << 20}, 2, 4, "r")), 3) << "one rack";
  EXPECT_EQ(kept_until(Fetched({.up = 1 << 20, .down = 1 << 20}, 2, 4, "s", 3 << 20)), 3) << "a second for what is far";
}

TEST(Promises, AreKeptAnewFromIdleNodesAfterOneWasHeld) {
  Fetched fetched({.up = 4 << 20, .down = 4 << 20});
  EXPECT_EQ(fetched.launched_at(1), 0u);
  fetched.world.at(1.5);
  fetched.world.finish(fetched.world.launched[0].task);
  fetched.world.beat(1);
  EXPECT_EQ(fetched.launched_at(2), 1u) << "the one that went where it was placed";
  EXPECT_EQ(fetched.launched_at(2.99), 1u);
  EXPECT_EQ(fetched.launched_at(3), 2u);
}

TEST(Promises, AreNotKeptFromIdleNodesWhereThatCostsNothingThatIsKnown) {
  EXPECT_EQ(Fetched({}).launched_at(1), 1u) << "no rate";
  EXPECT_EQ(Fetched({.up = 4 << 20, .down = 4 << 20}, 2, 0, "r").launched_at(1), 1u) << "one rack";
}

TEST(Promises, AreNotKeptFromIdleNodesByOneThatIsBusyForLonger) {
  EXPECT_EQ(Fetched({.up = 4 << 20, .down = 4 << 20}, 3, 0.3).launched_at(1), 0u);
  EXPECT_EQ(Fetched({.up = 4 << 20, .down = 4 << 20}, 4, 0.3).launched_at(1), 1u);
}

TEST(Room, AJobOfALargeAndASmallStageUsesWhatIsLeftForTheSmallOne) {
  for (const bool heartbeat : {true, false}) {
    World world("bfs");
    world.node(1, "a", "r", 2, 4);
    JobInfo& job = world.job(1);
    world.stage(job, 0, anywhere(1), {.cpu = 4, .memory = 1});
    world.stage(job, 1, anywhere(1), {.cpu = 1, .memory = 8});
    world.stage(job, 2, anywhere(1), {.cpu = 1, .memory = 2});
    if (heartbeat) {
      world.beat(1);
    } else {
      world.schedule();
    }
    ASSERT_EQ(world.launched.size(), 1u);
    EXPECT_EQ(world.launched[0].task.stage, StageId(2));
  }
}

TEST(Room, WhatFitsNowhereTellsNothingOfWhatAsksForLessOfSomething) {
  World world;
  for (std::uint32_t i = 1; i <= 3; ++i) world.node(i, fmt::format("h{}", i), "r", 2, 4);
  world.job(1, 0, Time(0), anywhere(1), {.cpu = 2, .memory = 8});
  world.job(2, 0, Time(1), anywhere(3), {.cpu = 2, .memory = 4});
  world.job(3, 0, Time(2), anywhere(1), {.cpu = 3, .memory = 9});
  world.schedule();
  EXPECT_EQ(world.order(), "222");
}

}  // namespace
}  // namespace weft::schedulers::composed_rules
