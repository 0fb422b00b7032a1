// Why tasks do not run, as `weft job explain` tells it.
#include "tests/engine/master/core/core_driver.hpp"

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
  EXPECT_NE(why.waiting[0].reason.find("there is no worker"), std::string::npos) << why.waiting[0].reason;
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

TEST(Explain, TellsHowManyAttemptsRunFunctionsForAttributesOfTheirNodes) {
  Driver driver;
  driver.join(1, 1);
  WorkerJoined fast;
  fast.node = NodeId(2);
  fast.name = "fast";
  fast.host = "host-2";
  fast.rack = "rack-0";
  fast.capacity.cpu = 2;
  fast.attributes = {{"accelerator", "gpu"}, {"arch", "x86"}};
  ASSERT_TRUE(driver.apply(fast));
  driver.submit(1);
  plan::Stage stage = source(0, 5, 0);
  stage.variants = {"accelerator", "arch=arm"};
  ASSERT_TRUE(driver.extend(1, part(0, {result(stage)})));
  std::size_t launches = 0;
  for (const Command& command : driver.commands) {
    const auto* launch = std::get_if<LaunchTask>(&command);
    if (launch == nullptr) continue;
    ++launches;
    const std::vector<std::string> expected =
        launch->node == NodeId(2) ? std::vector<std::string>{"accelerator"} : std::vector<std::string>{};
    EXPECT_EQ(launch->spec.variants, expected);
  }
  EXPECT_EQ(launches, 3u);
  EXPECT_EQ(explain(driver).estimates.at(0).basis,
            "nothing is known of it; it has functions for accelerator, arch=arm, which 2 attempts ran");
  EXPECT_EQ(driver.core.job(JobId(1))->stages.at(0).usage.accelerated, 2u);
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

TEST(Explain, TellsThatEveryWorkerLargeEnoughIsExcludedAndForHowLong) {
  Driver driver({.max_failures_per_node = 1, .heartbeat_timeout = Time(0), .exclusion = std::chrono::seconds(60)});
  driver.join(1, 2);
  driver.join(2, 2);
  driver.join(3, 1);  // remains, but is too small
  driver.submit(1, 100);
  plan::Stage stage = result(source(0, 2, 0));
  stage.demand.cpu = 2;
  ASSERT_TRUE(driver.extend(1, part(0, {stage})));
  const auto fail_on = [&](std::uint32_t node) {
    for (const auto& [attempt, where] : std::map(driver.running)) {
      if (where != NodeId(node)) continue;
      EXPECT_TRUE(driver.fail_task(attempt, FailureKind::environment));
    }
  };
  fail_on(1);
  driver.now = std::chrono::seconds(15);
  fail_on(2);
  driver.pass_until(std::chrono::seconds(20));
  ASSERT_TRUE(driver.apply(WorkerHeartbeat{NodeId(3)}));
  const auto why = explain(driver);
  ASSERT_EQ(why.waiting.size(), 1u);
  EXPECT_EQ(why.waiting[0].tasks, 2u);
  EXPECT_NE(why.waiting[0].reason.find(
                "every worker large enough for cpu=2 is excluded after repeated failures, the first for 40.0 s more"),
            std::string::npos)
      << why.waiting[0].reason;
}

/// Launches nothing, and holds what it is told to hold.
class Holding final : public schedulers::Scheduler {
 public:
  using Holds = std::vector<std::pair<std::optional<StageId>, std::string>>;
  explicit Holding(const Holds& holds) : holds_(holds) {}
  std::string_view name() const override { return "holding"; }
  void schedule(const schedulers::ClusterView&, const schedulers::Trigger&, schedulers::Decisions& decisions) override {
    for (const auto& [stage, reason] : holds_) decisions.hold(JobId(1), stage, reason);
  }

 private:
  const Holds& holds_;
};

TEST(Explain, TellsTheLastReasonOfTheStageOrOfItsJob) {
  Holding::Holds holds;
  Driver driver(std::make_unique<Holding>(holds), {});
  driver.join(1, 2);
  driver.submit(1);
  ASSERT_TRUE(driver.extend(1, part(0, {result(source(0, 3, 0)), result(source(1, 3, 0))})));
  const auto told = [&](int second, const Holding::Holds& now) {
    driver.now = std::chrono::seconds(second);
    holds = now;
    EXPECT_TRUE(driver.apply(WorkerHeartbeat{NodeId(1)}));
    std::vector<std::string> reasons;
    const auto why = explain(driver);
    for (const WaitingTasks& group : why.waiting) {
      EXPECT_EQ(group.why, Why::held);
      reasons.push_back(group.reason);
    }
    const JobStatus status = driver.core.job(JobId(1)).value();
    for (const StageStatus& stage : status.stages) reasons.push_back(stage.reason);
    return reasons;
  };
  const std::string room = "1 of 1 worker has cpu=1 free";
  const auto both = [&](const std::string& first, const std::string& second) {
    return std::vector{first + " (" + room + ")", second + " (" + room + ")", first, second};
  };
  EXPECT_EQ(told(1, {}), (std::vector{room, room, room, room})) << "nothing was said";
  EXPECT_EQ(told(2, {{std::nullopt, "the job"}}), both("the job", "the job"));
  EXPECT_EQ(told(3, {{StageId(0), "stage 0"}}), both("stage 0", "the job")) << "what is newer, and of this stage";
  EXPECT_EQ(told(4, {{std::nullopt, "the job again"}}), both("the job again", "the job again"));
  EXPECT_EQ(told(5, {{StageId(1), "stage 1"}, {std::nullopt, "the job at once"}}), both("the job at once", "stage 1"))
      << "of the same moment what is said of the stage";
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
