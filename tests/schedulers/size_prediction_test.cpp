// SCache's predictions of partition sizes: errors on made-up shuffles like those of its figures (SC-8, SC-9).
#include "schedulers/prediction/size_prediction.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "benchmarks/papers/made_shuffles.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers {
namespace {

using papers::by_regression;
using papers::by_sampling;
using papers::hashed;
using papers::ranged;
using Shuffle = papers::MadeShuffle;

TEST(SizePrediction, OfHashedKeysIsWithin15PercentByEitherMeans) {  // SC-9
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const Shuffle shuffle = hashed(random);
    const std::vector<double> truth = shuffle.totals();
    EXPECT_LT(mean_relative_error(by_regression(shuffle, random), truth), 0.15) << "seed " << seed;
    EXPECT_LT(mean_relative_error(by_sampling(shuffle, random), truth), 0.15) << "seed " << seed;
  }
}

TEST(SizePrediction, OfRangesBySamplingIsWithin10PercentAndTenTimesBetterThanRegression) {  // SC-8
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const Shuffle shuffle = ranged(random);
    const std::vector<double> truth = shuffle.totals();
    const double sampling = mean_relative_error(by_sampling(shuffle, random), truth);
    const double regression = mean_relative_error(by_regression(shuffle, random), truth);
    EXPECT_LT(sampling, 0.10) << "seed " << seed;
    EXPECT_GT(regression, 10 * sampling) << "seed " << seed;
  }
}

TEST(SizePrediction, FindsALineExactly) {
  SizeRegression regression(2);
  for (const std::uint64_t x : {100u, 250u, 900u})
    regression.add(static_cast<double>(x), std::vector<std::uint64_t>{7 + 3 * x, 500 - x / 2});
  EXPECT_NEAR(regression.predict(0, 1000), 3007, 1e-6);
  EXPECT_NEAR(regression.predict(1, 400), 300, 1e-6);
  EXPECT_EQ(regression.predict(1, 5000), 0) << "never negative";
}

TEST(SizePrediction, OfEqualMapsIsInProportion) {
  SizeRegression regression(1);
  EXPECT_EQ(regression.predict(0, 10), 0) << "nothing was seen";
  for (int i = 0; i < 5; ++i) regression.add(64, std::vector<std::uint64_t>{static_cast<std::uint64_t>(30 + i)});
  EXPECT_NEAR(regression.predict(0, 64), 32, 1e-9);
  EXPECT_NEAR(regression.predict(0, 2), 1, 1e-9) << "the short last split";
  SizeRegression blind(1);  // of maps whose input is not known
  blind.add(0, std::vector<std::uint64_t>{8});
  EXPECT_EQ(blind.predict(0, 0), 8);
}

TEST(SizePrediction, AReservoirChoosesUniformly) {
  std::vector<int> counts(50);
  for (std::uint64_t seed = 1; seed <= 4000; ++seed) {
    Reservoir<int> reservoir(5, Random(seed));
    for (int i = 0; i < 50; ++i) reservoir.add(i);
    ASSERT_EQ(reservoir.chosen().size(), 5u);
    for (int i : reservoir.chosen()) ++counts[static_cast<std::size_t>(i)];
  }
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_NEAR(counts[i], 400, 5 * std::sqrt(400 * 0.9)) << i;
}

TEST(SizePrediction, OfAStageAddsWhatItsUnfinishedMapsWillWrite) {
  World world;
  world.node(1, "a", "r", 4);
  JobInfo& job = world.job(1);
  StageInfo& maps = world.stage(job, 0, anywhere(4));
  maps.output = ShuffleSizes(4, 2);
  EXPECT_FALSE(predict_partitions(maps)) << "nothing was observed";
  for (std::uint32_t i = 0; i < 4; ++i) maps.tasks[i].input_bytes = 100 * (i + 1);
  maps.output.add(0, NodeId(1), {10, 1});
  maps.output.add(1, NodeId(1), {20, 2});
  const auto told = predict_partitions(maps);
  ASSERT_TRUE(told);
  EXPECT_NEAR((*told)[0], 100, 1e-9);
  EXPECT_NEAR((*told)[1], 10, 1e-9);
  maps.tasks[2].input_bytes = maps.tasks[3].input_bytes = 0;  // they read a shuffle: as much as those before in the mean
  EXPECT_NEAR((*predict_partitions(maps))[0], 60, 1e-9);
  maps.output.add(2, NodeId(1), {0, 0});
  maps.output.add(3, NodeId(1), {0, 7});
  EXPECT_EQ(*predict_partitions(maps), (std::vector<double>{30, 10})) << "nothing is left to predict";
}

TEST(SizePrediction, OfAStageGoesByTheSampleOfItsInputWhereThereIsOne) {
  World world;
  world.node(1, "a", "r", 4);
  JobInfo& job = world.job(1);
  StageInfo& maps = world.stage(job, 0, anywhere(4));
  maps.output = ShuffleSizes(4, 4);
  for (auto& task : maps.tasks) task.input_bytes = 100;
  maps.output.add(0, NodeId(1), {100, 0, 0, 0});  // sorted input: one map tells nothing of the others
  EXPECT_NEAR((*predict_partitions(maps))[0], 400, 1e-9);
  maps.sample_histogram = {1, 1, 1, 1};
  EXPECT_EQ(predict_partitions(maps), (std::vector<double>{100, 100, 100, 100}));
  maps.sample_histogram = {1, 3, 4, 0};
  const std::vector<double> told = predict_partitions(maps).value();
  EXPECT_NEAR(told[0], 100, 1e-9) << "no less than what there is";
  EXPECT_NEAR(told[1], 150, 1e-9);
  EXPECT_NEAR(told[2], 200, 1e-9);
  EXPECT_NEAR(told[3], 0, 1e-9);
  maps.sample_histogram = {0, 0, 0, 0};
  EXPECT_NEAR((*predict_partitions(maps))[0], 100, 1e-9) << "a sample of nothing";
}

TEST(SizePrediction, OfAHugeShuffleLooksAtSomeMapsOnly) {
  World world;
  JobInfo& job = world.job(1);
  constexpr std::uint32_t kMany = 400, kWide = 100'000;
  StageInfo& maps = world.stage(job, 0, anywhere(kMany + 1));
  maps.output = ShuffleSizes(kMany + 1, kWide);
  for (std::uint32_t i = 0; i <= kMany; ++i) maps.tasks[i].input_bytes = 1000;
  const std::vector<std::uint64_t> row(kWide, 4);
  for (std::uint32_t i = 0; i < kMany; ++i) maps.output.add(i, NodeId(1), row);
  const auto told = predict_partitions(maps);
  ASSERT_TRUE(told);
  EXPECT_NEAR((*told)[kWide - 1], 4 * (kMany + 1), 1e-6);
}

}  // namespace
}  // namespace weft::schedulers
