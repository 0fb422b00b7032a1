// Tasks larger than any worker: refused with the largest worker named, or waited for when workers are still coming.
#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master::test {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;

class Placement : public testing::Test {
 protected:
  void join(std::uint32_t node, schedulers::Resources capacity) {
    WorkerJoined event;
    event.node = NodeId(node);
    event.name = fmt::format("worker-{}", node);
    event.host = event.name;
    event.capacity = capacity;
    ASSERT_TRUE(driver.apply(std::move(event)));
  }
  void submit(schedulers::Resources demand) {
    JobSubmitted event;
    event.job = JobId(1);
    event.options.demand = demand;
    ASSERT_TRUE(driver.apply(std::move(event)));
    ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 3, 0))})));
  }
  JobStatus job() { return driver.core.job(JobId(1)).value(); }
  /// Time passes, and the timers that are due fire.
  void pass(Time time) {
    driver.now += time;
    for (std::size_t i = 0; i < driver.commands.size(); ++i) {
      const auto* timer = std::get_if<SetTimer>(&driver.commands[i]);
      if (timer == nullptr || timer->at > driver.now || !fired.insert(timer->timer).second) continue;
      (void)driver.apply(TimerFired{timer->timer});
    }
  }

  Driver driver{CoreOptions{.heartbeat_timeout = Time(0), .placement_wait = std::chrono::seconds(60)}};
  std::set<std::uint64_t> fired;
};

TEST_F(Placement, AJobWhoseTasksFitNoWorkerFailsAndNamesTheLargest) {
  join(1, {.cpu = 2, .memory = 1 * kGiB});
  join(2, {.cpu = 4, .memory = 2 * kGiB});
  join(3, {.cpu = 8, .memory = 1 * kGiB});
  submit({.cpu = 1, .memory = 3 * kGiB});
  EXPECT_EQ(job().state, JobState::failed);
  EXPECT_NE(job().error.find("each task wants cpu=1,memory=3GiB; the largest worker, worker-2, has cpu=4,memory=2GiB"),
            std::string::npos)
      << job().error;
}

TEST_F(Placement, EachResourceMayFitSomewhereAndYetAllNowhere) {
  join(1, {.cpu = 8, .memory = 1 * kGiB});
  join(2, {.cpu = 2, .memory = 4 * kGiB});
  submit({.cpu = 4, .memory = 2 * kGiB});
  EXPECT_EQ(job().state, JobState::failed);
}

TEST_F(Placement, WhatANodeDoesNotAccountForAlwaysFits) {
  join(1, {.cpu = 2});
  submit({.cpu = 1, .memory = 3 * kGiB, .disk_read = 1e12});
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_EQ(driver.running.size(), 2u);
}

TEST_F(Placement, WithoutAnyWorkerAJobWaitsAndALaterLargeOneTakesIt) {
  submit({.cpu = 4});
  pass(std::chrono::hours(1));
  EXPECT_EQ(job().state, JobState::running);
  join(1, {.cpu = 2});
  pass(std::chrono::seconds(59));
  EXPECT_EQ(job().state, JobState::running);
  join(2, {.cpu = 4});
  pass(std::chrono::seconds(120));
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_TRUE(driver.is_running(1, 0, 0));
}

TEST_F(Placement, OnceWorkersAreThereAJobWaitsForALargerOneOnlySoLong) {
  submit({.cpu = 4});
  join(1, {.cpu = 2});
  pass(std::chrono::seconds(61));
  EXPECT_EQ(job().state, JobState::failed);
  EXPECT_NE(job().error.find("worker-1"), std::string::npos) << job().error;
}

TEST_F(Placement, AJobThatLosesItsOnlyLargeWorkerWaitsForAnother) {
  join(1, {.cpu = 4});
  join(2, {.cpu = 1});
  submit({.cpu = 4});
  ASSERT_TRUE(driver.is_running(1, 0, 0));
  ASSERT_TRUE(driver.lose(1));
  pass(std::chrono::seconds(30));
  EXPECT_EQ(job().state, JobState::running);
  EXPECT_NE(driver.core.explain(JobId(1))->waiting.at(0).reason.find("no worker is large enough"), std::string::npos);
  pass(std::chrono::seconds(31));
  EXPECT_EQ(job().state, JobState::failed);
}

TEST_F(Placement, EachWaitForALargerWorkerLastsAsLong) {
  join(1, {.cpu = 4});
  join(2, {.cpu = 1});
  submit({.cpu = 4});
  ASSERT_TRUE(driver.lose(1));
  pass(std::chrono::seconds(30));
  join(3, {.cpu = 4});
  pass(std::chrono::seconds(20));
  ASSERT_TRUE(driver.lose(3));
  pass(std::chrono::seconds(20));
  EXPECT_EQ(job().state, JobState::running) << "70 s after the first worker, 20 s after the second";
  pass(std::chrono::seconds(41));
  EXPECT_EQ(job().state, JobState::failed);
}

TEST_F(Placement, AJobThatFitsAgainWaitsNoMore) {
  join(1, {.cpu = 4});
  join(2, {.cpu = 1});
  submit({.cpu = 4});
  ASSERT_TRUE(driver.lose(1));
  pass(std::chrono::seconds(30));
  join(3, {.cpu = 4});
  ASSERT_TRUE(driver.is_running(1, 0, 0));
  pass(std::chrono::seconds(120));
  EXPECT_EQ(job().state, JobState::running);
}

}  // namespace
}  // namespace weft::master::test
