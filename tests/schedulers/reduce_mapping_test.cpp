// The heuristic MinHeap: balance before and after its swaps, against the best there is, and what it leaves where it lies.
#include "schedulers/parts/reduce_mapping.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace weft::schedulers {
namespace {

std::vector<double> loads(const ReduceMapping& mapping, std::span<const double> slots, std::span<const SizedReduce> reduces) {
  std::vector<double> loads(slots.size());
  for (std::size_t i = 0; i < reduces.size(); ++i) loads[mapping.node[i]] += reduces[i].size / slots[mapping.node[i]];
  return loads;
}

double largest(const std::vector<double>& loads) { return *std::max_element(loads.begin(), loads.end()); }

/// The least that the fullest node can have.
double optimum(std::size_t nodes, std::span<const SizedReduce> reduces) {
  std::vector<double> loads(nodes);
  double best = 1e300;
  const auto place = [&](auto&& self, std::size_t next) -> void {
    if (next == reduces.size()) {
      best = std::min(best, largest(loads));
      return;
    }
    for (double& load : loads) {
      load += reduces[next].size;
      if (load < best) self(self, next + 1);
      load -= reduces[next].size;
    }
  };
  place(place, 0);
  return best;
}

std::vector<SizedReduce> some_reduces(Random& random, std::size_t count, std::size_t nodes) {
  std::vector<SizedReduce> reduces(count);
  for (SizedReduce& reduce : reduces) {
    reduce.size = random.chance(0.1) ? 0 : std::exp(4 * random.uniform());
    reduce.share = random.uniform();
    if (random.chance(0.9)) reduce.producer = random.below(nodes);
  }
  return reduces;
}

TEST(ReduceMapping, IsWithinTheBoundOfTheLargestFirstRuleAndATenthMoreAfterSwaps) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Random random(seed);
    const std::size_t nodes = 2 + random.below(2);
    const auto reduces = some_reduces(random, 1 + random.below(9), nodes);
    const std::vector<double> slots(nodes, 1);
    const ReduceMapping mapping = map_reduces(slots, reduces, 0.01);
    const double bound = (4.0 / 3 - 1.0 / (3 * static_cast<double>(nodes))) * optimum(nodes, reduces);
    EXPECT_LE(mapping.largest_before, bound * (1 + 1e-9)) << "seed " << seed;
    EXPECT_LE(mapping.largest, 1.1 * bound * (1 + 1e-9)) << "seed " << seed;
  }
}

TEST(ReduceMapping, SwapsNeverWorsenBalanceByMoreThanATenth) {  // SC-12
  std::size_t swapped = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    Random random(seed);
    const std::size_t nodes = 1 + random.below(12);
    const auto reduces = some_reduces(random, random.below(120), nodes);
    std::vector<double> slots(nodes);
    for (double& slot : slots) slot = 1 + static_cast<double>(random.below(4));
    const ReduceMapping mapping = map_reduces(slots, reduces, random.uniform() / 10);
    ASSERT_EQ(mapping.node.size(), reduces.size());
    for (std::size_t node : mapping.node) ASSERT_LT(node, nodes) << "seed " << seed;
    const double most = largest(loads(mapping, slots, reduces));
    EXPECT_NEAR(most, mapping.largest, 1e-6 * (1 + most)) << "seed " << seed;
    EXPECT_LE(most, 1.1 * mapping.largest_before * (1 + 1e-9)) << "seed " << seed;
    for (std::size_t i = 0; i < reduces.size(); ++i) swapped += reduces[i].producer == mapping.node[i] ? 1 : 0;
  }
  EXPECT_GT(swapped, 10'000u) << "so that there was something to see";
}

TEST(ReduceMapping, WithoutAnyShareItIsTheLargestFirst) {
  const std::vector<double> slots(2, 1);
  std::vector<SizedReduce> reduces;
  for (double size : {3, 9, 5, 4}) reduces.push_back({size, 0, std::nullopt});
  EXPECT_EQ(map_reduces(slots, reduces, 0.1).node, (std::vector<std::size_t>{0, 0, 1, 1}));  // 9+3, 5+4
}

TEST(ReduceMapping, WhatIsBroughtAlreadyCountsAsSize) {
  const std::vector<double> slots(2, 1);
  std::vector<SizedReduce> reduces;
  for (double size : {1, 5, 5}) reduces.push_back({size, 0, std::nullopt});
  EXPECT_EQ(map_reduces(slots, reduces, 0.1).node, (std::vector<std::size_t>{0, 0, 1}));  // 5 + 1, 5
  const std::vector<EarlierPlace> earlier{{10, std::nullopt}, {0, std::nullopt}, {0, std::nullopt}};
  EXPECT_EQ(map_reduces(slots, reduces, earlier, 0.1).node, (std::vector<std::size_t>{0, 1, 1}));  // 11, 5 + 5
}

TEST(ReduceMapping, NodesTakeAsTheirSlotsAllow) {
  const std::vector<double> slots{3, 1};
  const std::vector<SizedReduce> reduces(8, {1, 0, std::nullopt});
  const ReduceMapping mapping = map_reduces(slots, reduces, 0.1);
  EXPECT_EQ(std::count(mapping.node.begin(), mapping.node.end(), 0u), 6);
}

TEST(ReduceMapping, EmptyReducesAreSpreadToo) {
  const std::vector<double> slots(4, 1);
  const ReduceMapping mapping = map_reduces(slots, std::vector<SizedReduce>(8), 0.1);
  for (std::size_t node = 0; node < 4; ++node) EXPECT_EQ(std::count(mapping.node.begin(), mapping.node.end(), node), 2);
}

TEST(ReduceMapping, KeepsReducesWithTheirOneProducer) {  // SC-4: 93 % of a reduce's input from one map
  constexpr std::size_t kNodes = 8, kReduces = 160;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    const std::vector<double> slots(kNodes, 2);
    std::vector<SizedReduce> reduces(kReduces);
    for (std::size_t i = 0; i < kReduces; ++i) reduces[i] = {100 + random.uniform(), 0.93, i * kNodes / kReduces};
    const ReduceMapping mapping = map_reduces(slots, reduces, 1.0 / kReduces);
    std::size_t at_home = 0;
    for (std::size_t i = 0; i < kReduces; ++i) at_home += mapping.node[i] == *reduces[i].producer ? 1 : 0;
    EXPECT_GE(at_home, kReduces * 95 / 100) << "seed " << seed;
  }
}

TEST(ReduceMapping, WithMoreLeewayAllStayWithProducersThatDifferInWhatTheyWrote) {
  const std::vector<double> slots(4, 2);
  std::vector<SizedReduce> reduces;  // 12, 10, 10 and 8 of them
  for (std::size_t node : {0u, 0u, 1u, 2u, 3u})
    for (int i = 0; i < (node == 0 ? 6 : node == 3 ? 8 : 10); ++i) reduces.push_back({100, 0.93, node});
  const auto at_home = [&](double most_worse) {
    const ReduceMapping mapping = map_reduces(slots, reduces, 1.0 / 40, most_worse);
    EXPECT_LE(mapping.largest, (1 + most_worse) * mapping.largest_before);
    std::size_t count = 0;
    for (std::size_t i = 0; i < reduces.size(); ++i) count += mapping.node[i] == *reduces[i].producer ? 1 : 0;
    return count;
  };
  EXPECT_LT(at_home(0.1), 40u);
  EXPECT_EQ(at_home(0.5), 40u);
}

TEST(ReduceMapping, WhatWasBroughtSomewhereOutweighsALesserShare) {
  const std::vector<double> slots(2, 1);
  const std::vector<SizedReduce> reduces(2, {10, 0.4, 0});
  const std::vector<EarlierPlace> earlier{{0, std::nullopt}, {10, 1}};
  const ReduceMapping mapping = map_reduces(slots, reduces, earlier, 0.01);
  EXPECT_EQ(mapping.node, (std::vector<std::size_t>{0, 1}));
  const std::vector<EarlierPlace> little{{10, 1}, {2, 1}};  // 2 of 12 are less than 0.4
  EXPECT_EQ(map_reduces(slots, reduces, little, 0.01).node, (std::vector<std::size_t>{1, 0}));
}

}  // namespace
}  // namespace weft::schedulers
