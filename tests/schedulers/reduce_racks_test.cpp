// SARP: how many reduces each rack is to have (ShuffleWatcher, section 3.3, figures 6 and 7).
#include "schedulers/parts/reduce_racks.hpp"

#include <numeric>

#include "base/random.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers::reduce_rack_rules {
namespace {

using Counts = std::vector<std::uint32_t>;

TEST(LargestRemainders, AddUpToTheCount) {
  Random random(5, 1);
  for (int round = 0; round < 500; ++round) {
    std::vector<double> weights(1 + random.below(12));
    for (double& weight : weights) weight = random.chance(0.2) ? 0 : random.uniform();
    const auto count = static_cast<std::uint32_t>(random.below(1000));
    const Counts parts = largest_remainders(count, weights);
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), 0u), count);
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    for (std::size_t i = 0; i < parts.size() && sum > 0; ++i) EXPECT_NEAR(parts[i], count * weights[i] / sum, 1);
  }
}

TEST(LargestRemainders, GiveTheRestToTheLargestRemainder) {
  EXPECT_EQ(largest_remainders(10, {0.55, 0.27, 0.18}), (Counts{5, 3, 2}));  // 5.5, 2.7, 1.8
  EXPECT_EQ(largest_remainders(10, {0.64, 0.36}), (Counts{6, 4}));
  EXPECT_EQ(largest_remainders(3, {1, 1}), (Counts{2, 1})) << "the first of equal ones";
  EXPECT_EQ(largest_remainders(4, {0, 0}), (Counts{2, 2}));
  EXPECT_TRUE(largest_remainders(4, {}).empty());
}

/// Two racks of two nodes; ten maps, of which the first nine wrote in rack1; and ten reduces of 100 bytes each.
struct Written {
  World world;
  JobInfo* job = nullptr;
  StageInfo* maps = nullptr;
  StageInfo* reduces = nullptr;
  ReduceRacks racks{0.15};
  RackId rack1, rack2;

  explicit Written(std::uint32_t ended = 10) {
    for (std::uint32_t i = 1; i <= 4; ++i) world.node(i, fmt::format("h{}", i), i <= 2 ? "rack1" : "rack2", 20);
    rack1 = world.state.node(NodeId(1))->rack;
    rack2 = world.state.node(NodeId(4))->rack;
    job = &world.job(1);
    maps = &world.stage(*job, 0, anywhere(10), {});
    maps->output = ShuffleSizes(10, 10);
    for (std::uint32_t i = 0; i < ended; ++i) end_map(i);
    reduces = &world.stage(*job, 1, anywhere(10), {.cpu = 1}, 0, {0});
  }
  void end_map(std::uint32_t i) {
    const NodeId node(i < 9 ? 1 + i % 2 : 3);
    ASSERT_TRUE(world.launch({job->id, StageId(0), i}, node, "test"));
    maps->output.add(i, node, std::vector<std::uint64_t>(10, 10));
    world.finish({job->id, StageId(0), i});
  }
  bool wants(RackId rack, const MapRacks* guess = nullptr) { return racks.wants(world.state, *job, *reduces, rack, guess); }
  void launch(std::uint32_t reduce, std::uint32_t node) {
    ASSERT_TRUE(world.launch({job->id, StageId(1), reduce}, NodeId(node), "test"));
    racks.on_event(world.state, {Notice::Kind::task_launched, job->id, StageId(1), reduce, NodeId(node)});
  }
};

TEST(ReduceRacksWritten, AreInProportionToWhatEachRackHolds) {
  Written w;
  for (std::uint32_t i = 0; i < 9; ++i) {
    ASSERT_TRUE(w.wants(w.rack1)) << i;
    w.launch(i, 1 + i % 2);
  }
  EXPECT_FALSE(w.wants(w.rack1));
  EXPECT_TRUE(w.wants(w.rack2));
  w.launch(9, 4);
  EXPECT_FALSE(w.wants(w.rack2));
}

TEST(ReduceRacksWritten, AnAttemptThatFailedIsWantedAgain) {
  Written w;
  ASSERT_TRUE(w.wants(w.rack2));
  w.launch(0, 3);
  ASSERT_FALSE(w.wants(w.rack2));
  w.racks.on_event(w.world.state, {Notice::Kind::task_failed, w.job->id, StageId(1), 0, NodeId(3)});
  EXPECT_TRUE(w.wants(w.rack2));
}

TEST(ReduceRacksWritten, OfANodeThatHasLeftDoNotCount) {
  Written w;
  ASSERT_TRUE(w.wants(w.rack2));
  w.launch(0, 4);
  ASSERT_FALSE(w.wants(w.rack2));
  w.racks.on_event(w.world.state, {.kind = Notice::Kind::node_left, .node = NodeId(4)});
  w.world.leave(4);
  EXPECT_TRUE(w.wants(w.rack2));
}

TEST(ReduceRacksEarly, GoByTheGuessUntilEnoughMapsHaveEnded) {
  Written w(1);
  MapRacks guess;
  guess.preferred = {w.rack2};
  guess.parts = {{w.rack2, 1.0}};
  EXPECT_FALSE(w.wants(w.rack1, &guess)) << "a tenth of the maps has ended";
  EXPECT_TRUE(w.wants(w.rack2, &guess));
  w.end_map(1);
  EXPECT_TRUE(w.wants(w.rack1, &guess)) << "all that is written lies here";
  EXPECT_FALSE(w.wants(w.rack2, &guess));
  for (std::uint32_t i = 2; i < 10; ++i) w.end_map(i);
  EXPECT_TRUE(w.wants(w.rack2, &guess)) << "the last map wrote there";
}

TEST(ReduceRacksEarly, WhatIsPlacedGoesByMapsThatHaveBegunAndByHowOftenGuessesAreKept) {
  Written w(1);
  MapRacks guess;
  guess.preferred = {w.rack2};
  guess.parts = {{w.rack2, 1.0}};
  const auto part = [&](RackId rack, const MapRacks* by, double kept) {
    for (const auto& [id, share] : w.racks.parts(w.world.state, *w.job, *w.reduces, by, kept)) {
      if (id == rack) return share;
    }
    return 0.0;
  };
  ASSERT_TRUE(w.world.launch({w.job->id, StageId(0), 1}, NodeId(2), "test"));
  EXPECT_DOUBLE_EQ(part(w.rack1, &guess, 0), 1);
  EXPECT_DOUBLE_EQ(part(w.rack1, &guess, 1), 0.2) << "two of ten have begun there";
  ASSERT_TRUE(w.world.launch({w.job->id, StageId(0), 2}, NodeId(3), "test"));
  ASSERT_TRUE(w.world.launch({w.job->id, StageId(0), 3}, NodeId(4), "test"));
  EXPECT_DOUBLE_EQ(part(w.rack2, &guess, 0.5), 0.2 + 0.6 * (0.5 + 0.5 * 0.5));
  EXPECT_DOUBLE_EQ(part(w.rack1, &guess, 0.5) + part(w.rack2, &guess, 0.5), 1);
  EXPECT_DOUBLE_EQ(part(w.rack2, nullptr, 1), 0.5) << "no guess: where the others are";
}

TEST(ReduceRacksEarly, ByTheGuessWhereNoMapHasBegun) {
  Written w(0);
  MapRacks guess;
  guess.preferred = {w.rack2};
  guess.parts = {{w.rack2, 1.0}};
  EXPECT_EQ(w.racks.parts(w.world.state, *w.job, *w.reduces, &guess, 0), guess.parts);
  EXPECT_TRUE(w.racks.parts(w.world.state, *w.job, *w.reduces, nullptr, 1).empty());
}

TEST(ReduceRacksWritten, WherePlacedTasksWaitTheyAreWanted) {
  Written w;
  ASSERT_TRUE(w.world.preplace({w.job->id, StageId(1), 4}, NodeId(4), "test"));
  EXPECT_FALSE(w.wants(w.rack1)) << "though nine tenths lie there";
  EXPECT_TRUE(w.wants(w.rack2));
  w.launch(4, 4);
  EXPECT_TRUE(w.wants(w.rack1)) << "none that was placed waits any more";
}

TEST(ReduceRacksEarly, WithoutAGuessEveryRackWillDo) {
  Written w(1);
  EXPECT_TRUE(w.wants(w.rack1));
  EXPECT_TRUE(w.wants(w.rack2));
}

TEST(ReduceRacksWritten, WhatEveryTaskReadsWholeSpeaksForNoRack) {
  Written w;
  StageInfo& small = w.world.stage(*w.job, 2, anywhere(1), {});
  small.output = ShuffleSizes(1, 1);
  ASSERT_TRUE(w.world.launch({w.job->id, StageId(2), 0}, NodeId(4), "test"));
  small.output.add(0, NodeId(4), {1'000'000});
  w.world.finish({w.job->id, StageId(2), 0});
  StageInfo& both = w.world.stage(*w.job, 3, anywhere(10), {.cpu = 1}, 0, {0, 2});
  const RackParts parts = shuffle_by_rack(w.world.state, *w.job, both);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_NEAR(parts[0].second, 0.9, 1e-9);
}

TEST(ReduceRacksWritten, WhereNothingWasWrittenEveryRackWillDo) {
  Written w;
  for (std::uint32_t i = 0; i < 10; ++i) w.maps->output.remove(i);
  EXPECT_TRUE(w.wants(w.rack1));
  EXPECT_TRUE(w.wants(w.rack2));
}

}  // namespace
}  // namespace weft::schedulers::reduce_rack_rules
