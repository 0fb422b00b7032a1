// Shuffles of our own making, like those that SCache's predictions were shown on, and what is predicted of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "schedulers/prediction/size_prediction.hpp"

namespace weft::papers {

constexpr std::uint32_t kMadeMaps = 100, kMadeReduces = 20,
                        kSeenMaps = 10;  // kSeenMaps: maps that have ended when sizes are predicted

/// What each map reads, and writes for each reduce.
struct MadeShuffle {
  std::vector<double> inputs;
  std::vector<std::vector<std::uint64_t>> sizes;

  std::vector<double> totals() const {
    std::vector<double> sums(kMadeReduces);
    for (const auto& row : sizes)
      for (std::uint32_t i = 0; i < kMadeReduces; ++i) sums[i] += static_cast<double>(row[i]);
    return sums;
  }
};

/// The maps that finish first are any ten of them.
inline std::vector<double> by_regression(const MadeShuffle& shuffle, Random& random) {
  std::vector<std::uint32_t> order(kMadeMaps);
  std::iota(order.begin(), order.end(), 0u);
  for (std::uint32_t i = 0; i < kSeenMaps; ++i) std::swap(order[i], order[i + random.below(kMadeMaps - i)]);
  schedulers::SizeRegression regression(kMadeReduces);
  std::vector<double> told(kMadeReduces);
  for (std::uint32_t i = 0; i < kSeenMaps; ++i) {
    regression.add(shuffle.inputs[order[i]], shuffle.sizes[order[i]]);
    for (std::uint32_t r = 0; r < kMadeReduces; ++r) told[r] += static_cast<double>(shuffle.sizes[order[i]][r]);
  }
  for (std::uint32_t i = kSeenMaps; i < kMadeMaps; ++i)
    for (std::uint32_t r = 0; r < kMadeReduces; ++r) told[r] += regression.predict(r, shuffle.inputs[order[i]]);
  return told;
}

inline std::vector<double> by_sampling(const MadeShuffle& shuffle, Random& random) {
  schedulers::SampledSizes sampled(kMadeReduces);
  for (std::uint32_t map = 0; map < kMadeMaps; ++map) {
    schedulers::Reservoir<std::uint32_t> reservoir(sampled.wanted(), Random(random()));
    for (std::uint32_t r = 0; r < kMadeReduces; ++r)
      for (std::uint64_t record = 0; record < shuffle.sizes[map][r] / 100; ++record) reservoir.add(r);
    const auto& row = shuffle.sizes[map];
    sampled.add(static_cast<double>(std::accumulate(row.begin(), row.end(), std::uint64_t{0})), reservoir.chosen());
  }
  std::vector<double> told(kMadeReduces);
  for (std::uint32_t r = 0; r < kMadeReduces; ++r) told[r] = sampled.predict(r);
  return told;
}

/// Keys by a hash: every map spreads its records alike, reduces differ in how many keys they have.
inline MadeShuffle hashed(Random& random) {
  MadeShuffle shuffle;
  std::vector<double> shares(kMadeReduces);
  for (double& share : shares) share = 0.3 + random.uniform();
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (std::uint32_t map = 0; map < kMadeMaps; ++map) {
    const auto records = 2'000 + random.below(6'000);
    shuffle.inputs.push_back(static_cast<double>(records) * 120 + 4'000);
    auto& row = shuffle.sizes.emplace_back(kMadeReduces);
    for (std::uint64_t record = 0; record < records; ++record) {
      double at = random.uniform() * all;
      std::uint32_t r = 0;
      while (r + 1 < kMadeReduces && at >= shares[r]) at -= shares[r++];
      row[r] += 100;
    }
  }
  return shuffle;
}

/// Keys by ranges of input that is nearly in order: a reduce gets most of what it gets from few maps.
inline MadeShuffle ranged(Random& random) {
  MadeShuffle shuffle;
  for (std::uint32_t map = 0; map < kMadeMaps; ++map) {
    const auto records = 1'000 + random.below(4'000);
    shuffle.inputs.push_back(static_cast<double>(records) * 120);
    auto& row = shuffle.sizes.emplace_back(kMadeReduces);
    const double centre = (map + 0.5) / kMadeMaps;
    for (std::uint64_t record = 0; record < records; ++record) {
      const double key = centre + (random.uniform() - 0.5) * 0.04;
      row[static_cast<std::uint32_t>(std::clamp(key, 0.0, 0.999) * kMadeReduces)] += 100;
    }
  }
  return shuffle;
}

}  // namespace weft::papers
