#include "schedulers/policies/fair.hpp"

#include "base/random.hpp"
#include "schedulers/parts/water_filling.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers {
namespace {

TEST(WaterFilling, GivesWeightedMaxMinSharesWithGuarantees) {
  EXPECT_EQ(water_fill({{1, 0, 10}, {1, 0, 10}}, 8), (std::vector<double>{4, 4}));
  EXPECT_EQ(water_fill({{3, 0, 10}, {1, 0, 10}}, 8), (std::vector<double>{6, 2}));
  EXPECT_EQ(water_fill({{1, 0, 1}, {1, 0, 10}}, 8), (std::vector<double>{1, 7})) << "what one cannot use flows to the other";
  EXPECT_EQ(water_fill({{1, 6, 10}, {1, 0, 10}}, 8), (std::vector<double>{6, 2}));
  EXPECT_EQ(water_fill({{1, 6, 3}, {1, 0, 10}}, 8), (std::vector<double>{3, 5})) << "no more than the demand is guaranteed";
  EXPECT_EQ(water_fill({{1, 12, 20}, {1, 4, 20}}, 8), (std::vector<double>{6, 2})) << "guarantees beyond the capacity are scaled";
  EXPECT_EQ(water_fill({{1, 0, 2}, {1, 0, 3}}, 8), (std::vector<double>{2, 3}));
  EXPECT_TRUE(water_fill({}, 8).empty());
}

TEST(WaterFilling, KeepsItsInvariantsForRandomClaims) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    std::vector<Claim> claims(1 + random.below(10));
    double demand = 0, guaranteed = 0;
    for (Claim& claim : claims) {
      claim = {0.1 + static_cast<double>(random.below(50)) / 10, static_cast<double>(random.below(20)),
               static_cast<double>(random.below(40))};
      demand += claim.demand;
      guaranteed += std::min(claim.guaranteed, claim.demand);
    }
    const auto capacity = static_cast<double>(random.below(100));
    const auto shares = water_fill(claims, capacity);
    double sum = 0;
    for (double share : shares) sum += share;
    ASSERT_NEAR(sum, std::min(capacity, demand), 1e-6) << "seed " << seed;
    if (guaranteed > capacity) continue;
    for (std::size_t i = 0; i < claims.size(); ++i) {
      ASSERT_LE(shares[i], claims[i].demand + 1e-9) << "seed " << seed;
      ASSERT_GE(shares[i], std::min(claims[i].guaranteed, claims[i].demand) - 1e-9) << "seed " << seed;
      for (std::size_t k = 0; k < claims.size(); ++k) {  // nobody has more per weight than one who wants more
        if (shares[i] >= claims[i].demand - 1e-9 || shares[k] <= std::min(claims[k].guaranteed, claims[k].demand) + 1e-9) continue;
        ASSERT_LE(shares[k] / claims[k].weight, shares[i] / claims[i].weight + 1e-6) << "seed " << seed;
      }
    }
  }
}

void submit_to_pool(World& world, std::uint64_t id, const std::string& pool, std::size_t tasks) {
  world.stage(world.job(id, "", pool), 0, anywhere(tasks));
}

TEST(Fair, OfEqualPoolsThatOfTheEarlierJobGoesFirst) {
  // The file names b first; the job in a was submitted earlier. A pool that has no job with pending tasks left is as late as its
  // next.
  World world("fair(pools=p)", {{"p", "[[pool]]\nname = 'b'\n[[pool]]\nname = 'a'\n[[pool]]\nname = 'in a'\nparent = 'a'\n"}});
  world.node(1, "n", "r", 1);
  world.stage(world.job(1, 0, Time(5), "", "in a"), 0, anywhere(1));
  world.stage(world.job(2, 9, Time(6), "", "b"), 0, anywhere(2));  // its priority is between jobs of one pool
  world.stage(world.job(3, 0, Time(7), "", "a"), 0, anywhere(2));
  for (std::size_t i = 0; i < 5; ++i) {
    world.schedule();
    world.finish(world.launched.at(i).task);
  }
  EXPECT_EQ(world.order(), "12233");
}

TEST(Fair, APoolBelowItsMinimumGoesBeforeOneThatHasLessPerWeight) {
  World world("fair(pools=p)", {{"p", "[[pool]]\nname = 'guaranteed'\nmin_share = 4\n[[pool]]\nname = 'heavy'\nweight = 100\n"}});
  world.node(1, "n", "r", 5);
  submit_to_pool(world, 1, "guaranteed", 9);
  submit_to_pool(world, 2, "heavy", 9);
  world.schedule();
  EXPECT_EQ(world.running(1), 4u);
  EXPECT_EQ(world.running(2), 1u);
}

TEST(Fair, EqualJobsGetEqualParts) {  // BS-2
  World world("fair");
  world.node(1, "a", "r", 12);
  for (std::uint64_t id = 1; id <= 4; ++id) submit_to_pool(world, id, "", 100);
  world.schedule();
  for (std::uint64_t id = 1; id <= 4; ++id) EXPECT_EQ(world.running(id), 3u);
}

TEST(Fair, ASmallJobIsDoneSoonWhileALongOneGoesOn) {  // BS-2
  World world("fair");
  world.node(1, "a", "r", 4);
  submit_to_pool(world, 1, "", 100);
  world.schedule();
  submit_to_pool(world, 2, "", 4);
  for (std::size_t i = 0; i < 12 && !world.state.job(JobId(2))->stages.at(StageId(0)).complete(); ++i) {
    world.finish(world.launched.at(i).task);
    world.beat(1);
    EXPECT_GE(world.running(1), 1u);
  }
  EXPECT_TRUE(world.state.job(JobId(2))->stages.at(StageId(0)).complete());
}

TEST(Fair, PoolsShareByWeightAndWithinThemselves) {
  World world("fair(pools=p.toml)", {{"p.toml", R"(
[[pool]]
name = "big"
weight = 3
[[pool]]
name = "one"
parent = "big"
[[pool]]
name = "two"
parent = "big"
policy = "fifo"
[[pool]]
name = "small"
)"}});
  world.node(1, "a", "r", 16);
  submit_to_pool(world, 1, "one", 100);
  submit_to_pool(world, 2, "one", 100);
  submit_to_pool(world, 3, "two", 100);
  submit_to_pool(world, 4, "two", 100);
  submit_to_pool(world, 5, "small", 100);
  world.schedule();
  EXPECT_EQ(world.running(1), 3u);
  EXPECT_EQ(world.running(2), 3u);
  EXPECT_EQ(world.running(3), 6u) << "first come first served within its pool";
  EXPECT_EQ(world.running(4), 0u);
  EXPECT_EQ(world.running(5), 4u);
  const auto groups = world.scheduler->groups(world.state);
  ASSERT_EQ(groups.size(), 4u);
  EXPECT_EQ(groups[0].name, "big");
  EXPECT_EQ(groups[0].used, 12);
  EXPECT_EQ(groups[0].fair_share, 12);
  EXPECT_EQ(groups[1].parent, "big");
  EXPECT_EQ(groups[3].fair_share, 4);
  EXPECT_EQ(groups[3].demand, 100);
}

constexpr const char* kGuaranteed = R"(
[[pool]]
name = "prod"
min_share = 6
min_share_timeout = "5s"
fair_share_timeout = "60s"
[[pool]]
name = "dev"
fair_share_timeout = "20s"
)";

TEST(Fair, APoolBelowItsMinimumIsServedFirst) {
  World world("fair(pools=p.toml)", {{"p.toml", kGuaranteed}});
  world.node(1, "a", "r", 8);
  submit_to_pool(world, 1, "dev", 100);
  submit_to_pool(world, 2, "prod", 100);
  world.schedule();
  EXPECT_EQ(world.running(2), 6u);
  EXPECT_EQ(world.running(1), 2u);
}

TEST(Fair, UnusedMinimumSharesFlowToOthers) {
  World world("fair(pools=p.toml)", {{"p.toml", kGuaranteed}});
  world.node(1, "a", "r", 8);
  submit_to_pool(world, 1, "dev", 100);
  submit_to_pool(world, 2, "prod", 2);
  world.schedule();
  EXPECT_EQ(world.running(2), 2u);
  EXPECT_EQ(world.running(1), 6u);
}

TEST(Fair, ALoneJobGetsEverything) {
  World world("fair(pools=p.toml)", {{"p.toml", kGuaranteed}});
  world.node(1, "a", "r", 8);
  submit_to_pool(world, 1, "other", 100);
  world.schedule();
  EXPECT_EQ(world.running(1), 8u);
}

TEST(Fair, AStarvedMinimumIsRestoredWithinItsTimeoutByKillingTheNewest) {  // BS-3
  World world("fair(pools=p.toml, preemption=true, interval=1s)", {{"p.toml", kGuaranteed}});
  world.node(1, "a", "r", 8);
  submit_to_pool(world, 1, "dev", 4);
  world.schedule();
  world.at(1);
  submit_to_pool(world, 2, "dev", 100);
  world.schedule();
  ASSERT_EQ(world.running(2), 4u);
  world.at(2);
  submit_to_pool(world, 3, "prod", 100);
  world.schedule();
  EXPECT_TRUE(world.preempted.empty());
  EXPECT_FALSE(world.wakes.empty()) << "it asks to be called when the time has come";
  world.at(6.9);
  world.schedule({Trigger::Kind::timer, {}});
  EXPECT_TRUE(world.preempted.empty());
  world.at(7.9);
  world.schedule({Trigger::Kind::timer, {}});
  EXPECT_EQ(world.running(3), 6u);
  ASSERT_EQ(world.preempted.size(), 6u);
  // Job 2 has the newest tasks, of which it loses those above its share of one; then job 1 loses its newest.
  std::string order;
  for (const auto& attempt : world.preempted) order += fmt::format("{}", attempt.task.job.value());
  EXPECT_EQ(order, "222111");
  EXPECT_EQ(world.preempted[0].task.index, 3u) << "the newest first";
  EXPECT_EQ(world.running(1) + world.running(2), 2u);
  EXPECT_EQ(world.state.task(world.preempted[0].task)->state, TaskState::pending) << "and it is done again";
}

TEST(Fair, APoolBelowHalfItsFairShareWaitsForItsTimeout) {
  World world("fair(preemption=true, interval=1s, fair_share_timeout=10s)");
  world.node(1, "a", "r", 8);
  submit_to_pool(world, 1, "a", 100);
  world.schedule();
  submit_to_pool(world, 2, "b", 100);
  world.at(0.5);  // the first update sees it
  world.schedule();
  world.at(10.4);
  world.schedule();
  EXPECT_TRUE(world.preempted.empty());
  world.at(11.4);
  world.schedule();
  EXPECT_EQ(world.running(1), 4u);
  EXPECT_EQ(world.running(2), 4u);
}

TEST(Fair, AStarvationThatEndedDoesNotCountForTheNextOne) {
  World world("fair(preemption=true, interval=1s, fair_share_timeout=60s)");
  world.node(1, "a", "r", 8);
  submit_to_pool(world, 1, "a", 8);
  world.schedule();
  world.at(1);
  submit_to_pool(world, 2, "b", 1);
  world.schedule();  // b starves from now on
  world.at(2);
  world.finish({JobId(1), StageId(0), 0});
  world.schedule();
  ASSERT_EQ(world.running(2), 1u);
  world.finish({JobId(2), StageId(0), 0});  // nothing waits any more, and nobody calls
  world.at(101);
  submit_to_pool(world, 3, "b", 100);
  world.schedule();
  EXPECT_TRUE(world.preempted.empty()) << "b has starved for no time at all";
  ASSERT_EQ(world.running(3), 1u) << "the free slot";
  world.at(160.9);
  world.schedule();
  EXPECT_TRUE(world.preempted.empty());
  world.at(162.1);
  world.schedule();
  EXPECT_EQ(world.running(3), 4u) << "now it has, for its timeout";
}

TEST(Fair, NothingIsKilledWithoutPreemptionOrTimeouts) {
  for (const char* spec : {"fair(fair_share_timeout=1s)", "fair(preemption=true, interval=1s)"}) {
    World world(spec);
    world.node(1, "a", "r", 8);
    submit_to_pool(world, 1, "a", 100);
    world.schedule();
    submit_to_pool(world, 2, "b", 100);
    world.at(1000);
    world.schedule();
    EXPECT_TRUE(world.preempted.empty()) << spec;
  }
}

TEST(Fair, LimitsRunningJobsOfAPool) {
  World world("fair(pools=p.toml)", {{"p.toml", "[[pool]]\nname='p'\nmax_running_jobs=2"}});
  world.node(1, "a", "r", 8);
  for (std::uint64_t id : {1u, 2u, 3u}) submit_to_pool(world, id, "p", 2);
  world.schedule();
  EXPECT_EQ(world.order(), "1212");
  for (std::size_t i : {0u, 2u}) world.finish(world.launched[i].task);
  world.end(1);
  world.schedule();
  EXPECT_EQ(world.order(), "121233");
}

TEST(Fair, SharesSlotTypesOnTheirOwn) {
  World world("fair");
  world.node(1, "a", "r", {.cpu = 6, .map_slots = 4, .reduce_slots = 2});
  const Resources map{.cpu = 1, .map_slots = 1}, reduce{.cpu = 1, .reduce_slots = 1};
  JobInfo& first = world.job(1);  // in its reduces
  world.stage(first, 0, anywhere(1), map);
  world.schedule();
  world.finish(world.launched[0].task);
  world.stage(first, 1, anywhere(9), reduce, 0, {0});
  for (std::uint64_t id : {2u, 3u}) world.stage(world.job(id), 0, anywhere(9), map);
  world.schedule();
  EXPECT_EQ(world.running(1), 2u);
  EXPECT_EQ(world.running(2), 2u);
  EXPECT_EQ(world.running(3), 2u);
}

TEST(Fair, IsReconfiguredWhileJobsRun) {
  World world("fair(pools=p.toml)", {{"p.toml", "[[pool]]\nname='a'\nweight=3"}});
  world.node(1, "x", "r", 8);
  submit_to_pool(world, 1, "a", 100);
  submit_to_pool(world, 2, "b", 100);
  world.schedule();
  EXPECT_EQ(world.running(1), 6u);
  auto next = make_scheduler("fair(pools=p.toml)", reader_of({{"p.toml", "[[pool]]\nname='b'\nweight=3"}})).value();
  ASSERT_TRUE(next->start(world.state, world.scheduler.get()));
  world.scheduler = std::move(next);
  for (std::size_t i = 0; i < 8; ++i) world.finish(world.launched[i].task);
  world.schedule();
  EXPECT_EQ(world.running(1), 2u);
  EXPECT_EQ(world.running(2), 6u);
}

}  // namespace
}  // namespace weft::schedulers
