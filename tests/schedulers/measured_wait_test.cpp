// The locality wait that is as long as distance was measured to cost.
#include "schedulers/parts/measured_wait.hpp"

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::measured_wait_rules {
namespace {

/// Two racks of one node each. A job's input lies on node 1; its tasks take `near` seconds there and `far` on node 2.
struct TwoRacks {
  World world{"fsp"};
  double now = 0;
  std::size_t ended = 0;

  TwoRacks() {
    world.node(1, "holder", "r1", 1);
    world.node(2, "other", "r2", 1);
  }
  void add(std::uint64_t id, std::size_t tasks) {
    world.job(id, 0, world.state.now(), std::vector<std::vector<std::string>>(tasks, {"holder"}));
  }
  /// Both nodes take a task each time, and both end.
  void learn(double near, double far, int rounds) {
    add(1, static_cast<std::size_t>(2 * rounds));
    for (int i = 0; i < rounds; ++i) {
      world.schedule();
      ASSERT_EQ(world.launched.size(), ended + 2);
      std::vector<std::pair<double, TaskId>> ends;
      for (; ended < world.launched.size(); ++ended) {
        const auto& launch = world.launched[ended];
        ends.emplace_back(launch.node == NodeId(1) ? near : far, launch.task);
      }
      std::sort(ends.begin(), ends.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (const auto& [seconds, task] : ends) {
        world.at(now + seconds);
        world.finish(task);
      }
      now += std::max(near, far);
    }
    world.end(1);
  }
  /// How long a task of a new job leaves node 2 idle while node 1 is busy.
  double waits() {
    add(2, 2);
    world.at(now);
    world.schedule();
    for (double waited = 0; waited < 60; waited += 0.5) {
      world.at(now + waited);
      world.schedule();
      if (world.running(2) == 2) return waited;
    }
    return 60;
  }
};

TEST(MeasuredWaits, NothingIsWaitedForBeforeAnythingIsMeasured) { EXPECT_EQ(TwoRacks().waits(), 0); }

TEST(MeasuredWaits, AreAsLongAsTasksFarFromTheirInputTookLonger) {
  TwoRacks racks;
  // While it learns, tasks wait as well once they know: so few rounds that nothing is known before the last.
  racks.learn(4, 7, 5);
  EXPECT_EQ(racks.waits(), 3);
}

TEST(MeasuredWaits, AreNoneWhereDistanceCostsNothing) {
  TwoRacks racks;
  racks.learn(4, 4, 8);
  EXPECT_EQ(racks.waits(), 0);
}

TEST(MeasuredWaits, AreNoneWhereTasksAreFasterElsewhere) {
  TwoRacks racks;
  racks.learn(4, 2, 8);
  EXPECT_EQ(racks.waits(), 0);
}

TEST(MeasuredWaits, AreFifteenSecondsAtMost) {
  TwoRacks racks;
  racks.learn(1, 100, 5);
  EXPECT_EQ(racks.waits(), 15);
}

TEST(MeasuredWaits, CanBeTurnedOff) {
  TwoRacks racks;
  racks.world.scheduler = make_scheduler("fsp(wait=none)").value();
  ASSERT_TRUE(racks.world.scheduler->start(racks.world.state, nullptr));
  racks.learn(4, 7, 8);
  EXPECT_EQ(racks.waits(), 0);
}

TEST(MeasuredWaits, AreRememberedByTheSchedulerThatTakesOver) {
  TwoRacks racks;
  racks.learn(4, 7, 5);
  auto next = make_scheduler("fsp(stages=cpm)").value();
  ASSERT_TRUE(next->start(racks.world.state, racks.world.scheduler.get()));
  racks.world.scheduler = std::move(next);
  EXPECT_EQ(racks.waits(), 3);
}

}  // namespace
}  // namespace weft::schedulers::measured_wait_rules
