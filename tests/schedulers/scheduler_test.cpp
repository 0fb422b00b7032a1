#include "schedulers/view/scheduler.hpp"

#include <cmath>

#include "base/random.hpp"
#include "base/text.hpp"
#include "schedulers/policies/fifo.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers {
namespace {

// ---- registry ---------------------------------------------------------------------------------------------------------

TEST(Registry, MakesSchedulersByName) {
  ASSERT_TRUE(make_scheduler("fifo"));
  EXPECT_EQ((*make_scheduler(" fifo() "))->name(), "fifo");
}

std::string known() {
  Registry registry;
  EXPECT_TRUE(register_builtin_schedulers(registry));
  return join(registry.names(), ", ");
}

TEST(Registry, ListsWhatItKnowsWhenANameOrAnOptionIsUnknown) {
  EXPECT_EQ(make_scheduler("lifo").error().message(), "unknown scheduler 'lifo' (known: " + known() + ")");
  EXPECT_EQ(
      make_scheduler("fifo(wait=5)").error().to_string(),
      "scheduler 'fifo': unknown scheduler option 'wait' (known: stages, remote_per_heartbeat, reduces_per_heartbeat, slow_start)");
  for (const char* text : {"", "fifo(", "fifo(a)", "fifo(=1)", "fifo(a=1,a=2)"}) EXPECT_FALSE(make_scheduler(text)) << text;
}

TEST(Registry, RefusesDuplicatesAndBadNames) {
  Registry registry;
  ASSERT_TRUE(register_builtin_schedulers(registry));
  EXPECT_EQ(registry.add("fifo", "", make_fifo).error().code(), Code::already_exists);
  EXPECT_EQ(registry.add("Fi Fo", "", make_fifo).error().code(), Code::invalid_argument);
}

TEST(Registry, HandsTypedOptionsToTheFactory) {
  Registry registry;
  double wait = 0;
  bool strict = false;
  ASSERT_TRUE(registry.add("test", "", [&](Options& options, const Registry& all) -> Result<Composition> {
    WEFT_ASSIGN(wait, options.number("wait", 5));
    WEFT_ASSIGN(strict, options.flag("strict", false));
    return make_fifo(options, all);
  }));
  ASSERT_TRUE(registry.make("test(wait=2.5, strict=yes)"));
  EXPECT_EQ(wait, 2.5);
  EXPECT_TRUE(strict);
  EXPECT_FALSE(registry.make("test(wait=soon)"));
  EXPECT_NE(registry.make("test(weight=1)").error().to_string().find("known: wait, strict, stages"), std::string::npos);
}

// ---- indexes ----------------------------------------------------------------------------------------------------------

TEST(IndexSet, AgreesWithAModel) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    const auto size = static_cast<std::uint32_t>(random.below(10000));
    IndexSet set(size);
    std::set<std::uint32_t> model;
    for (int i = 0; i < 500; ++i) {
      const auto value = static_cast<std::uint32_t>(random.below(size + 2));
      if (random.chance(0.6)) {
        ASSERT_EQ(set.insert(value), value < size && model.insert(value).second) << "seed " << seed;
      } else {
        ASSERT_EQ(set.erase(value), model.erase(value) == 1) << "seed " << seed;
      }
      const auto from = static_cast<std::uint32_t>(random.below(size + 2));
      const auto next = model.lower_bound(from);
      ASSERT_EQ(set.at_or_after(from), next == model.end() ? std::nullopt : std::optional(*next)) << "seed " << seed;
      ASSERT_EQ(set.count(), model.size());
    }
  }
}

TEST(ShuffleSizes, KeepSizesWithinATwentiethOfAPercentAndUndoExactly) {
  Random random(7);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t bytes = random() >> (23 + random.below(41));
    const auto back = static_cast<double>(unpack_size(pack_size(bytes)));
    ASSERT_LE(std::abs(back - static_cast<double>(bytes)), static_cast<double>(bytes) * 0.0005) << bytes;
  }
  ShuffleSizes sizes(3, 2);
  sizes.add(0, NodeId(1), {1000, 123457});
  sizes.add(1, NodeId(1), {5, 7});
  sizes.add(2, NodeId(2), {1, 1});
  sizes.remove(0);
  EXPECT_EQ(sizes.total_bytes(), 14u);
  EXPECT_EQ(sizes.partition_bytes(1), 8u);
  EXPECT_EQ(sizes.by_node().at(NodeId(1))[0], 5u);
  EXPECT_EQ(sizes.by_node().at(NodeId(1))[1], 7u);
  EXPECT_EQ(sizes.node_bytes(NodeId(1)), 12u);
  EXPECT_EQ(sizes.location(0), std::nullopt);
  EXPECT_EQ(sizes.finished_maps(), 2u);
}

TEST(ShuffleSizes, MoveWithAnOutputToAnotherNode) {
  ShuffleSizes sizes(3, 2);
  sizes.add(0, NodeId(1), {1000, 200});
  sizes.add(1, NodeId(1), {1000, 200});
  sizes.add(2, NodeId(2), {1, 1});
  sizes.move(1, NodeId(2));
  sizes.move(1, NodeId(3));
  sizes.move(0, NodeId(2));
  EXPECT_EQ(sizes.node_bytes(NodeId(1)), 0u);
  EXPECT_EQ(sizes.by_node().at(NodeId(2)).partitions(), (std::vector<std::uint64_t>{1001, 201}));
  EXPECT_EQ(sizes.by_node().at(NodeId(3)).partitions(), (std::vector<std::uint64_t>{1000, 200}));
  EXPECT_EQ(sizes.location(1), NodeId(3));
  EXPECT_EQ(sizes.total_bytes(), 2402u);
  EXPECT_EQ(sizes.partition_bytes(0), 2001u);
  EXPECT_EQ(sizes.finished_maps(), 3u);
  sizes.move(7, NodeId(1));  // there is no such map
  sizes.remove(2);
  sizes.move(2, NodeId(1));  // it has no output
  EXPECT_EQ(sizes.node_bytes(NodeId(1)), 0u);
}

// ---- fifo -------------------------------------------------------------------------------------------------------------

TEST(Fifo, ServesJobsByPriorityThenSubmitTimeThenId) {
  World world;
  world.node(1, "a", "r", 1);
  world.job(1, 0, Time(2), anywhere(1));
  world.job(2, 0, Time(1), anywhere(1));
  world.job(4, 5, Time(3), anywhere(1));
  world.job(3, 5, Time(3), anywhere(1));
  std::vector<std::uint64_t> order;
  for (int i = 0; i < 4; ++i) {
    world.schedule({Trigger::Kind::node, NodeId(1)});
    ASSERT_EQ(world.launched.size(), static_cast<std::size_t>(i) + 1);
    order.push_back(world.launched.back().task.job.value());
    world.finish(world.launched.back().task);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{3, 4, 2, 1}));
}

TEST(Fifo, TheHeadJobBlocksLaterOnesUntilItHasNothingPending) {
  World world;
  world.node(1, "a", "r", 2);
  world.job(1, 0, Time(1), anywhere(3));
  world.job(2, 0, Time(2), anywhere(1));
  world.schedule();
  EXPECT_EQ(world.launched[0].task.job, JobId(1));
  EXPECT_EQ(world.launched[1].task.job, JobId(1));
  EXPECT_FALSE(world.held.empty());
  world.finish(world.launched[0].task);
  world.finish(world.launched[1].task);
  world.schedule({Trigger::Kind::node, NodeId(1)});
  ASSERT_EQ(world.launched.size(), 4u);
  EXPECT_EQ(world.launched[2].task.job, JobId(1));
  EXPECT_EQ(world.launched[3].task.job, JobId(2));
}

TEST(Fifo, PrefersTheNodeThenTheRackThenAnything) {
  World world;
  world.node(1, "a", "r1", 1);
  world.node(2, "b", "r1", 0.5);  // never has room; puts its host in the rack
  world.node(3, "c", "r2", 0.5);
  world.job(1, 0, Time(1), {{"c"}, {"b"}, {"a"}});
  for (std::uint32_t expected : {2u, 1u, 0u}) {
    world.schedule({Trigger::Kind::node, NodeId(1)});
    ASSERT_EQ(world.launched.back().task.index, expected);
    world.finish(world.launched.back().task);
  }
  EXPECT_EQ(world.launched[0].reason, "fifo: input on this node");
  EXPECT_EQ(world.launched[1].reason, "fifo: input in this rack");
  EXPECT_EQ(world.launched[2].reason, "fifo: input elsewhere");
}

TEST(Fifo, GivesEachNodeItsLocalTasksBeforeAnyRemoteOne) {
  World world;
  for (std::uint32_t i = 1; i <= 4; ++i) world.node(i, fmt::format("h{}", i), "r", 2);
  world.job(1, 0, Time(1), {{"h4"}, {"h4"}, {"h3"}, {"h3"}, {"h2"}, {"h2"}, {"h1"}, {"h1"}});
  world.schedule();
  ASSERT_EQ(world.launched.size(), 8u);
  for (const auto& launch : world.launched) EXPECT_EQ(launch.reason, "fifo: input on this node");
}

TEST(Fifo, SpreadsFewTasksOverManyNodes) {
  World world;
  for (std::uint32_t i = 1; i <= 4; ++i) world.node(i, fmt::format("h{}", i), "r", 4);
  world.job(1, 0, Time(1), anywhere(4));
  world.schedule();
  std::set<NodeId> used;
  for (const auto& launch : world.launched) used.insert(launch.node);
  EXPECT_EQ(used.size(), 4u);
}

TEST(Fifo, RespectsEveryResource) {
  World world;
  world.node(1, "a", "r", 8, 10);
  world.job(1, 0, Time(1), anywhere(5), {.cpu = 1, .memory = 4});
  world.job(2, 0, Time(2), anywhere(5), {.cpu = 1, .memory = 1});
  world.schedule();
  EXPECT_EQ(world.launched.size(), 4u);  // 4 + 4 + 1 + 1
  EXPECT_LE(world.state.node(NodeId(1))->used.memory, 10);
}

TEST(Fifo, KeepsNoSlotIdleWhileATaskFits) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    World world;
    const auto nodes = 1 + random.below(6);
    for (std::uint32_t i = 1; i <= nodes; ++i) {
      world.node(i, fmt::format("h{}", random.below(5)), fmt::format("r{}", random.below(2)),
                 static_cast<double>(1 + random.below(4)));
    }
    for (std::uint64_t j = 1; j <= 3; ++j) {
      auto hosts = anywhere(random.below(10));
      for (auto& list : hosts) {
        for (std::uint64_t r = random.below(4); r > 0; --r) list.push_back(fmt::format("h{}", random.below(7)));
      }
      world.job(j, static_cast<int>(random.below(2)), Time(static_cast<std::int64_t>(random.below(3))), std::move(hosts));
    }
    world.schedule();
    EXPECT_TRUE(world.state.free_nodes().empty() || world.state.runnable_jobs().empty()) << "seed " << seed;
    std::size_t done = 0;
    while (done < world.launched.size()) {
      const auto launch = world.launched[done++];
      world.finish(launch.task);
      world.schedule({Trigger::Kind::node, launch.node});
    }
    EXPECT_TRUE(world.state.runnable_jobs().empty()) << "seed " << seed;
    EXPECT_EQ(world.state.used(), Resources()) << "seed " << seed;
  }
}

TEST(View, MeasuresDistanceInThreeLevels) {
  World world;
  world.node(1, "a", "r1", 1);
  world.node(2, "a", "r1", 1);
  world.node(3, "b", "r1", 1);
  world.node(4, "c", "r2", 1);
  EXPECT_EQ(world.state.distance(NodeId(1), NodeId(2)), 0);
  EXPECT_EQ(world.state.distance(NodeId(1), NodeId(3)), 2);
  EXPECT_EQ(world.state.distance(NodeId(1), NodeId(4)), 4);
}

TEST(View, FindsRackLocalTasksOfHostsThatJoinLater) {
  World world;
  world.node(1, "a", "r1", 1);
  world.job(1, 0, Time(1), {{"x"}, {"late"}});
  world.node(2, "late", "r1", 1);
  const auto& stage = *world.state.stage(JobId(1), StageId(0));
  const auto& node = *world.state.node(NodeId(1));
  const auto pick = stage.pending.pick(node.id, node.host, node.rack);
  ASSERT_TRUE(pick);
  EXPECT_EQ(pick->task, 1u);
  EXPECT_EQ(pick->locality, Locality::rack);
}

}  // namespace
}  // namespace weft::schedulers
