// The model of a stage: what it says after which tasks.
#include "engine/master/profiles/stage_history.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "tests/engine/master/profiles/samples.hpp"

namespace weft::profiles {
namespace {

using namespace test;

double predicted(const StageHistory& stage, double bytes) { return in_seconds(stage.profile(bytes)->duration()); }

/// Durations of `constant` seconds and one more for each `per` bytes, of tasks that read about `bytes`.
void run_line(StageHistory& stage, std::uint64_t job, double constant, double per, double bytes, int tasks = 10) {
  for (int i = 0; i < tasks; ++i) {
    const double size = bytes * (1 + 0.02 * (i - tasks / 2));
    stage.add(JobId(job), task(constant + size / per, size), std::nullopt);
  }
}

TEST(StageHistories, WithoutTasksSayNothing) {
  EXPECT_FALSE(StageHistory().profile(10));
  EXPECT_FALSE(StageHistory().quantile(0.5));
  EXPECT_EQ(StageHistory().written(10), 0);
}

TEST(StageHistories, PredictTheSameSizeByItsMean) {
  StageHistory stage;
  for (const double seconds : {1.0, 2.0, 3.0}) stage.add(JobId(1), task(seconds, 1000, 500), std::nullopt);
  const auto profile = stage.profile(1000);
  ASSERT_TRUE(profile);
  EXPECT_NEAR(in_seconds(profile->duration()), 2, 1e-6);
  EXPECT_EQ(profile->tasks, 3);
  EXPECT_NEAR(profile->deviation, std::sqrt(2.0 / 3) / 2, 1e-6);
  EXPECT_EQ(profile->output_ratio, 0.5);
  EXPECT_EQ(stage.written(3000), 1500);
}

TEST(StageHistories, PredictTwiceTheSizeWithinAQuarterFromOneSize) {
  for (const double constant : {0.0, 0.01, 0.02}) {
    StageHistory stage;
    run_line(stage, 1, constant, 1e6, 1e5);
    const double truth = constant + 0.2;
    EXPECT_NEAR(predicted(stage, 2e5), truth, 0.1 * truth) << constant;
  }
}

TEST(StageHistories, KnowWhatLaunchesTakeFromOneSizeWhereItWasMeasured) {
  StageHistory stage;
  for (int i = 0; i < 5; ++i) {
    TaskSample one = task(0.5, 1e5);
    one.run = seconds_of(0.1);
    stage.add(JobId(1), one, std::nullopt);
  }
  EXPECT_NEAR(predicted(stage, 2e5), 0.6, 0.01);
}

TEST(StageHistories, LearnTheConstantPartWhereSizesDiffer) {
  StageHistory stage;
  run_line(stage, 1, 2, 1e6, 1e6);
  run_line(stage, 1, 2, 1e6, 4e6);
  EXPECT_NEAR(predicted(stage, 8e6), 10, 0.5);
  EXPECT_NEAR(predicted(stage, 1e6), 3, 0.1);
  EXPECT_NEAR(predicted(stage, 0), 2, 0.4);
}

TEST(StageHistories, GoByTasksOfAboutThatSizeFirst) {
  StageHistory stage;
  for (const auto& [bytes, seconds] : {std::pair(1e3, 1.0), std::pair(1e6, 4.0), std::pair(1e9, 5.0)})
    for (int i = 0; i < 10; ++i) stage.add(JobId(1), task(seconds, bytes), std::nullopt);
  EXPECT_NEAR(predicted(stage, 1e3), 1, 0.3);
  EXPECT_NEAR(predicted(stage, 1e6), 4, 0.3);
  EXPECT_NEAR(predicted(stage, 1e9), 5, 0.3);
}

TEST(StageHistories, KnowTheMostMemoryThatATaskHeldAndForgetItSlowly) {
  StageHistory stage;
  for (const double memory : {64.0, 10.0}) {
    TaskSample one = task(1, 1000);
    one.memory = memory;
    stage.add(JobId(1), one, std::nullopt);
  }
  EXPECT_EQ(stage.profile(1000)->use.memory, 64);
  stage.add(JobId(2), task(1, 1000), std::nullopt);
  EXPECT_NEAR(stage.profile(1000)->use.memory, 0.9 * 64, 1e-9);
}

TEST(StageHistories, KnowHowDurationsAreSpread) {
  StageHistory stage;
  for (int i = 0; i < 20; ++i) stage.add(JobId(1), task(i < 18 ? 1 : 128, i % 2 == 0 ? 1e3 : 1e6), std::nullopt);
  EXPECT_NEAR(in_seconds(*stage.quantile(0.5)), 1, 1e-6);
  EXPECT_NEAR(in_seconds(*stage.quantile(0.9)), 1, 1e-6);
  EXPECT_NEAR(in_seconds(*stage.quantile(0.95)), 128, 1e-6);
}

TEST(StageHistories, OfTasksThatReadNothing) {
  StageHistory stage;
  for (int i = 0; i < 5; ++i) stage.add(JobId(1), task(3, 0, 70), std::nullopt);
  EXPECT_NEAR(predicted(stage, 0), 3, 1e-6);
  EXPECT_NEAR(predicted(stage, 1e9), 3, 1e-6) << "nothing says that size matters";
  EXPECT_EQ(stage.written(0), 70);
}

TEST(StageHistories, ForgetHalfWithEachRunAndNothingWithinOne) {
  StageHistory stage;
  for (int i = 0; i < 4; ++i) stage.add(JobId(1), task(1, 100), std::nullopt);
  for (int i = 0; i < 4; ++i) stage.add(JobId(2), task(4, 100), std::nullopt);
  EXPECT_EQ(stage.runs, 2u);
  EXPECT_NEAR(stage.tasks(), 6, 1e-9);
  EXPECT_NEAR(predicted(stage, 100), (2 * 1 + 4 * 4) / 6.0, 1e-6);
  stage.add(JobId(1), task(4, 100), std::nullopt);
  EXPECT_EQ(stage.runs, 2u) << "an older run goes on beside the latest";
  for (std::uint64_t job = 3; job < 12; ++job)
    for (int i = 0; i < 4; ++i) stage.add(JobId(job), task(7, 1e6), std::nullopt);
  EXPECT_EQ(stage.classes.size(), 1u) << "a size that no longer comes is dropped";
  EXPECT_NEAR(stage.tasks(), 8, 0.1);
}

TEST(StageHistories, KnowHowWrongTheyWere) {
  StageHistory stage;
  stage.add(JobId(1), task(1, 100), std::nullopt);
  EXPECT_EQ(stage.mean_error(), 0) << "nothing was predicted";
  for (int i = 0; i < 4; ++i) stage.add(JobId(2), task(2, 100), seconds_of(1));
  EXPECT_NEAR(stage.mean_error(), 0.5, 1e-9);
  EXPECT_NEAR(stage.profile(100)->error, 0.5, 1e-9);
  for (int i = 0; i < 4; ++i) stage.add(JobId(3), task(2, 100), seconds_of(2));
  EXPECT_NEAR(stage.mean_error(), 0.5 / 3, 1e-9) << "half of the last run and the whole of this";
}

TEST(StageHistories, TellNodesAndPlacesApart) {
  StageHistory stage;
  for (int i = 0; i < 20; ++i) {
    TaskSample near = task(2, 1000), far = task(3, 1000), quick = task(1, 1000);
    near.placed = far.placed = true;
    far.local = false;
    quick.kind = "accelerator=gpu";
    stage.add(JobId(1), near, std::nullopt);
    stage.add(JobId(1), far, std::nullopt);
    stage.add(JobId(1), quick, std::nullopt);
  }
  const auto profile = stage.profile(1000);
  EXPECT_NEAR(profile->remote, 1.5, 0.1);
  ASSERT_EQ(profile->kinds.size(), 2u);
  EXPECT_NEAR(profile->kinds.at("accelerator=gpu"), 0.5, 0.05);
  EXPECT_NEAR(profile->kinds.at(""), 1.25, 0.05) << "nodes without attributes are not the mean of all";
  EXPECT_TRUE([] {
    StageHistory alike;
    alike.add(JobId(1), task(2, 1000), std::nullopt);
    alike.add(JobId(1), task(2, 1000), std::nullopt);
    return alike.profile(1000)->kinds.empty();
  }());
}

TEST(StageHistories, TellUseByPhase) {
  StageHistory stage;
  stage.is.reads_shuffle = true;
  TaskSample one = task(4, 1000, 300);
  one.cpu = seconds_of(1.5);
  one.shuffle = seconds_of(1);
  one.memory = 64;
  stage.add(JobId(1), one, std::nullopt);
  const auto profile = stage.profile(1000);
  EXPECT_NEAR(profile->use.cpu, 0.5, 1e-9) << "of the three seconds that are not spent fetching";
  EXPECT_EQ(profile->use.memory, 64);
  EXPECT_NEAR(profile->use.disk_write, 100, 1e-9);
  EXPECT_EQ(profile->use.disk_read, 0);
  EXPECT_NEAR(profile->shuffle_use.network_in, 1000, 1e-9);
  stage.is.reads_shuffle = false;
  EXPECT_NEAR(stage.profile(1000)->use.disk_read, 1000 / 3.0, 1e-9);
}

TEST(StageHistories, StayWithinTheirBoundsWhateverIsAdded) {
  Random random(5);
  StageHistory stage;
  for (int i = 0; i < 3000; ++i) {
    TaskSample one =
        task(random.uniform() * std::exp2(random.uniform() * 40 - 20), std::exp2(random.uniform() * 60), random.uniform());
    one.kind = "k" + std::to_string(random.below(30));
    stage.add(JobId(1 + random.below(40)), one, seconds_of(random.uniform()));
    const auto profile = stage.profile(std::exp2(random.uniform() * 60));
    ASSERT_TRUE(profile && schedulers::valid(*profile)) << i;
  }
  EXPECT_LE(stage.classes.size(), 8u);
  EXPECT_LE(stage.kinds.size(), 8u);
  for (const SizeClass& one : stage.classes) EXPECT_LE(one.histogram.size(), 24u);
  EXPECT_LE(*stage.quantile(0.5), *stage.quantile(0.9));
}

}  // namespace
}  // namespace weft::profiles
