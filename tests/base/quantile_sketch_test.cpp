// Quantiles of sketches against those of sorted lists.
#include "base/quantile_sketch.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace weft {
namespace {

QuantileSketch sketch_of(const std::vector<std::uint64_t>& values) {
  QuantileSketch sketch;
  for (const std::uint64_t value : values) sketch.add(value);
  return sketch;
}

/// Of nearest rank: the smallest that so many percent of all do not exceed.
std::uint64_t exact(std::vector<std::uint64_t> values, unsigned percent) {
  std::sort(values.begin(), values.end());
  std::size_t rank = 1;
  while (rank * 100 < values.size() * percent) ++rank;
  return values.at(rank - 1);
}

void expect_close(const std::vector<std::uint64_t>& values) {
  const QuantileSketch sketch = sketch_of(values);
  for (const unsigned percent : {1u, 5u, 25u, 50u, 75u, 90u, 95u, 99u, 100u}) {
    const auto truth = static_cast<double>(exact(values, percent));
    EXPECT_NEAR(static_cast<double>(sketch.quantile(percent)), truth, truth / 64) << percent << " % of " << values.size();
  }
  EXPECT_EQ(sketch.distribution().min, *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(sketch.distribution().max, *std::max_element(values.begin(), values.end()));
  EXPECT_EQ(sketch.count(), values.size());
}

TEST(QuantileSketch, IsAsCloseToASortedListAsItSays) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> seconds(0, 1.5);
  const std::vector<std::function<std::uint64_t()>> kinds{
      [&] { return random(); },                                           // up to 2^64
      [&] { return random() >> (random() % 64); },                        // of all magnitudes
      [&] { return static_cast<std::uint64_t>(seconds(random) * 1e9); },  // durations of tasks
      [&] { return random() % 100; },                                     // small and often the same
      [&] { return std::uint64_t{1} << (random() % 64); },                // the first of buckets
      [&] { return (std::uint64_t{1} << (1 + random() % 63)) - 1; },      // the last of buckets
  };
  for (const auto& draw : kinds) {
    for (const std::size_t size : {1u, 2u, 3u, 19u, 20u, 21u, 1000u, 30'000u}) {
      std::vector<std::uint64_t> values(size);
      std::generate(values.begin(), values.end(), draw);
      expect_close(values);
    }
  }
}

TEST(QuantileSketch, IsExactWhereNumbersAreSmallFewOrTheSame) {
  EXPECT_EQ(QuantileSketch().distribution(), Distribution());
  EXPECT_EQ(sketch_of({123'456'789}).distribution(),
            (Distribution{123'456'789, 123'456'789, 123'456'789, 123'456'789, 123'456'789}));
  EXPECT_EQ(sketch_of({63, 1, 2, 3}).distribution(), (Distribution{69, 1, 2, 63, 63}));
  EXPECT_EQ(sketch_of(std::vector<std::uint64_t>(1000, 1'000'003)).distribution(),
            (Distribution{1'000'003'000, 1'000'003, 1'000'003, 1'000'003, 1'000'003}));
  std::vector<std::uint64_t> twenty;
  for (std::uint64_t i = 20; i > 0; --i) twenty.push_back(i);
  EXPECT_EQ(sketch_of(twenty).distribution(), (Distribution{210, 1, 10, 19, 20})) << "the 10th and the 19th of 20";
}

TEST(QuantileSketch, StaysAtTheLargestNumberThereIs) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const Distribution found = sketch_of({kMost, 3, kMost, 0}).distribution();
  EXPECT_EQ(found.total, kMost);
  EXPECT_EQ(found.max, kMost);
  EXPECT_EQ(found.median, 3u);
}

TEST(QuantileSketch, DoesNotDependOnTheOrder) {
  std::mt19937_64 random(8);
  std::vector<std::uint64_t> values(5000);
  for (auto& value : values) value = random() >> (random() % 40);
  const Distribution first = sketch_of(values).distribution();
  std::shuffle(values.begin(), values.end(), random);
  EXPECT_EQ(sketch_of(values).distribution(), first);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(sketch_of(values).distribution(), first);
}

}  // namespace
}  // namespace weft
