// Delay scheduling: how long it waits, and what begins a new wait.
#include "schedulers/policies/delay.hpp"

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::delay_rules {
namespace {

/// Node 1 is in the rack of the only node that holds the input of `tasks` tasks; that one, node 3, has no room, and node 2 is
/// elsewhere.
void far_from_data(World& world, std::size_t tasks) {
  world.node(1, "near", "r1", 1);
  world.node(2, "far", "r2", 1);
  world.node(3, "holder", "r1", 0.1);
  world.job(1, 0, Time(0), std::vector<std::vector<std::string>>(tasks, {"holder"}));
}
/// When a job of one task takes the room in its rack, and when it takes any, in seconds.
std::pair<double, double> waits(const std::string& spec, Time heartbeat) {
  std::pair<double, double> found;
  for (const bool in_rack : {true, false}) {
    World world;
    world.state.set_heartbeat(heartbeat);
    world.scheduler = make_scheduler(spec).value();
    EXPECT_TRUE(world.scheduler->start(world.state, nullptr));
    world.node(1, "a", in_rack ? "r1" : "r2", 1);
    world.node(2, "holder", "r1", 0.1);
    world.job(1, 0, Time(0), {{"holder"}});
    double now = 0;
    for (; now < 100; now += 0.5) {
      world.at(now);
      world.schedule();
      if (!world.launched.empty()) break;
    }
    (in_rack ? found.first : found.second) = now;
  }
  return found;
}

TEST(DelayTimes, AutoIsOneAndAHalfHeartbeatsAndFifteenSecondsAtMost) {
  const std::string automatic = "delay(inner=fifo, node_wait=auto, rack_wait=auto)";
  EXPECT_EQ(waits(automatic, std::chrono::seconds(2)), std::pair(3.0, 6.0));
  EXPECT_EQ(waits(automatic, std::chrono::seconds(30)), std::pair(15.0, 30.0));
  EXPECT_EQ(waits(automatic, Time(0)), std::pair(5.0, 10.0)) << "where nodes report at no fixed times";
}

TEST(DelayTimes, AreFiveSecondsEachUnlessSomethingElseIsAskedFor) {
  EXPECT_EQ(waits("delay(inner=fifo, mode=paper)", std::chrono::seconds(2)), std::pair(5.0, 10.0));
  EXPECT_EQ(waits("delay(inner=fifo, node_wait=2s)", Time(0)), std::pair(2.0, 7.0));
  EXPECT_EQ(waits("delay(inner=fifo, rack_wait=1s)", Time(0)), std::pair(5.0, 6.0));
}

TEST(DelayTimes, AreMeasuredWhereNothingIsAskedFor) {
  EXPECT_EQ(waits("delay(inner=fifo)", std::chrono::seconds(2)), std::pair(0.0, 0.0)) << "distance is not known to cost anything";
  const auto both = make_scheduler("delay(inner=fifo, mode=measured, node_wait=5s)");
  ASSERT_FALSE(both);
  EXPECT_NE(both.error().to_string().find("leave out node_wait"), std::string::npos) << both.error().to_string();
}

TEST(DelayTimes, ALaunchInTheRackBeginsTheWaitForAnyNodeAgain) {
  World world("delay(inner=fifo, node_wait=5s, rack_wait=3s)");
  far_from_data(world, 3);
  world.schedule();
  world.at(5);
  world.schedule();
  ASSERT_EQ(world.launched.size(), 1u) << "in the rack";
  world.at(7.9);
  world.beat(2);
  EXPECT_EQ(world.launched.size(), 1u);
  world.at(8);
  world.beat(2);
  EXPECT_EQ(world.launched.size(), 2u);
}

TEST(DelayTimes, ALaunchOnItsDataMakesTheJobWaitFromTheBeginning) {
  World world("delay(inner=fifo, node_wait=5s, rack_wait=3s)");
  world.node(2, "far", "r2", 1);
  world.node(3, "holder", "r1", 0.1);
  world.job(1, 0, Time(0), {{"holder"}, {"holder"}, {"holder", "late"}, {"holder"}});
  world.schedule();
  world.at(8);
  world.schedule();
  ASSERT_EQ(world.launched.size(), 1u) << "at the level of any node now";
  world.node(4, "late", "r3", 1);
  world.beat(4);
  ASSERT_EQ(world.launched.size(), 2u);
  EXPECT_EQ(world.launched[1].task.index, 2u) << "on its data";
  world.finish(world.launched[0].task);
  world.beat(2);
  EXPECT_EQ(world.launched.size(), 2u) << "it waits again";
  world.at(15.9);
  world.beat(2);
  EXPECT_EQ(world.launched.size(), 2u);
  world.at(16);
  world.beat(2);
  EXPECT_EQ(world.launched.size(), 3u);
}

TEST(DelaySkips, EveryNodeThatIsOfferedIsAnOpportunity) {
  World world("delay(inner=fifo, skips=3)");
  world.node(1, "a", "r", 1);
  world.node(2, "b", "r", 1);
  world.node(3, "holder", "r", 0.1);
  world.job(1, 0, Time(0), {{"holder"}});
  world.schedule();  // nodes 1, 2 (and 3, which has no room for it, but some)
  EXPECT_TRUE(world.launched.empty());
  world.schedule();
  EXPECT_EQ(world.launched.size(), 1u);
}

TEST(DelaySkips, GoWithNoTimes) {
  for (const char* spec :
       {"delay(skips=3, node_wait=1s)", "delay(rack_wait=1s, skips=3)", "delay(mode=paper, skips=3, node_wait=auto)"}) {
    const auto made = make_scheduler(spec);
    ASSERT_FALSE(made) << spec;
    EXPECT_NE(made.error().to_string().find("skips counts offers instead of time"), std::string::npos) << made.error().to_string();
  }
}

TEST(DelaySkips, SoManyNodesInOneCallAreAsManyOpportunities) {
  World world("delay(inner=fifo, skips=4)");
  for (std::uint32_t id : {1u, 2u, 3u}) world.node(id, fmt::format("h{}", id), "r", 1);
  world.job(1, 0, Time(0), {{"elsewhere"}});
  world.schedule();  // three
  world.beat(1);     // four
  EXPECT_TRUE(world.launched.empty());
  world.beat(2);
  EXPECT_EQ(world.launched.size(), 1u);
}

TEST(DelaySkips, AreCountedTogetherUntilALaunchOnItsData) {
  World world("delay(inner=fifo, skips=2)");
  world.node(1, "a", "r", 1);
  world.node(2, "holder", "r", 1);
  world.job(1, 0, Time(0), {{"holder"}, {"holder"}, {"holder"}, {"holder"}});
  for (std::size_t skipped = 0; skipped < 2; ++skipped) {
    world.beat(1);
    EXPECT_TRUE(world.launched.empty());
  }
  world.beat(1);
  ASSERT_EQ(world.launched.size(), 1u) << "the third opportunity";
  world.finish(world.launched[0].task);
  world.beat(1);
  ASSERT_EQ(world.launched.size(), 2u) << "a launch elsewhere keeps the count";
  world.finish(world.launched[1].task);
  world.beat(2);
  ASSERT_EQ(world.launched.size(), 3u);
  world.beat(1);
  EXPECT_EQ(world.launched.size(), 3u) << "one on its data does not";
}

}  // namespace
}  // namespace weft::schedulers::delay_rules
