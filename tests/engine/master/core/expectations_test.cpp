// What is said of deadlines: whether they are expected to be met, what would help, and when that is worth a line in the log.
#include "engine/master/core/expectations.hpp"

#include <gmock/gmock.h>

#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

JobStatus with_deadline(const Expectation& expected) {
  JobStatus status;
  status.deadline = 100s;
  status.expected = expected;
  return status;
}

TEST(Outlook, IsByTheExpectedEnd) {
  EXPECT_EQ(outlook(with_deadline({.end = 100s})), Outlook::meets);
  EXPECT_EQ(outlook(with_deadline({.end = 101s})), Outlook::misses);
  EXPECT_EQ(outlook(with_deadline({})), Outlook::unknown);
  EXPECT_EQ(outlook(JobStatus()), Outlook::unknown);
}

TEST(Outlook, SaysWhatWouldHelp) {
  EXPECT_EQ(outlook_text(with_deadline({.end = 90s, .alone = 40s, .slots = 3, .needed = 2.1, .cluster = 8})),
            "expected to meet the deadline with 10.0 s to spare");
  EXPECT_EQ(
      outlook_text(with_deadline({.end = 130s, .alone = 40s, .slots = 3, .needed = 4.2, .cluster = 8})),
      "expected to miss the deadline by 30.0 s: it has 3 tasks at a time and needs 5 tasks at a time from now on (there is room "
      "for 8 tasks at a time): more workers, fewer jobs beside it or a later deadline would help");
  EXPECT_THAT(
      outlook_text(with_deadline({.end = 160s, .alone = 140s, .slots = 8, .needed = 14, .cluster = 8})),
      HasSubstr("by 1 min 00 s: even with all workers for itself it would end 40.0 s after it, so it is run as well as can be"));
  EXPECT_THAT(outlook_text(with_deadline({})), HasSubstr("is not known before a task of each stage has ended"));
  EXPECT_THAT(outlook_text(with_deadline({.end = 24h * 40000, .alone = 24h * 40000, .needed = 1})),
              HasSubstr("expected to miss the deadline: "))
      << "without a worker nothing is said of the time";
}

/// Tasks of ten seconds on two slots, to be done 25 s after the beginning.
struct Running {
  test::Driver driver;
  Expectations expectations;
  JobStatus status;

  explicit Running(std::uint32_t tasks = 4) {
    driver.join(1, 2);
    JobSubmitted job;
    job.job = JobId(1);
    job.name = "words";
    job.deadline = 25s;
    EXPECT_TRUE(driver.apply(std::move(job)));
    plan::Stage stage = test::result(test::source(0, tasks, 1));
    stage.estimated_task_duration = 10s;
    EXPECT_TRUE(driver.apply(PlanExtended{JobId(1), test::part(0, {stage})}));
  }
  std::optional<std::string> look(Time at) {
    driver.now = at;
    EXPECT_TRUE(driver.apply(WorkerHeartbeat{.node = NodeId(1)}));
    status = driver.core.job(JobId(1)).value();
    return expectations.add(driver.core, at, status);
  }
};

TEST(Expectations, AreOfTheRunningJobAndSaidOnceWhenTheyTurn) {
  Running running;
  EXPECT_FALSE(running.look(0s)) << "nothing to warn of";
  ASSERT_TRUE(running.status.expected);
  EXPECT_EQ(outlook(running.status), Outlook::meets);
  EXPECT_NEAR(running.status.expected->slots, 2, 1e-6);
  EXPECT_DOUBLE_EQ(running.status.expected->cluster, 2);
  // Nothing has ended after 18 s: the tasks take that long at least, and two wait.
  const auto warned = running.look(18s);
  ASSERT_TRUE(warned);
  EXPECT_THAT(*warned, HasSubstr("job 1 (words): expected to miss the deadline by"));
  EXPECT_FALSE(running.look(20s)) << "it was said";
}

TEST(Expectations, AreWorkedOutAtMostOnceASecond) {
  Running running;
  (void)running.look(0s);
  const Time first = running.status.expected->end;
  (void)running.look(999ms);
  EXPECT_EQ(running.status.expected->end, first);
  (void)running.look(15s);
  EXPECT_NE(running.status.expected->end, first);
}

TEST(Expectations, OfJobsThatEndSoonAreWorkedOutMoreOften) {
  Running running(2);
  (void)running.look(9900ms);
  EXPECT_LE(running.status.expected->end, 10s);
  (void)running.look(10400ms);
  EXPECT_GE(running.status.expected->end, 10400ms) << "no end lies in the past";
}

TEST(Expectations, AreNotOfJobsWithoutADeadline) {
  Running running;
  JobStatus status = running.driver.core.job(JobId(1)).value();
  status.deadline.reset();
  EXPECT_FALSE(running.expectations.add(running.driver.core, 0s, status));
  EXPECT_FALSE(status.expected);
}

}  // namespace
}  // namespace weft::master
