// Why tasks do not run, as `weft job explain` tells it.
#include "tests/engine/master/core_driver.hpp"

namespace weft::master::test {
namespace {

using Why = WaitingTasks::Why;

JobExplanation explain(Driver& driver, std::uint64_t job = 1) {
  auto explained = driver.core.explain(JobId(job));
  EXPECT_TRUE(explained) << explained.error().to_string();
  return explained ? std::move(*explained) : JobExplanation{};
}

TEST(Explain, TellsThatThereIsNoWorker) {
  Driver driver;
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 5, 0))})));
  const auto why = explain(driver);
  ASSERT_EQ(why.waiting.size(), 1u);
  EXPECT_EQ(why.waiting[0].tasks, 5u);
  EXPECT_NE(why.waiting[0].reason.find("no worker"), std::string::npos) << why.waiting[0].reason;
}

TEST(Explain, NamesTheParentsAStageWaitsForAndTheSlotsItsParentWaitsFor) {
  Driver driver;
  driver.join(1, 2);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {source(0, 5, 4), result(reader(1, {0}, 4, 0))})));
  driver.finish(driver.running_attempt(1, 0, 0));
  const auto why = explain(driver);
  EXPECT_EQ(why.running, 2u);
  EXPECT_EQ(why.finished, 1u);
  ASSERT_EQ(why.waiting.size(), 2u);
  EXPECT_EQ(why.waiting[0].why, Why::held);
  EXPECT_EQ(why.waiting[0].tasks, 2u);
  EXPECT_TRUE(why.waiting[0].since);
  EXPECT_NE(why.waiting[0].reason.find("no worker has cpu=1 free"), std::string::npos) << why.waiting[0].reason;
  EXPECT_EQ(why.waiting[1].why, Why::parents);
  EXPECT_EQ(why.waiting[1].tasks, 4u);
  EXPECT_NE(why.waiting[1].reason.find("stage 0 (source0), 1 of 5 tasks done"), std::string::npos) << why.waiting[1].reason;
}

TEST(Explain, NamesTheWorkerAFailedTaskAvoids) {
  Driver driver;
  driver.join(1, 1);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 1, 0))})));
  const AttemptId first = driver.running_attempt(1, 0, 0);
  driver.join(2, 1);
  driver.submit(2);
  ASSERT_TRUE(driver.extend(2, part(0, {result(source(0, 1, 0))})));  // takes the second node
  ASSERT_TRUE(driver.fail_task(first));
  const auto why = explain(driver);
  ASSERT_EQ(why.waiting.size(), 1u);
  EXPECT_EQ(why.waiting[0].why, Why::avoiding);
  EXPECT_NE(why.waiting[0].reason.find("failed on worker-1"), std::string::npos) << why.waiting[0].reason;
}

TEST(Explain, TellsThatWorkersAreExcluded) {
  Driver driver({.max_failures_per_node = 1});
  driver.join(1, 1);
  driver.join(2, 1);
  driver.submit(1, 100);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 4, 0))})));
  for (const auto& [attempt, node] : std::map(driver.running)) {
    if (node == NodeId(1)) {
      ASSERT_TRUE(driver.fail_task(attempt, FailureKind::environment));
    }
  }
  const auto why = explain(driver);
  ASSERT_FALSE(why.waiting.empty());
  EXPECT_NE(why.waiting[0].reason.find("1 excluded after repeated failures"), std::string::npos) << why.waiting[0].reason;
}

TEST(Explain, KnowsJobsThatWaitForTheirDriverAndJobsThatAreOver) {
  Driver driver;
  driver.join(1, 1);
  driver.submit(1);
  EXPECT_NE(explain(driver).summary.find("not submitted a stage"), std::string::npos);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 1, 0))})));
  driver.finish(driver.running_attempt(1, 0, 0));
  EXPECT_NE(explain(driver).summary.find("waits for the driver"), std::string::npos);
  ASSERT_TRUE(driver.apply(JobKilled{JobId(1), "enough"}));
  EXPECT_EQ(explain(driver).summary, "enough");
  EXPECT_EQ(explain(driver).state, JobState::killed);
  EXPECT_FALSE(driver.core.explain(JobId(5)));
}

}  // namespace
}  // namespace weft::master::test
