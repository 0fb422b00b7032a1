// How long a job still takes, as its status says: by what its tasks read, and not by how many there are.
#include "engine/master/core/time_left.hpp"

#include "base/clock.hpp"
#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;
using std::chrono::seconds;

class TimeLeft : public testing::Test {
 protected:
  JobStatus status() const { return d.core.job(JobId(1)).value(); }
  double left() const { return in_seconds(status().left); }
  double left(std::size_t stage) const { return in_seconds(status().stages.at(stage).left); }
  /// Ends the tasks of a stage, one after the other, after `each`.
  void finish_maps(std::uint32_t stage, std::uint32_t tasks, const std::vector<std::uint64_t>& bytes) {
    for (std::uint32_t task = 0; task < tasks; ++task) d.finish_map(d.running_attempt(1, stage, task), bytes);
  }
  void pass(seconds time) {
    d.pass_until(d.now + time);
    ASSERT_TRUE(d.apply(WorkerHeartbeat{NodeId(1)}));
  }

  static CoreOptions never_silent() {
    CoreOptions options;
    options.heartbeat_timeout = Time(0);
    return options;
  }
  Driver d{never_silent()};
};

TEST_F(TimeLeft, IsNotKnownBeforeATaskHasEnded) {
  d.join(1, 2);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 4, 0))})));
  pass(seconds(5));
  EXPECT_EQ(status().left, Time(0));
  EXPECT_EQ(status().stages.at(0).left, Time(0));
}

TEST_F(TimeLeft, OfAStageIsItsTasksOverTheSlotsItHas) {
  d.join(1, 2);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 6, 0))})));
  pass(seconds(10));
  for (const std::uint32_t task : {0u, 1u}) ASSERT_TRUE(d.finish(d.running_attempt(1, 0, task)));
  EXPECT_NEAR(left(), 20, 1e-6) << "four tasks of ten seconds, two at a time";
  pass(seconds(4));
  EXPECT_NEAR(left(), 16, 1e-6);
  EXPECT_NEAR(left(0), 16, 1e-6);
  ASSERT_EQ(d.core.jobs().size(), 1u);
  EXPECT_NEAR(in_seconds(d.core.jobs()[0].left), 16, 1e-6) << "in the list, too";
}

TEST_F(TimeLeft, OfAHotPartitionIsLongerThanOfTheOthers) {
  d.join(1, 4);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 1, 4), result(reader(1, {0}, 4, 0))})));
  pass(seconds(1));
  finish_maps(0, 1, {100, 100, 100, 1200});
  pass(seconds(2));
  for (const std::uint32_t task : {0u, 1u, 2u}) ASSERT_TRUE(d.finish(d.running_attempt(1, 1, task)));
  EXPECT_NEAR(left(1), 22, 1e-6) << "twelve times as long as those that took two seconds, two of which have passed";
  pass(seconds(10));
  EXPECT_NEAR(left(), 12, 1e-6);
  pass(seconds(30));
  EXPECT_LT(left(), 0.001) << "it is taken to end at any moment";
  ASSERT_TRUE(d.finish(d.running_attempt(1, 1, 3)));
  EXPECT_EQ(status().left, Time(0)) << "nothing is left";
}

TEST_F(TimeLeft, OfStagesThatWaitIsAddedWithoutWhatIsNotKnown) {
  d.join(1, 2);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 4, 2), result(reader(1, {0}, 2, 0))})));
  pass(seconds(10));
  for (const std::uint32_t task : {0u, 1u}) d.finish_map(d.running_attempt(1, 0, task), {50, 50});
  EXPECT_NEAR(left(0), 10, 1e-6);
  EXPECT_GT(left(1), 0) << "as schedulers take reduces to be, by the job's maps";
  EXPECT_NEAR(left(), left(0) + left(1), 1e-6);
}

TEST_F(TimeLeft, OfAJobIsNotKnownWhileThatOfAStageIsNot) {
  d.join(1, 2);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {result(source(0, 2, 0)), result(source(1, 2, 0))})));
  pass(seconds(10));
  ASSERT_TRUE(d.finish(d.running_attempt(1, 0, 0)));
  EXPECT_GT(left(0), 0);
  EXPECT_EQ(status().stages.at(1).left, Time(0));
  EXPECT_EQ(status().left, Time(0));
}

}  // namespace
}  // namespace weft::master
