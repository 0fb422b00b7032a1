// The Fair Sojourn Protocol: who goes first, and that nobody is left behind.
#include "schedulers/policies/fsp.hpp"

#include <algorithm>

#include "schedulers/default_scheduler.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers::fsp_rules {
namespace {

/// One slot; tasks take a second each, which the scheduler knows.
struct OneSlot {
  World world;
  std::size_t ended = 0;
  double now = 0;
  explicit OneSlot(const std::string& spec = "fsp", const std::map<std::string, std::string>& files = {}) : world(spec, files) {
    world.node(1, "a", "r", 1);
  }
  void add(std::uint64_t id, std::size_t tasks, const std::string& user = "", int priority = 0) {
    world.stage(world.job(id, user, "", priority), 0, anywhere(tasks), {.cpu = 1}, 1);
  }
  /// The task that runs ends, and the next begins.
  void second() {
    world.schedule();
    world.at(now += 1);
    if (ended < world.launched.size()) world.finish(world.launched[ended++].task);
  }
  std::size_t launches(std::uint64_t id) const {
    std::size_t count = 0;
    for (const auto& launch : world.launched) count += launch.task.job == JobId(id) ? 1 : 0;
    return count;
  }
};

TEST(FairSojourn, TheSmallerJobGoesFirst) {
  OneSlot slot;
  slot.add(1, 6);
  slot.add(2, 2);
  for (int i = 0; i < 8; ++i) slot.second();
  EXPECT_EQ(slot.world.order(), "22111111");
}

TEST(FairSojourn, EqualJobsGoInTheOrderOfTheirSubmissionOneAfterTheOther) {
  OneSlot slot;
  for (const std::uint64_t id : {1u, 2u, 3u}) slot.add(id, 2);
  for (int i = 0; i < 6; ++i) slot.second();
  EXPECT_EQ(slot.world.order(), "112233");
}

TEST(FairSojourn, AJobThatWasKilledTakesNothingFromItsUsersNextOne) {
  std::string orders[2];
  for (const bool killed : {false, true}) {
    OneSlot slot;
    if (killed) slot.add(1, 1000, "alice", 1);
    slot.add(2, 4, "alice");
    slot.add(3, 4, "bob");
    if (killed) slot.world.end(1);
    for (int i = 0; i < 8; ++i) slot.second();
    orders[killed ? 1 : 0] = slot.world.order();
  }
  EXPECT_EQ(orders[1], orders[0]);
}

/// Of two nodes neither is ever as empty as its task is large.
TEST(FairSojourn, ATaskThatFitsBesideNoOtherIsNotStarvedBySmallOnes) {
  for (const std::string spec : {"fsp", "tetris", "carbyne", "adaptive", "ras", "reverse_adaptive", "fsp(mode=paper)"}) {
    World world(spec);
    for (const std::uint32_t node : {1u, 2u}) world.node(node, fmt::format("h{}", node), "r", 8);
    world.stage(world.job(1, "small"), 0, anywhere(5000), {.cpu = 1}, 1.6);
    world.schedule();
    world.stage(world.job(2, "large"), 0, anywhere(1), {.cpu = 8}, 1.6);
    std::size_t ended = 0;
    double now = 0;
    const auto launched = [&] { return world.state.job(JobId(2))->running > 0; };
    for (; ended < 1000 && !launched(); ++ended) {
      world.at(now += 0.1);
      world.finish(world.launched[ended].task);
      world.beat(world.launched[ended].node.value());
    }
    EXPECT_EQ(launched(), spec != "fsp(mode=paper)") << spec;
    if (!launched()) continue;
    EXPECT_LT(now, 20) << spec;
    for (; ended < 1200; ++ended) {  // the node is everybody's again
      world.at(now += 0.1);
      if (world.launched[ended].task.job == JobId(2)) continue;
      world.finish(world.launched[ended].task);
      world.schedule();
    }
    EXPECT_EQ(world.state.node(NodeId(1))->used.cpu + world.state.node(NodeId(2))->used.cpu, 16) << spec;
  }
}

TEST(FairSojourn, ALargeJobIsNotStarvedByAnothersStreamOfSmallOnes) {
  for (const std::string spec : {"fsp", "fsp(mode=paper)", "tetris", "carbyne", "adaptive", "ras", "srtf"}) {
    OneSlot slot(spec);
    slot.add(1, 30, "large");
    for (std::uint64_t i = 0; i < 62; ++i) {
      slot.add(10 + 2 * i, 1, "small");
      slot.add(11 + 2 * i, 1, "small");
      slot.second();
    }
    EXPECT_EQ(slot.launches(1), spec == "srtf" ? 0u : 30u) << spec << ": with half of the slot it ends at 60";
  }
}

TEST(FairSojourn, AUsersManyJobsDoNotDelayThoseOfAnother) {
  OneSlot slot;
  for (std::uint64_t id = 10; id < 20; ++id) slot.add(id, 3, "many");
  slot.add(1, 9, "few");
  for (int i = 0; i < 18; ++i) slot.second();
  EXPECT_EQ(slot.launches(1), 9u) << "it would have ended by 18 with half of the slot";
}

TEST(FairSojourn, PriorityDecidesBetweenTheJobsOfAUserOnly) {
  OneSlot slot;
  slot.add(1, 2, "a");
  slot.add(2, 4, "a", 1);
  slot.add(3, 3, "b");
  for (int i = 0; i < 9; ++i) slot.second();
  EXPECT_EQ(slot.world.order(), "333222211");
}

TEST(FairSojourn, WeightsOfPoolsAreReadFromTheFileOfTheFairScheduler) {
  OneSlot slot("fsp(pools=p)", {{"p", "[[pool]]\nname = \"vip\"\nweight = 9\n"}});
  slot.add(1, 3, "a");
  slot.world.stage(slot.world.job(2, "b", "vip"), 0, anywhere(5), {.cpu = 1}, 1);
  for (int i = 0; i < 8; ++i) slot.second();
  EXPECT_EQ(slot.world.order(), "22222111");
}

TEST(FairSojourn, AWrongEstimateIsForgottenWhenTasksHaveEnded) {
  OneSlot slot;
  StageInfo& stage = slot.world.stage(slot.world.job(1), 0, anywhere(10), {.cpu = 1}, 0.1);
  slot.add(2, 4);
  slot.world.schedule();
  ASSERT_EQ(slot.world.order(), "1") << "believed to be the smaller one";
  stage.observed_total = std::chrono::seconds(1);
  stage.observed_count = 1;
  for (int i = 0; i < 6; ++i) slot.second();
  EXPECT_EQ(slot.world.order(), "122221") << "nine seconds are left of it";
}

TEST(FairSojourn, ASchedulerThatTakesOverRemembersWhatJobsHaveHad) {
  OneSlot slot;
  slot.add(1, 6);
  for (int i = 0; i < 4; ++i) slot.second();
  auto next = make_scheduler("fsp(stages=cpm)").value();
  ASSERT_TRUE(next->start(slot.world.state, slot.world.scheduler.get()));
  slot.world.scheduler = std::move(next);
  slot.add(2, 3);
  for (int i = 0; i < 5; ++i) slot.second();
  EXPECT_EQ(slot.world.order(), "111111222") << "two seconds are left of job 1, three of job 2";
}

TEST(FairSojourn, CapacityThatComesLaterChangesNoOrder) {
  OneSlot slot;
  slot.add(1, 6);
  slot.add(2, 2);
  slot.world.give(1, {.cpu = 2});
  slot.world.schedule();
  EXPECT_EQ(slot.world.order(), "22");
  slot.world.node(2, "b", "r", 3);
  slot.world.schedule();
  EXPECT_EQ(slot.world.order(), "22111");
}

TEST(FairSojourn, ASingleJobRunsAsUnderFifo) {
  std::vector<std::vector<std::string>> launches;
  for (const std::string spec : {"fifo", kDefaultScheduler}) {
    World world(spec);
    for (std::uint32_t id = 1; id <= 3; ++id) world.node(id, fmt::format("h{}", id), id < 3 ? "r1" : "r2", 2);
    JobInfo& job = world.job(1);
    world.stage(job, 0, {{"h3"}, {"h1"}, {}, {"h2", "h1"}, {"h9"}, {"h3"}, {"h3"}, {"h3"}, {"h1"}});
    world.stage(job, 1, anywhere(4), {.cpu = 1}, 0, {0});
    std::size_t ended = 0;
    for (int second = 1; second < 20; ++second) {
      world.schedule();
      world.at(second);
      for (const std::size_t all = world.launched.size(); ended < all; ++ended) world.finish(world.launched[ended].task);
    }
    auto& order = launches.emplace_back();
    for (const auto& one : world.launched) order.push_back(fmt::format("{} on {}", to_string(one.task), one.node.value()));
    std::sort(order.begin(), order.end());  // in one call nodes may be asked in another order
  }
  EXPECT_EQ(launches[0].size(), 13u);
  EXPECT_EQ(launches[0], launches[1]);
}

}  // namespace
}  // namespace weft::schedulers::fsp_rules
