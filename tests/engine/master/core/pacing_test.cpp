// When the scheduler is asked, when readers may start, and capacity that changes.
#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Pacing, WithStepsTheSchedulerIsAskedOnceForAllThatHappenedBefore) {
  CoreOptions options;
  options.decide_every = seconds(1);
  options.heartbeat_timeout = Time(0);
  Driver driver(options);
  driver.now = milliseconds(300);
  driver.join(1, 2);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 3, 0))})));
  EXPECT_TRUE(driver.running.empty());
  ASSERT_EQ(driver.all<SetTimer>().size(), 1u);
  EXPECT_EQ(driver.last<SetTimer>()->at, seconds(1));
  driver.now = seconds(1);
  ASSERT_TRUE(driver.apply(TimerFired{driver.last<SetTimer>()->timer}));
  EXPECT_EQ(driver.running.size(), 2u);
  driver.now = seconds(2);
  driver.drain();
  EXPECT_EQ(driver.launches(0), 2u);
  ASSERT_EQ(driver.all<SetTimer>().size(), 2u);
  EXPECT_EQ(driver.last<SetTimer>()->at, seconds(2)) << "what ends on a step is decided on in that step";
  ASSERT_TRUE(driver.apply(TimerFired{driver.last<SetTimer>()->timer}));
  EXPECT_EQ(driver.launches(0), 3u);
}

TEST(Pacing, OnHeartbeatsANodeIsGivenTasksWhenItIsHeardOf) {
  CoreOptions options;
  options.on_heartbeats = true;
  Driver driver(options);
  driver.join(1, 1);
  driver.join(2, 1);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 3, 0))})));
  EXPECT_TRUE(driver.running.empty());
  ASSERT_TRUE(driver.apply(WorkerHeartbeat{NodeId(2)}));
  ASSERT_EQ(driver.running.size(), 1u);
  EXPECT_EQ(driver.running.begin()->second, NodeId(2));
  ASSERT_TRUE(driver.finish(driver.running.begin()->first));
  EXPECT_TRUE(driver.running.empty());
  ASSERT_TRUE(driver.apply(WorkerHeartbeat{NodeId(1)}));
  EXPECT_EQ(driver.running.begin()->second, NodeId(1));
}

plan::PlanPart map_reduce(std::uint32_t maps, std::uint32_t reduces) {
  return part(0, {source(0, maps, reduces), result(reader(1, {0}, reduces, 0))});
}

TEST(Pacing, WithSlowStartReadersRunEarlyAndAreToldOfFurtherOutputs) {
  CoreOptions options;
  options.slow_start = 0.5;
  Driver driver(options);
  driver.join(1, 4);
  driver.join(2, 2);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, map_reduce(4, 2)));
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 2)));
  EXPECT_EQ(driver.launches(1), 0u);
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 0)));
  EXPECT_EQ(driver.launches(1), 2u);
  const auto* table = driver.last<ShuffleLocations>();
  ASSERT_NE(table, nullptr);
  ASSERT_EQ(table->outputs->size(), 2u);
  EXPECT_EQ(table->outputs->at(1).map, 2u);
  EXPECT_TRUE(driver.all<ShuffleExtended>().empty());
  const AttemptId third = driver.running_attempt(1, 0, 3);
  const NodeId where = driver.running.at(third);
  ASSERT_TRUE(driver.finish(third));
  std::set<NodeId> told;
  for (const auto* extended : driver.all<ShuffleExtended>()) {
    told.insert(extended->node);
    EXPECT_EQ(extended->output.map, 3u);
    EXPECT_EQ(extended->output.node, where);
    EXPECT_EQ(extended->written, (std::vector<std::uint32_t>{0, 1}));
  }
  for (std::uint32_t reduce : {0u, 1u}) EXPECT_TRUE(told.contains(driver.running.at(driver.running_attempt(1, 1, reduce))));
}

TEST(Pacing, ANodeThatReadsLaterIsToldOfAllOutputsThereAreByThen) {
  CoreOptions options;
  options.slow_start = 0.5;
  Driver driver(options);
  driver.join(1, 4);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, map_reduce(4, 4)));
  for (std::uint32_t map : {0u, 1u, 2u}) ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, map)));
  ASSERT_EQ(driver.all<ShuffleLocations>().size(), 1u);
  EXPECT_EQ(driver.last<ShuffleLocations>()->outputs->size(), 2u);
  driver.join(2, 1);
  ASSERT_EQ(driver.all<ShuffleLocations>().size(), 2u);
  EXPECT_EQ(driver.last<ShuffleLocations>()->node, NodeId(2));
  EXPECT_EQ(driver.last<ShuffleLocations>()->outputs->size(), 3u) << "the table of the first node is no longer all";
}

TEST(Pacing, WaitingReadersMakeWayForAMapThatIsLost) {
  CoreOptions options;
  options.slow_start = 0.5;
  Driver driver(options);
  driver.join(1, 1);
  driver.join(2, 1);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, map_reduce(2, 2)));
  const AttemptId map = driver.running_attempt(1, 0, 0);
  const NodeId lost = driver.running.at(map);
  ASSERT_TRUE(driver.finish(map));
  ASSERT_TRUE(driver.is_running(1, 1, 0)) << "a reduce in the place of the map";
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 1)));
  ASSERT_TRUE(driver.is_running(1, 1, 1));
  driver.running.erase(driver.running_attempt(1, 1, 0));
  ASSERT_TRUE(driver.lose(lost.value()));
  EXPECT_TRUE(driver.is_running(1, 0, 0)) << "the only node left held a reduce that waited for this map";
  EXPECT_FALSE(driver.is_running(1, 1, 1));
  ASSERT_NE(driver.last<KillTask>(), nullptr);
  EXPECT_EQ(driver.core.job(JobId(1)).value().stages[1].failed_attempts, 1u) << "only the one that died with its node";
  driver.drain();
  EXPECT_NE(driver.last<ActionFinished>(), nullptr);
}

TEST(Pacing, OnHeartbeatsReadersMakeWayWhenALimitKeepsWhatTheyWaitForFromRunning) {
  const std::map<std::string, std::string> files{
      {"q.toml", "[[queue]]\nname = \"default\"\ncapacity = 50\nmax_capacity = 50\n[[queue]]\nname = \"other\"\ncapacity = 50\n"}};
  CoreOptions options;
  options.on_heartbeats = true;
  options.slow_start = 0.5;
  Driver driver(schedulers::make_scheduler("capacity(queues=q.toml)", schedulers::reader_of(files)).value(), options);
  const auto beat = [&](std::uint32_t node) { ASSERT_TRUE(driver.apply(WorkerHeartbeat{NodeId(node)})); };
  driver.join(1, 2);
  driver.join(2, 2);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, map_reduce(4, 1)));
  beat(1);
  ASSERT_EQ(driver.running.size(), 2u) << "half of the cluster";
  for (std::uint32_t map : {0u, 1u}) ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, map)));
  beat(2);
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 2)));
  beat(1);
  ASSERT_TRUE(driver.is_running(1, 1, 0));
  driver.running.erase(driver.running_attempt(1, 0, 3));
  ASSERT_TRUE(driver.lose(2));
  EXPECT_TRUE(driver.is_running(1, 1, 0)) << "the scheduler has not been asked yet";
  beat(1);
  EXPECT_TRUE(driver.is_running(1, 0, 2)) << "the reduce was all that the queue may have, and waited for this map";
  EXPECT_FALSE(driver.is_running(1, 1, 0));
  for (int round = 0; round < 4; ++round) {
    driver.drain();
    beat(1);
  }
  EXPECT_NE(driver.last<ActionFinished>(), nullptr);
}

TEST(Pacing, WithoutSlowStartReadersWaitForTheLastMap) {
  Driver driver;
  driver.join(1, 4);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, map_reduce(2, 1)));
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 0)));
  EXPECT_EQ(driver.launches(1), 0u);
  ASSERT_TRUE(driver.finish(driver.running_attempt(1, 0, 1)));
  EXPECT_EQ(driver.launches(1), 1u);
  EXPECT_TRUE(driver.all<ShuffleExtended>().empty());
}

TEST(Pacing, AHeartbeatChangesTheCapacityAndWhatRunsGoesOn) {
  Driver driver;
  driver.join(1, 2);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 6, 0))})));
  ASSERT_EQ(driver.running.size(), 2u);
  WorkerHeartbeat none{NodeId(1)};
  none.capacity = schedulers::Resources{};
  ASSERT_TRUE(driver.apply(none));
  EXPECT_EQ(driver.core.view().capacity().cpu, 0);
  EXPECT_EQ(driver.running.size(), 2u);
  driver.drain();
  EXPECT_EQ(driver.launches(0), 2u);
  WorkerHeartbeat more{NodeId(1)};
  more.capacity = schedulers::Resources{.cpu = 3};
  ASSERT_TRUE(driver.apply(more));
  EXPECT_EQ(driver.running.size(), 3u);
  more.capacity->cpu = -1;
  EXPECT_FALSE(driver.apply(more));
}

}  // namespace
}  // namespace weft::master
