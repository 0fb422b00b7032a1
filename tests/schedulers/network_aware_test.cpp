// ShuffleWatcher: which task a node gets by the load of its rack's uplink, and when not.
#include "schedulers/parts/network_aware.hpp"

#include "tests/schedulers/network_cluster.hpp"

namespace weft::schedulers::network_aware_rules {
namespace {

TEST(NetworkAwareOrder, MapsComeFirstWhereTheUplinkIsSaturatedAndReducesOtherwise) {
  for (const bool saturated : {true, false}) {
    Cluster c;
    c.written(1, "a", 2, 3, 4);
    c.maps(c.job(2, "a", 2), anywhere(4));
    c.crossing(saturated ? 90 : 70);
    EXPECT_EQ(c.asks(1), saturated ? "2.0" : "1.1");
  }
}

TEST(NetworkAwareOrder, TheThresholdIsAnOption) {
  Cluster c("shufflewatcher(mode=paper, window=0s, threshold=0.95)");
  c.written(1, "a", 2, 3, 4);
  c.maps(c.job(2, "a", 2), anywhere(4));
  c.crossing(90);
  EXPECT_EQ(c.asks(1), "1.1");
}

TEST(NetworkAwareOrder, ReducesOfLightJobsComeBeforeThoseOfHeavyOnesWhenSaturated) {
  for (const bool saturated : {true, false}) {
    Cluster c;
    c.written(1, "a", 2, 3, 4);
    c.written(2, "a", 0.1, 3, 4);
    c.crossing(saturated ? 90 : 0);
    EXPECT_EQ(c.asks(1), saturated ? "2.1" : "1.1");
  }
}

TEST(NetworkAwareOrder, AJobOfWhichNothingIsKnownIsLight) {
  Cluster c;
  c.written(1, "a", 1.0000001, 3, 4);
  c.written(2, "a", 0, 3, 4);
  c.crossing(90);
  EXPECT_EQ(c.asks(1), "2.1");
}

TEST(NetworkAwareOrder, HeavyReducesGoWhereTheirInputIsFirst) {
  Cluster c;
  c.written(1, "a", 2, 3, 4);  // in rack2
  c.written(2, "a", 2, 1, 4);  // in rack1
  EXPECT_EQ(c.asks(1), "2.1") << "it came later";
  EXPECT_EQ(c.asks(3), "1.1");
  EXPECT_EQ(c.asks(2), "2.1");
  EXPECT_EQ(c.asks(4), "1.1");
}

TEST(NetworkAwareOrder, WithoutSarpJobsGoByTheirArrival) {
  Cluster c("shufflewatcher(mode=paper, window=0s, sarp=false)");
  c.written(1, "a", 2, 3, 4);
  c.written(2, "a", 2, 1, 4);
  EXPECT_EQ(c.asks(1), "1.1");
}

TEST(NetworkAwareOrder, OfJobsThatAreAlikeOneComesFirst) {
  for (const auto& [jobs, order] :
       {std::pair("arrival", "1.0 1.0"), std::pair("fewest", "1.0 2.0"), std::pair("shortest", "2.0 2.0")}) {
    Cluster c(fmt::format("shufflewatcher(mode=paper, window=0s, jobs={})", jobs));
    c.maps(c.job(1, "a", 2), anywhere(5));
    c.maps(c.job(2, "a", 2), anywhere(4));
    const std::string first = c.asks(1), second = c.asks(2);
    EXPECT_EQ(first + " " + second, order) << jobs;
  }
}

TEST(NetworkAwareOrder, ReducesWhoseInputIsMostlyInTheRackComeBeforeMapsToo) {
  Cluster c;
  c.written(1, "a", 2, 1, 4);
  c.maps(c.job(2, "a", 2), anywhere(4));
  c.crossing(90);
  c.world.schedule();
  for (const auto& launch : c.world.launched)
    EXPECT_EQ(launch.task.job, JobId(launch.node <= NodeId(2) ? 1 : 2)) << "in rack2 reduces would cross";
  EXPECT_EQ(c.world.launched.size(), 4u);
}

TEST(NetworkAwareOrder, NoNodeIdlesForARackThatHoldsMore) {
  Cluster c;
  c.written(1, "a", 2, 3, 4);
  EXPECT_EQ(c.asks(1), "1.1");
}

TEST(NetworkAwareOrder, RelaxedAUserWaitsALittleForABetterRack) {
  Cluster c("shufflewatcher(mode=paper, window=0s, relaxed=5s)");
  c.written(1, "a", 2, 3, 4);
  c.written(2, "b", 2, 1, 1);
  c.fill({3, 4});
  c.crossing(90);
  EXPECT_EQ(c.asks(1), "2.1") << "b's turn while a waits";
  EXPECT_EQ(c.asks(2), "-");
  c.world.at(4.9);
  EXPECT_EQ(c.asks(2), "-");
  c.world.at(5);
  EXPECT_EQ(c.asks(2), "1.1");
}

TEST(NetworkAwareOrder, ItIsSaidThatAUserWaitsForABetterRack) {
  Cluster c("shufflewatcher(mode=paper, window=0s, relaxed=5s)");
  c.written(1, "a", 2, 3, 4);
  c.crossing(90);
  c.world.schedule();
  EXPECT_EQ(c.world.running(1), 2u) << "in rack2";
  EXPECT_NE(c.world.holds[JobId(1)].find("waits a little"), std::string::npos) << c.world.holds[JobId(1)];
}

TEST(NetworkAwareOrder, NobodyWaitsWhereTheUplinkIsNotSaturated) {
  Cluster c("shufflewatcher(mode=paper, window=0s, relaxed=5s)");
  c.written(1, "a", 2, 3, 4);
  c.crossing(70);
  EXPECT_EQ(c.asks(1), "1.1");
}

TEST(NetworkAwareOrder, MapsThatOnlyWriteElsewhereGoBeforeANodeIdles) {
  Cluster c("shufflewatcher(mode=paper, window=0s, relaxed=5s)");
  c.maps(c.job(1, "a", 2), std::vector<std::vector<std::string>>(4, {"h1", "h3"}));  // rack1 is chosen
  c.maps(c.job(2, "b", 2), std::vector<std::vector<std::string>>(1, {"h1", "h3"}));  // rack2
  c.fill({1, 2});
  c.crossing(90);
  EXPECT_EQ(c.asks(3), "2.0") << "a lets b go first";
  EXPECT_EQ(c.world.running(1), 1u) << "on the other node, which nobody else wanted";
}

TEST(NetworkAwareOrder, AroundDelayUsersWaitFiveSeconds) {
  Cluster c("shufflewatcher(mode=paper, window=0s, users=delay(inner=fair))");
  c.written(1, "a", 2, 3, 4);
  c.fill({3, 4});
  c.crossing(90);
  EXPECT_EQ(c.asks(1), "-");
  c.world.at(5);
  EXPECT_EQ(c.asks(1), "1.1");
}

TEST(NetworkAwareOrder, OnlyTheUserWhoseTurnItIsIsServed) {
  Cluster c;
  c.written(1, "a", 2, 1, 4);             // stresses the network
  c.maps(c.job(2, "b", 2), anywhere(4));  // does not, but b has something already
  c.crossing(90);
  ASSERT_TRUE(c.world.launch({JobId(2), StageId(0), 0}, NodeId(4), "test"));
  EXPECT_EQ(c.asks(1), "1.1");
}

TEST(NetworkAwareMaps, GoToTheRacksThatSampChose) {
  // Chunks of both jobs lie in both racks: job 1 takes rack1, job 2 the other.
  Cluster c;
  c.maps(c.job(1, "a", 2), std::vector<std::vector<std::string>>(4, {"h1", "h3"}));
  c.maps(c.job(2, "a", 2), std::vector<std::vector<std::string>>(4, {"h1", "h3"}));
  EXPECT_EQ(c.asks(3), "2.0");
  EXPECT_EQ(c.asks(1), "1.0");
  EXPECT_EQ(c.asks(4), "2.0");
  EXPECT_EQ(c.asks(2), "1.0");
}

TEST(NetworkAwareMaps, WithoutSampTheyGoByLocalityAndArrival) {
  Cluster c("shufflewatcher(mode=paper, window=0s, samp=false)");
  c.maps(c.job(1, "a", 2), std::vector<std::vector<std::string>>(4, {"h2", "h3"}));
  c.maps(c.job(2, "a", 2), std::vector<std::vector<std::string>>(4, {"h1", "h3"}));
  EXPECT_EQ(c.asks(1), "2.0") << "on the node itself";
  EXPECT_EQ(c.asks(4), "1.0") << "in the rack, both: the first";
}

TEST(NetworkAwareMaps, InSeveralChosenRacksNoneIsTakenFromAnother) {
  // Both racks are chosen, as half of the input lies only in each and little is shuffled.
  Cluster c;
  c.maps(c.job(1, "a", 0.01), {{"h3"}, {"h3"}});
  c.maps(c.job(2, "a", 0.01), {{"h1"}, {"h3"}, {"h1"}, {"h3"}});
  EXPECT_EQ(c.asks(1), "2.0");
  EXPECT_EQ(c.asks(2), "2.0");
  c.world.finish({JobId(2), StageId(0), 0});
  EXPECT_EQ(c.asks(1), "1.0") << "what is left is of the other rack: the first job's is as good";
}

TEST(NetworkAwareEarly, ReducesComeAfterMapsAndNotAtAllWhenSaturated) {
  for (const bool saturated : {true, false}) {
    Cluster c(kAtOnce, true);
    JobInfo& job = c.job(1, "a", 2);
    StageInfo& maps = c.maps(job, anywhere(2));
    maps.output = ShuffleSizes(2, 2);
    StageInfo& reduces = c.world.stage(job, 1, anywhere(2), c.reduce, 0, {0});
    c.world.state.set_ready(job, reduces, true);  // slow start
    c.crossing(saturated ? 90 : 0);
    c.world.schedule();
    EXPECT_EQ(c.world.running(1), saturated ? 2u : 4u);
    const std::string& why = c.world.holds[JobId(1)];
    EXPECT_EQ(why.find("saturated") != std::string::npos, saturated) << why;
  }
}

TEST(NetworkAwareEarly, InUntypedSlotsTheyComeAfterTheMapsOfTheUser) {
  Cluster c("shufflewatcher(mode=paper, window=0s, jobs=arrival)");
  JobInfo& job = c.job(1, "a", 2);
  c.maps(job, anywhere(1)).output = ShuffleSizes(1, 2);
  StageInfo& reduces = c.world.stage(job, 1, anywhere(2), c.reduce, 0, {0});
  c.world.state.set_ready(job, reduces, true);
  c.maps(c.job(2, "a", 2), anywhere(1));
  EXPECT_EQ(c.asks(1), "1.0");
  EXPECT_EQ(c.asks(2), "2.0");
  EXPECT_EQ(c.asks(3), "1.1");
}

TEST(NetworkAwareTyped, EachKindOfSlotHasItsOwnOrder) {
  Cluster c(kAtOnce, true);
  c.written(1, "a", 2, 3, 4);
  c.written(2, "a", 0.1, 3, 4);
  c.maps(c.job(3, "a", 2), anywhere(2));
  c.crossing(90);
  c.world.beat(1);
  ASSERT_GE(c.world.launched.size(), 2u);
  EXPECT_EQ(c.world.launched[0].task.job, JobId(3));
  EXPECT_EQ(c.world.launched[1].task.job, JobId(2));
  EXPECT_EQ(c.world.launched[1].node, NodeId(1));
}

TEST(NetworkAwareStarving, AJobThatLaunchedNothingForLongComesFirst) {
  for (const double now : {599.0, 600.0}) {
    Cluster c;
    c.written(1, "a", 2, 3, 4);
    c.written(2, "a", 2, 1, 4);
    c.world.at(now - 10);
    EXPECT_EQ(c.asks(1), "2.1") << "the rack's part is of job 2, and it has waited as long";
    c.world.at(now);
    c.crossing(0);
    EXPECT_EQ(c.asks(2), now < 600 ? "2.1" : "1.1");
  }
}

TEST(NetworkAwareUsers, ComeAndGo) {
  Cluster c;
  c.written(1, "a", 2, 1, 1);
  EXPECT_EQ(c.asks(1), "1.1");
  c.world.finish({JobId(1), StageId(1), 0});
  c.world.end(1);
  EXPECT_EQ(c.asks(1), "-");
  c.maps(c.job(2, "a", 2), anywhere(1));
  c.maps(c.job(3, "b", 2), anywhere(1));
  EXPECT_EQ(c.asks(1), "2.0");
  EXPECT_EQ(c.asks(2), "3.0");
  c.world.finish({JobId(3), StageId(0), 0});
  c.world.end(3);
  EXPECT_EQ(c.asks(2), "-");
}

TEST(NetworkAwareUsers, AQueueAtItsLimitGivesNothingOfAnotherJobOfTheUser) {
  World world("shufflewatcher(mode=paper, window=0s, users=capacity(queues=q))",
              {{"q", "[[queue]]\nname='x'\ncapacity=50\nmax_capacity=50\n[[queue]]\nname='y'\ncapacity=50\n"}});
  for (std::uint32_t i = 1; i <= 4; ++i) world.node(i, fmt::format("h{}", i), i <= 2 ? "r1" : "r2", 1);
  for (std::uint64_t id = 1; id <= 3; ++id) world.stage(world.job(id, "a", "x"), 0, anywhere(4));
  world.schedule();
  EXPECT_EQ(world.launched.size(), 2u);
}

TEST(NetworkAwareUsers, APoolThatLimitsItsJobsRunsNoOtherOne) {
  World world("shufflewatcher(mode=paper, users=fair(pools=p))", {{"p", "[[pool]]\nname='x'\nmax_running_jobs=1\n"}});
  for (std::uint32_t i = 1; i <= 4; ++i) world.node(i, fmt::format("h{}", i), i <= 2 ? "r1" : "r2", 2);
  world.stage(world.job(1, "a", "x"), 0, {{"h4"}, {"h4"}});
  world.stage(world.job(2, "a", "x"), 0, {{"h1"}, {"h1"}});
  world.schedule();
  EXPECT_EQ(world.running(1), 2u);
  EXPECT_EQ(world.running(2), 0u) << "though its input is nearer";
}

TEST(NetworkAwareOneRack, IsTheOrderOfUsers) {
  std::vector<std::string> orders;
  for (const char* spec : {"fair", kAtOnce}) {
    World world(spec);
    for (std::uint32_t i = 1; i <= 4; ++i) world.node(i, fmt::format("h{}", i), "rack", 2);
    for (std::uint64_t id = 1; id <= 3; ++id) world.stage(world.job(id, fmt::format("u{}", id % 2)), 0, anywhere(6));
    world.schedule();
    orders.push_back(world.order());
  }
  EXPECT_EQ(orders[0].size(), 8u);
  EXPECT_EQ(orders[0], orders[1]);
}

TEST(NetworkAwareTraffic, PrefetchesAcrossASaturatedUplinkGetTokens) {
  for (const auto& [spec, most] : std::vector<std::pair<std::string, std::optional<std::uint32_t>>>{
           {"shufflewatcher(mode=paper, window=0s)", std::nullopt},
           {"shufflewatcher(mode=paper, window=0s, shape=traffic)", 1},
           {"shufflewatcher(mode=paper, window=0s, shape=traffic, tokens=3)", 3}}) {
    Cluster c(spec);
    c.maps(c.job(1, "a", 2), anywhere(1));
    const RackId rack = c.world.state.node(NodeId(1))->rack;
    c.crossing(70);
    c.world.schedule();
    EXPECT_EQ(c.world.scheduler->far_prefetches(rack), most ? std::optional(UINT32_MAX) : std::nullopt);
    c.crossing(90);
    c.world.at(1);
    c.world.schedule();
    EXPECT_EQ(c.world.scheduler->far_prefetches(rack), most) << spec;
  }
}

TEST(NetworkAwareOrder, AMapNearItsInputComesFirstWhereTheUplinkIsSaturated) {
  Cluster c("shufflewatcher(mode=paper, window=0s, samp=false)");
  c.maps(c.job(1, "a", 2), {{"h3"}, {"h3"}});
  c.maps(c.job(2, "a", 2), {{"h1"}, {"h3"}});
  c.crossing(90);
  EXPECT_EQ(c.asks(1), "2.0");
}

TEST(NetworkAwareOrder, TheShortestJobIsTheOneWithTheLeastLeft) {
  Cluster c;
  c.maps(c.job(1, "a", 2), anywhere(5));
  c.maps(c.job(2, "a", 2), anywhere(4));
  EXPECT_EQ(c.asks(1), "2.0") << "four tasks against five";
  for (std::uint32_t task = 0; task < 3; ++task) {
    ASSERT_TRUE(c.world.launch({JobId(1), StageId(0), task}, NodeId(2), "test"));
    c.world.finish({JobId(1), StageId(0), task});
  }
  EXPECT_EQ(c.asks(2), "1.0") << "three have ended, two are left";
}

TEST(NetworkAwareOrder, WhatIsLeftOfAJobCountsByItsWeight) {
  Cluster c;
  c.maps(c.job(1, "a", 2), anywhere(5));
  JobInfo& heavy = c.job(2, "a", 2);
  heavy.hints.weight = 2;
  c.maps(heavy, anywhere(8));
  EXPECT_EQ(c.asks(1), "2.0") << "8 / 2 against 5";
}

TEST(NetworkAwareOrder, AReduceOfWhichMostLiesElsewhereIsNoReasonToLeaveMaps) {
  Cluster c;
  JobInfo& job = c.job(1, "a", 2);
  StageInfo& maps = c.maps(job, anywhere(5));
  maps.output = ShuffleSizes(5, 5);
  for (std::uint32_t map = 0; map < 5; ++map) {
    const NodeId node(map < 2 ? 1 : 3);
    ASSERT_TRUE(c.world.launch({job.id, StageId(0), map}, node, "test"));
    maps.output.add(map, node, std::vector<std::uint64_t>(5, 100));
    c.world.finish({job.id, StageId(0), map});
  }
  c.world.stage(job, 1, anywhere(5), c.reduce, 0, {0});
  c.maps(c.job(2, "a", 2), anywhere(4));
  c.world.launched.clear();
  c.crossing(90);
  c.world.schedule();
  for (const auto& launch : c.world.launched)
    EXPECT_EQ(launch.task.job, JobId(launch.node <= NodeId(2) ? 2 : 1)) << "two fifths lie in rack1, three in rack2";
  EXPECT_EQ(c.world.launched.size(), 4u);
}

TEST(NetworkAwareOrder, AUserThatGotABetterTaskWaitsAnew) {
  Cluster c("shufflewatcher(mode=paper, window=0s, relaxed=5s)");
  c.written(1, "a", 2, 3, 4);  // crosses on node 1
  c.fill({3, 4});
  c.crossing(90);
  EXPECT_EQ(c.asks(1), "-") << "waits from now on";
  c.world.at(3);
  c.written(2, "a", 2, 1, 1);
  EXPECT_EQ(c.asks(1), "2.1") << "is at home here";
  c.world.at(6);
  EXPECT_EQ(c.asks(2), "-");
  c.world.at(11);
  EXPECT_EQ(c.asks(2), "1.1");
}

TEST(NetworkAwareOrder, AUserThatComesAgainWaitsAnew) {
  Cluster c("shufflewatcher(mode=paper, window=0s, relaxed=5s)");
  c.written(1, "a", 2, 3, 1);
  c.fill({3, 4});
  c.crossing(90);
  EXPECT_EQ(c.asks(1), "-");
  c.world.end(1);
  c.world.at(100);
  c.world.finish({JobId(99), StageId(0), 0});
  c.written(2, "a", 2, 3, 1);
  c.world.stage(c.job(98, "z", 1), 0, anywhere(1));
  ASSERT_TRUE(c.world.launch({JobId(98), StageId(0), 0}, NodeId(3), "test"));
  EXPECT_EQ(c.asks(1), "-");
  c.world.at(105);
  EXPECT_EQ(c.asks(1), "2.1");
}

TEST(NetworkAwareOrder, WhoWaitsIsAskedAgainWithTheNextCycle) {
  Cluster c("shufflewatcher(mode=paper, window=0s, relaxed=5s)");
  c.written(1, "a", 2, 3, 4);
  c.fill({2, 3, 4});
  c.crossing(90);
  EXPECT_EQ(c.asks(1), "-");
  c.world.at(6);
  c.world.beat(4);  // full, so that nothing is to be had there
  EXPECT_EQ(c.world.launched.size(), 1u) << "on node 1, which did not ask";
}

TEST(NetworkAwareStarving, IsWhoLaunchedNothingForLongSinceItsLastLaunchOrItsArrival) {
  Cluster c;
  c.written(1, "a", 2, 3, 4);
  c.world.at(700);
  c.written(2, "a", 2, 1, 4);  // comes now, and the rack's part is of it
  ASSERT_TRUE(c.world.launch({JobId(1), StageId(1), 0}, NodeId(2), "test"));
  c.world.launched.clear();
  EXPECT_EQ(c.asks(1), "2.1") << "job 1 has just launched something";
}

TEST(NetworkAwareStarving, AJobThatComesLateIsNotStarvedAtOnce) {
  Cluster c;
  c.world.at(700);
  c.written(1, "a", 2, 1, 4);
  c.written(2, "a", 2, 3, 4);
  EXPECT_EQ(c.asks(1), "1.1");
  EXPECT_EQ(c.asks(3), "2.1") << "by their racks, not by their age";
}

TEST(NetworkAwareTyped, MapSlotsAreGivenAwayFirst) {
  Cluster c(kAtOnce, true);
  c.written(1, "a", 2, 1, 4);
  c.maps(c.job(2, "a", 2), anywhere(2));
  c.world.beat(1);
  ASSERT_EQ(c.world.launched.size(), 2u);
  EXPECT_EQ(c.world.launched[0].task.job, JobId(2)) << "though reduces come before maps here";
}

TEST(NetworkAwareUsers, DrfIsThatOfUsers) {
  World world("shufflewatcher(mode=paper, users=drf)");
  for (std::uint32_t i = 1; i <= 4; ++i) world.node(i, fmt::format("h{}", i), i <= 2 ? "r1" : "r2", 1);
  for (std::uint64_t id = 1; id <= 4; ++id) world.stage(world.job(id, id < 4 ? "a" : "b"), 0, anywhere(4));
  world.schedule();
  EXPECT_EQ(world.running(4), 2u) << "half of the slots are b's, who has one job";
}

TEST(NetworkAwareUsers, WithoutNassTheyDecideAlone) {
  Cluster c("shufflewatcher(mode=paper, nass=false)");
  c.maps(c.job(1, "a", 2), anywhere(5));
  c.maps(c.job(2, "a", 2), anywhere(4));
  EXPECT_EQ(c.asks(1), "1.0") << "the first one, not the shortest";
  EXPECT_FALSE(c.world.scheduler->far_prefetches(c.world.state.node(NodeId(1))->rack));
}

TEST(NetworkAwarePreplaced, ReadersGoToRacksByWhatTheyHold) {
  Cluster c;
  JobInfo& job = c.job(1, "a", 2);
  StageInfo& maps = c.maps(job, anywhere(20));
  maps.output = ShuffleSizes(20, 8);
  for (std::uint32_t map = 0; map < 10; ++map) {
    ASSERT_TRUE(c.world.launch({job.id, StageId(0), map}, NodeId(1 + map % 2), "test"));
    maps.output.add(map, NodeId(1 + map % 2), std::vector<std::uint64_t>(8, 100));
    c.world.finish({job.id, StageId(0), map});
  }
  StageInfo& reduces = c.world.stage(job, 1, anywhere(8), c.reduce, 0, {0});
  c.world.scheduler->preplace(c.world.state, {job.id, StageId(1), {{StageId(0), 0}}, {}}, c.world);
  std::size_t here = 0;
  for (const auto& [node, tasks] : reduces.preplaced) here += node <= NodeId(2) ? tasks.size() : 0;
  EXPECT_EQ(here, 8u) << "all that is written lies in rack1";
}

/// Of two jobs of one user the second is the shorter one; fair takes the first.
std::string first_of_two(World& world) {
  world.stage(world.job(1, "a"), 0, anywhere(5));
  world.stage(world.job(2, "a"), 0, anywhere(2));
  world.beat(1);
  return world.order();
}

TEST(NetworkAwareOneRack, IsNoticedWhenItTakesOver) {
  for (const bool two : {true, false}) {
    World world("fair");
    for (std::uint32_t i = 1; i <= 2; ++i) world.node(i, fmt::format("h{}", i), i == 1 || !two ? "r1" : "r2", 1);
    auto next = make_scheduler(kAtOnce);
    ASSERT_TRUE(next);
    ASSERT_TRUE((*next)->start(world.state, world.scheduler.get()));
    world.scheduler = std::move(*next);
    EXPECT_EQ(first_of_two(world), two ? "2" : "1");
  }
}

TEST(NetworkAwareOneRack, IsNoticedWhenTheLastNodeOfTheOtherLeaves) {
  World world(kAtOnce);
  for (std::uint32_t i = 1; i <= 2; ++i) world.node(i, fmt::format("h{}", i), fmt::format("r{}", i), 1);
  world.leave(2);
  EXPECT_EQ(first_of_two(world), "1");
}

TEST(NetworkAwareOptionsText, BadOnesAreRefusedInOneLine) {
  for (const auto& [spec, says] : std::vector<std::pair<std::string, std::string>>{
           {"shufflewatcher(mode=paper, users=tetris)", "must be an order of users"},
           {"shufflewatcher(mode=paper, users=cogrs)", "must be an order of users"},
           {"shufflewatcher(mode=paper, users=drf(form=closed))", "must be an order of users"},
           {"shufflewatcher(mode=paper, users=shufflewatcher)", "must be an order of users"},
           {"shufflewatcher(mode=paper, nass=false, sarp=true)", "needs nass=true"},
           {"shufflewatcher(mode=paper, sarp=false, samp=true)", "needs sarp=true"},
           {"shufflewatcher(mode=paper, interval=0s)", "interval must be more than 0"},
           {"shufflewatcher(mode=paper, threshold=-1)", "threshold"},
           {"shufflewatcher(mode=paper, aggregation=some)", "own, mean, busiest"},
           {"shufflewatcher(mode=paper, unknown_uplinks=some)", "largest, never"},
           {"shufflewatcher(mode=paper, map_completion=2)", "map_completion"},
           {"shufflewatcher(mode=paper, shape=some)", "launch, traffic"},
           {"shufflewatcher(mode=paper, jobs=some)", "shortest, fewest, arrival"},
           {"shufflewatcher(mode=paper, tokens=65536)", "at most 65535"},
           {"shufflewatcher(mode=paper, nonsense=1)", "unknown scheduler option 'nonsense'"}}) {
    const auto made = make_scheduler(spec);
    ASSERT_FALSE(made) << spec;
    EXPECT_NE(made.error().to_string().find(says), std::string::npos) << made.error().to_string();
    EXPECT_EQ(made.error().to_string().find('\n'), std::string::npos);
  }
  for (const char* spec :
       {"shufflewatcher(mode=paper, users=drf)", "shufflewatcher(mode=paper, users=capacity)",
        "shufflewatcher(mode=paper, nass=false)", "shufflewatcher(mode=paper, users=delay(inner=drf(by=user)), sarp=false)"})
    EXPECT_TRUE(make_scheduler(spec)) << spec;
}

}  // namespace
}  // namespace weft::schedulers::network_aware_rules
