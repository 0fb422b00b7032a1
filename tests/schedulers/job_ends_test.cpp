// When jobs are expected to end.
#include "schedulers/prediction/job_ends.hpp"

#include "base/clock.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers::job_ends_rules {
namespace {

using std::chrono::seconds;

const Sharing kGoals{.goals = Goals::needed};

struct Jobs {
  World world{"fifo"};
  explicit Jobs(std::uint32_t nodes) {
    for (std::uint32_t i = 1; i <= nodes; ++i) world.node(i, "h" + std::to_string(i), "r", 1);
  }
  JobInfo& job(std::uint64_t id, std::size_t tasks, double length, int goal = 0) {
    JobInfo& job = world.job(id);
    if (goal > 0) job.deadline = seconds(goal);
    world.stage(job, 0, anywhere(tasks), {.cpu = 1}, length);
    return job;
  }
  /// Launches `count` tasks of the job on nodes from `first` on.
  void run(std::uint64_t job, std::uint32_t count, std::uint32_t first) {
    for (std::uint32_t i = 0; i < count; ++i) ASSERT_TRUE(world.launch({JobId(job), StageId(0), i}, NodeId(first + i), ""));
  }
  ExpectedEnd expected(std::uint64_t job, const Sharing& sharing = {}) {
    return expected_ends(world.state, sharing).at(JobId(job));
  }
  double end(std::uint64_t job, const Sharing& sharing = {}) { return in_seconds(expected(job, sharing).end.value()); }
};

TEST(ExpectedEnd, OfAJobAloneIsItsWorkOverTheSlotsAndAnUnevenLastRound) {
  Jobs jobs(4);
  jobs.job(1, 10, 10);
  EXPECT_DOUBLE_EQ(jobs.end(1), (100 + 10 * 3 / 2.0) / 4) << "three rounds take 30 s";
  EXPECT_DOUBLE_EQ(in_seconds(jobs.expected(1).alone), 25);
}

TEST(ExpectedEnd, WhenAllRunIsThatOfTheYoungestTask) {
  Jobs jobs(4);
  jobs.job(1, 3, 10);
  jobs.run(1, 2, 1);
  jobs.world.at(6);
  ASSERT_TRUE(jobs.world.launch({JobId(1), StageId(0), 2}, NodeId(3), ""));
  jobs.world.at(8);
  EXPECT_DOUBLE_EQ(jobs.end(1), 16);
}

TEST(ExpectedEnd, OfJobsThatShareTheClusterIsLaterAndTheLongerGetsTheSlotsOfTheOther) {
  Jobs jobs(4);
  jobs.job(1, 10, 10);
  jobs.job(2, 100, 10);
  jobs.run(1, 2, 1);
  jobs.run(2, 2, 3);
  EXPECT_NEAR(jobs.end(1), (100 + 5) / 2.0, 1e-6);
  // Two slots until then, then four: 1,005 s of work.
  EXPECT_NEAR(jobs.end(2), 52.5 + (1005 - 105) / 4.0, 1e-6);
}

TEST(ExpectedEnd, OfAJobThatHasNothingYetIsAfterTheOthers) {
  Jobs jobs(4);
  jobs.job(1, 40, 10);
  jobs.run(1, 4, 1);
  jobs.job(2, 4, 10);
  EXPECT_GT(jobs.end(2), jobs.end(1));
  EXPECT_LT(jobs.end(2), jobs.end(1) + 15);
}

TEST(ExpectedEnd, WhereGoalsDecideJobsHaveWhatTheyNeed) {
  Jobs jobs(4);
  jobs.job(1, 60, 10);
  jobs.run(1, 4, 1);
  jobs.job(2, 15, 10, 60);  // needs 2.5
  const ExpectedEnd goal = jobs.expected(2, kGoals);
  EXPECT_NEAR(goal.needed, 2.5, 1e-6);
  EXPECT_NEAR(goal.slots, 2.5 + 0.75, 1e-6) << "all have as much more";
  EXPECT_LT(in_seconds(*goal.end), 60);
  EXPECT_GT(in_seconds(*goal.end), 40);
  EXPECT_GT(jobs.end(2), 60) << "by shares it has to wait";
}

TEST(ExpectedEnd, OfAGoalThatCannotBeMetIsAfterIt) {
  Jobs jobs(4);
  jobs.job(1, 60, 10, 100);  // 150 s on all four
  EXPECT_GT(jobs.end(1, kGoals), 150);
  EXPECT_DOUBLE_EQ(in_seconds(jobs.expected(1).alone), 150);
  EXPECT_NEAR(jobs.expected(1).needed, 6, 1e-6);
}

TEST(ExpectedEnd, OfAJobThatNeedsAPartOfASlotIsWithOne) {
  Jobs jobs(4);
  jobs.job(1, 30, 10, 100);  // needs 3
  jobs.job(2, 20, 1, 110);   // 0.2
  EXPECT_LT(jobs.end(2, kGoals), 60);
}

TEST(ExpectedEnd, OfAJobThatGivesItsGoalUpIsAfterThatOfOneThatIsKept) {
  Jobs jobs(4);
  jobs.job(1, 60, 10, 100);  // 150 s on all four
  jobs.job(2, 20, 10, 120);
  EXPECT_LE(jobs.end(2, kGoals), 120 + 1e-6);
  EXPECT_GT(jobs.end(1, kGoals), 190);
}

TEST(ExpectedEnd, OfJobsThatGoOneAfterTheOtherIsInTheirOrder) {
  Jobs jobs(4);
  jobs.job(1, 40, 10);
  jobs.run(1, 4, 1);
  jobs.job(2, 4, 10);
  jobs.job(3, 8, 10);
  const Sharing sharing{.order = {JobId(3), JobId(2), JobId(1)}};
  EXPECT_NEAR(jobs.end(3, sharing), (80 + 15) / 4.0, 1e-6);
  EXPECT_NEAR(jobs.end(2, sharing), (80 + 15 + 40 + 15) / 4.0, 1e-6);
  EXPECT_GT(jobs.end(1, sharing), 120);
  EXPECT_NEAR(jobs.expected(1, sharing).slots, 0, 1e-6);
}

TEST(ExpectedEnd, GoesByTheOrderThatASchedulerSays) {
  using Order = std::vector<JobId>;
  const Order by_arrival{JobId(1), JobId(2)}, small_first{JobId(2), JobId(1)};
  for (const auto& [spec, order] : {std::pair<const char*, Order>("fifo", by_arrival),
                                    {"srtf", small_first},
                                    {"fsp", small_first},
                                    {"adaptive", small_first},
                                    {"fair", {}}}) {
    World world(spec);
    world.node(1, "h", "r", 4);
    world.stage(world.job(1), 0, anywhere(20), {.cpu = 1}, 10);
    world.stage(world.job(2), 0, anywhere(2), {.cpu = 1}, 10);
    world.schedule();
    EXPECT_EQ(world.scheduler->sharing(world.state).order, order) << spec;
  }
}

TEST(ExpectedEnd, OfAGoalThatIsNotAtRiskIsInThatOrder) {
  Jobs jobs(4);
  JobInfo& goal = jobs.job(1, 20, 10, 1000);  // 50 s on all four
  jobs.job(2, 8, 10);
  Sharing sharing{.goals = Goals::at_risk, .margin = 0.1, .wait = 10, .order = {JobId(2), JobId(1)}};
  EXPECT_NEAR(jobs.end(2, sharing), (80 + 15) / 4.0, 1e-6);
  goal.deadline = seconds(60);
  EXPECT_GT(jobs.end(2, sharing), 40);
  EXPECT_LE(jobs.end(1, sharing), 60 + 1e-6);
}

TEST(ExpectedEnd, GoesThroughThePhases) {
  Jobs jobs(4);
  JobInfo& job = jobs.job(1, 4, 10);
  jobs.world.stage(job, 1, anywhere(2), {.cpu = 1}, 5, {0});
  EXPECT_NEAR(jobs.end(1), (40 + 15) / 4.0 + (10 + 2.5) / 2.0, 1e-6);
}

TEST(ExpectedEnd, CountsCores) {
  Jobs jobs(1);
  jobs.world.node(9, "big", "r", 7);
  JobInfo& job = jobs.world.job(1);
  jobs.world.stage(job, 0, anywhere(8), {.cpu = 2}, 10);
  EXPECT_DOUBLE_EQ(in_seconds(jobs.expected(1).alone), 20) << "four at a time";
  EXPECT_DOUBLE_EQ(jobs.expected(1).slots, 4);
}

TEST(ExpectedEnd, IsNotKnownBeforeLengthsAre) {
  Jobs jobs(4);
  jobs.job(1, 10, 0);
  jobs.run(1, 3, 1);
  const ExpectedEnd expected = jobs.expected(1);
  EXPECT_FALSE(expected.end);
  EXPECT_EQ(expected.alone, Time(0));
  EXPECT_EQ(expected.slots, 3);
  jobs.job(2, 10, 10);
  EXPECT_NEAR(jobs.end(2), 105 / 2.0, 1e-6) << "half of the slots are not its";
}

TEST(ExpectedEnd, OfAJobWithNothingPlannedIsNow) {
  Jobs jobs(1);
  jobs.world.job(1);
  jobs.world.at(5);
  EXPECT_DOUBLE_EQ(jobs.end(1), 5);
}

TEST(ExpectedEnd, IsFarAwayWithoutAnyNode) {
  Jobs jobs(0);
  jobs.job(1, 10, 10, 100);
  EXPECT_GE(jobs.end(1, kGoals), 1e8);
  EXPECT_GE(jobs.end(1), 1e8);
}

}  // namespace
}  // namespace weft::schedulers::job_ends_rules
