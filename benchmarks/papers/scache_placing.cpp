// SCache's decisions, without a cluster: sizes predicted, and where reduces go. Fu et al., SCache.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "base/random.hpp"
#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/made_shuffles.hpp"
#include "benchmarks/papers/page.hpp"
#include "schedulers/parts/reduce_mapping.hpp"

namespace weft::papers {
namespace {

using schedulers::map_reduces;
using schedulers::SizedReduce;

const char* const kScache = "SCache (Fu et al.)";

// ---- SC-4 -------------------------------------------------------------------------------------------------------------

/// Bytes over the network, of what moves when every reduce is where 93 % of its input is.
double second_shuffle(std::uint64_t seed, bool producers_known) {
  constexpr std::size_t kNodes = 8, kCount = 160;
  Random random(seed, 4);
  std::vector<SizedReduce> reduces(kCount), known;
  for (std::size_t i = 0; i < kCount; ++i) reduces[i] = {100 + random.uniform(), 0.93, i * kNodes / kCount};
  known = reduces;
  if (!producers_known) {
    for (SizedReduce& one : known) one.share = 0, one.producer.reset();
  }
  const auto mapping = map_reduces(std::vector<double>(kNodes, 2), known, 1.0 / kCount);
  double moved = 0, least = 0;
  for (std::size_t i = 0; i < kCount; ++i) {
    moved += reduces[i].size * (mapping.node[i] == *reduces[i].producer ? 0.07 : 1);
    least += reduces[i].size * 0.07;
  }
  return moved / least;
}

Findings kept_with_producers(const Context& context) {
  const auto e = context.over_seeds([](std::uint64_t seed) {
    return std::vector<double>{second_shuffle(seed, true) - 1, second_shuffle(seed, false)};
  });
  return {{{"bytes moved, over the least that can be", "the same as without placing ahead", e[0], Unit::change, {-0.05, 0.05}},
           {"times as much where nothing is known of producers", "none", e[1], Unit::number, {}}}};
}

// ---- SC-6, SC-7 -------------------------------------------------------------------------------------------------------

/// The stage of one job: what its reduces compute for, and the part of that which their shuffle takes in addition.
struct ReduceStage {
  std::vector<double> seconds;
  double shuffle = 0;
};

ReduceStage drawn_stage(Random& random, const std::vector<std::vector<double>>& shares) {
  ReduceStage stage;
  const double at = random.uniform() * static_cast<double>(shares.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  stage.shuffle = shares[below][1] + (shares[below + 1][1] - shares[below][1]) * (at - static_cast<double>(below));
  const std::size_t count = 20 + random.below(180);
  for (std::size_t i = 0; i < count; ++i) {
    double normal = -6;
    for (int k = 0; k < 12; ++k) normal += random.uniform();
    stage.seconds.push_back(100 * std::exp(0.2 * normal));
  }
  return stage;
}

double fullest(const std::vector<double>& hosts) { return *std::max_element(hosts.begin(), hosts.end()); }

/// Each task in turn to the host that is free first.
double listed(const ReduceStage& stage, std::size_t hosts, double factor) {
  std::vector<double> until(hosts);
  for (const double seconds : stage.seconds) *std::min_element(until.begin(), until.end()) += seconds * factor;
  return fullest(until);
}

double in_turn(const ReduceStage& stage, std::size_t hosts) {
  std::vector<double> until(hosts);
  for (std::size_t i = 0; i < stage.seconds.size(); ++i) until[i % hosts] += stage.seconds[i];
  return fullest(until);
}

/// Placed by the heuristic MinHeap by sizes that are a few percent off.
double placed_ahead(const ReduceStage& stage, std::size_t hosts, Random& random) {
  std::vector<SizedReduce> reduces;
  for (const double seconds : stage.seconds) reduces.push_back({seconds * (0.96 + 0.08 * random.uniform()), 0, {}});
  const auto mapping = map_reduces(std::vector<double>(hosts, 1), reduces, 0);
  std::vector<double> until(hosts);
  for (std::size_t i = 0; i < reduces.size(); ++i) until[mapping.node[i]] += stage.seconds[i];
  return fullest(until);
}

constexpr std::size_t kRounds = 10;

/// Percent of stage time gained: random, first come, MinHeap with one round, then with two, …
std::vector<double> gains(std::uint64_t seed, std::size_t count) {
  Random random(seed, 6);
  const auto shares = published("scache_shuffle_share.csv");
  std::vector<double> sums(3 * kRounds);
  for (std::size_t job = 0; job < count; ++job) {
    const ReduceStage stage = drawn_stage(random, shares);
    for (std::size_t rounds = 1; rounds <= kRounds; ++rounds) {
      const std::size_t hosts = stage.seconds.size() / rounds;
      const double base = listed(stage, hosts, 1 + stage.shuffle);
      const std::array<double, 3> times{in_turn(stage, hosts), listed(stage, hosts, 1), placed_ahead(stage, hosts, random)};
      for (std::size_t way = 0; way < 3; ++way)
        sums[3 * (rounds - 1) + way] += 100 * (1 - times[way] / base) / static_cast<double>(count);
    }
  }
  return sums;
}

Findings mappings(const Context& context) {
  const std::size_t count = context.quick ? 60 : 400;
  const auto measured = context.over_seeds([&](std::uint64_t seed) {
    std::vector<double> values = gains(seed, count);
    for (std::size_t way = 0; way < 3; ++way) {
      double sum = 0;
      for (std::size_t round = 0; round < kRounds; ++round) sum += values[3 * round + way] / kRounds;
      values.push_back(sum);
    }
    return values;
  });
  const auto theirs = published("scache_mapping.csv");
  const std::array<const char*, 3> names{"in turn", "first come", "MinHeap"};
  std::vector<Curve> curves;
  for (std::size_t way = 0; way < 3; ++way) {
    Curve from{fmt::format("{} (SCache)", names[way]), {}, true}, ours{fmt::format("{} (weft)", names[way]), {}, false};
    for (std::size_t round = 0; round < kRounds; ++round) {
      from.points.push_back({theirs[round][0], theirs[round][way + 1]});
      ours.points.push_back({theirs[round][0], measured[3 * round + way].mean});
    }
    curves.push_back(from);
    curves.push_back(ours);
  }
  double ordered = 0;
  for (std::size_t round = 1; round < kRounds; ++round) {
    const auto* at = &measured[3 * round];
    ordered += at[2].mean > at[1].mean && at[1].mean > 0 && at[0].mean < 0 ? 1 : 0;
  }
  const double apart = std::abs(measured[2].mean - measured[0].mean) + std::abs(measured[1].mean - measured[0].mean);
  return {{{"SC-6: one round: how far the three are apart, points", "0", single(apart), Unit::number, exactly(0)},
           {"SC-6: of the nine settings with more, those with MinHeap > first come > 0 > in turn", "all nine", single(ordered),
            Unit::number, exactly(9)},
           {"SC-7: MinHeap, mean gain, %", "6.27", measured[3 * kRounds + 2], Unit::number, {4, 9}},
           {"SC-7: first come, mean gain, %", "2.60", measured[3 * kRounds + 1], Unit::number, {1, 4}},
           {"SC-7: in turn, mean gain, %", "−4.58", measured[3 * kRounds], Unit::number, {-20, 0}}},
          {line_chart("scache-mapping.svg", "Stage time gained by placing reduces ahead", "rounds of reduces", "%", curves)},
          "The trace of OpenCloud is not public any more. Reduces last lognormally about 100 s (σ = 0.2, so that placing in turn "
          "loses about what was published), 20 to 199 to a job; the part "
          "that is shuffle follows the published distribution. So the order is claimed, not the curve."};
}

// ---- SC-8, SC-9 -------------------------------------------------------------------------------------------------------

Findings predictions(const Context& context) {
  const std::uint64_t draws = context.quick ? 3 : 20;
  std::vector<double> of_ranges, of_ranges_sampled, better, of_hashes, of_hashes_sampled;
  for (std::uint64_t seed = 1; seed <= draws; ++seed) {
    Random random(seed);
    const MadeShuffle ranges = ranged(random), hashes = hashed(random);
    using schedulers::mean_relative_error;
    of_ranges.push_back(mean_relative_error(by_regression(ranges, random), ranges.totals()));
    of_ranges_sampled.push_back(mean_relative_error(by_sampling(ranges, random), ranges.totals()));
    better.push_back(of_ranges.back() / of_ranges_sampled.back());
    of_hashes.push_back(mean_relative_error(by_regression(hashes, random), hashes.totals()));
    of_hashes_sampled.push_back(mean_relative_error(by_sampling(hashes, random), hashes.totals()));
  }
  using simulator::report::estimate;
  return {{{"SC-8: ranges, relative error by sampling", "0.021", estimate(of_ranges_sampled), Unit::number, at_most(0.1)},
           {"SC-8: ranges, relative error by regression", "1.117", estimate(of_ranges), Unit::number, at_least(0.3)},
           {"SC-8: how many times better sampling is", "53", estimate(better), Unit::number, at_least(10)},
           {"SC-9: hashed keys, relative error by regression", "small", estimate(of_hashes), Unit::number, at_most(0.15)},
           {"SC-9: hashed keys, relative error by sampling", "small", estimate(of_hashes_sampled), Unit::number, at_most(0.15)}}};
}

// ---- SC-12 ------------------------------------------------------------------------------------------------------------

Findings balance(const Context& context) {
  double worst = 0, swapped = 0, all = 0;
  for (std::uint64_t seed = 1; seed <= (context.quick ? 500u : 5000u); ++seed) {
    Random random(seed, 12);
    const std::size_t nodes = 1 + random.below(12);
    std::vector<SizedReduce> reduces(1 + random.below(120));
    for (SizedReduce& one : reduces) one = {std::exp(4 * random.uniform()), random.uniform(), random.below(nodes)};
    const auto mapping = map_reduces(std::vector<double>(nodes, 2), reduces, random.uniform() / 10);
    worst = std::max(worst, mapping.largest / mapping.largest_before);
    for (std::size_t i = 0; i < reduces.size(); ++i) swapped += mapping.node[i] == *reduces[i].producer ? 1 : 0;
    all += static_cast<double>(reduces.size());
  }
  return {
      {{"fullest node after the swaps, over before, worst of all", "at most 1.1", single(worst), Unit::number, at_most(1.1 + 1e-9)},
       {"reduces that are with their producer then", "none", single(swapped / all), Unit::percent, {}}}};
}

}  // namespace

std::vector<Experiment> scache_placing_experiments() {
  return {
      {"SC-4", "A second shuffle by the same ranges stays where it is", kScache,
       "8 nodes of 2 slots, 160 reduces of about equal size with 93 % of their input on one node", "", kept_with_producers},
      {"SC-6", "Placing reduces ahead: by turns, first come, by the heap", kScache,
       "400 jobs of one stage, hosts = reduces / rounds, one task at a time; against list scheduling that reads its shuffle in the "
       "stage",
       "60 jobs, one seed", mappings},
      {"SC-8", "How well partition sizes are predicted", kScache,
       "100 maps of our own making, 20 reduces; ten maps have ended for the regression, 60 records of each map are sampled (s = 3)",
       "3 shuffles instead of 20", predictions},
      {"SC-12", "Swaps for locality leave the balance within a tenth", kScache,
       "5,000 random shuffles of up to 120 reduces on up to 12 nodes", "500 shuffles", balance}};
}

}  // namespace weft::papers
