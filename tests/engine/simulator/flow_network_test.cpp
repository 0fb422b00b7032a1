// The flow network against a textbook reference, and its conservation of bytes.
#include "engine/simulator/flow_network.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "base/sanitized.hpp"

namespace weft::simulator {
namespace {

using std::chrono::seconds;
using Use = FlowNetwork::Use;

struct PlainFlow {
  std::vector<Use> uses;
  double weight = 1;
  double bytes = 0;
};

/// Progressive filling as the textbooks have it: all at once, nothing kept.
std::vector<double> reference_rates(const std::vector<double>& capacity, const std::vector<PlainFlow>& flows) {
  std::vector<double> rates(flows.size(), -1), left = capacity;
  for (;;) {
    double lowest = FlowNetwork::kUnlimited;
    for (std::size_t link = 0; link < capacity.size(); ++link) {
      double wanted = 0;
      for (std::size_t i = 0; i < flows.size(); ++i) {
        for (const Use& use : flows[i].uses) {
          if (use.link == link && rates[i] < 0) wanted += use.fraction * flows[i].weight;
        }
      }
      if (wanted > 0) lowest = std::min(lowest, left[link] / wanted);
    }
    if (lowest == FlowNetwork::kUnlimited) return rates;
    std::vector<std::size_t> fixed;
    for (std::size_t link = 0; link < capacity.size(); ++link) {
      double wanted = 0;
      std::vector<std::size_t> users;
      for (std::size_t i = 0; i < flows.size(); ++i) {
        for (const Use& use : flows[i].uses) {
          if (use.link == link && rates[i] < 0) wanted += use.fraction * flows[i].weight, users.push_back(i);
        }
      }
      if (wanted > 0 && left[link] / wanted <= lowest * (1 + 1e-9)) fixed.insert(fixed.end(), users.begin(), users.end());
    }
    std::sort(fixed.begin(), fixed.end());
    fixed.erase(std::unique(fixed.begin(), fixed.end()), fixed.end());
    for (std::size_t i : fixed) {
      rates[i] = lowest * flows[i].weight;
      for (const Use& use : flows[i].uses) left[use.link] -= use.fraction * rates[i];
    }
  }
}

std::vector<Use> random_uses(Random& random, std::size_t links, double each = 0.3) {
  std::vector<Use> uses;
  for (std::uint32_t link = 0; link < links; ++link) {
    if (random.chance(each)) uses.push_back({link, random.chance(0.5) ? 1.0 : 0.05 + random.uniform()});
  }
  if (uses.empty()) uses.push_back({static_cast<std::uint32_t>(random.below(links)), 1});
  return uses;
}

TEST(FlowNetwork, RatesAreThoseOfTheReferenceWhateverComesAndGoes) {
  for (std::uint64_t seed = 1; seed <= (kSanitized ? 100u : 400u); ++seed) {
    Random random(seed);
    FlowNetwork network;
    std::vector<double> capacity;
    const bool large = seed % 8 == 0;  // many links, far from each other in what they can do, and more flows than they limit
    for (std::size_t i = 0, links = 1 + random.below(large ? 60 : 10); i < links; ++i) {
      capacity.push_back(1 + (large ? 9999 * std::pow(random.uniform(), 4) : 99 * random.uniform()));
      network.add_link(capacity.back());
    }
    std::vector<std::vector<Use>> shapes;
    for (int i = 0; i < (large ? 30 : 6); ++i) shapes.push_back(random_uses(random, capacity.size(), large ? 0.08 : 0.3));
    std::map<FlowNetwork::Flow, PlainFlow> alive;
    Time now(0);
    for (int step = 0; step < (large ? 120 : 40); ++step) {
      if (alive.empty() || random.chance(0.6)) {
        PlainFlow flow;
        flow.uses = shapes[random.below(shapes.size())];
        flow.weight = random.chance(0.7) ? 1 : 0.5 + random.uniform();
        alive[network.start(now, 1000 * (0.01 + random.uniform()), flow.uses, flow.weight)] = flow;
      } else if (random.chance(0.5)) {
        auto stopped = std::next(alive.begin(), static_cast<std::ptrdiff_t>(random.below(alive.size())));
        network.stop(now, stopped->first);
        alive.erase(stopped);
      } else {
        const auto next = network.next();
        ASSERT_TRUE(next) << "seed " << seed;
        now = random.chance(0.3) ? now + (*next - now) / 2 : *next;
        std::vector<FlowNetwork::Flow> ended;
        network.advance(now, ended);
        for (auto flow : ended) ASSERT_EQ(alive.erase(flow), 1u) << "seed " << seed;
      }
      std::vector<PlainFlow> flows;
      for (const auto& [id, flow] : alive) flows.push_back(flow);
      const std::vector<double> expected = reference_rates(capacity, flows);
      std::size_t i = 0;
      for (const auto& [id, flow] : alive) {
        ASSERT_NEAR(network.rate(id), expected[i], 1e-6 * expected[i]) << "seed " << seed << " step " << step;
        ++i;
      }
      ASSERT_EQ(network.flows(), alive.size());
    }
  }
}

TEST(FlowNetwork, AllBytesArriveAndAreCountedOnTheLinksTheyCrossed) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Random random(seed);
    FlowNetwork network;
    const std::size_t links = 2 + random.below(8);
    std::vector<double> capacity;
    for (std::size_t i = 0; i < links; ++i) {
      capacity.push_back(i == 0 ? FlowNetwork::kUnlimited : 10 + 90 * random.uniform());
      network.add_link(capacity.back());
    }
    std::vector<double> expected(links);
    std::size_t started = 0, ended_count = 0, stopped = 0;
    std::map<FlowNetwork::Flow, PlainFlow> alive;
    Time now(0);
    std::vector<FlowNetwork::Flow> ended;
    while (started < 100 || !alive.empty()) {
      if (started < 100 && (alive.empty() || random.chance(0.5))) {
        PlainFlow flow;
        flow.uses = random_uses(random, links);
        flow.bytes = 1e-3 + 1e6 * random.uniform() * random.uniform();
        alive[network.start(now, flow.bytes, flow.uses)] = flow;
        ++started;
      } else if (random.chance(0.1)) {
        auto gone = std::next(alive.begin(), static_cast<std::ptrdiff_t>(random.below(alive.size())));
        const double bytes = network.stop(now, gone->first);
        ASSERT_LE(bytes, gone->second.bytes * (1 + 1e-6)) << "seed " << seed;
        for (const Use& use : gone->second.uses) expected[use.link] += use.fraction * bytes;
        alive.erase(gone);
        ++stopped;
      } else {
        now = *network.next();
        ended.clear();
        network.advance(now, ended);
        ASSERT_FALSE(ended.empty()) << "seed " << seed << ": nothing ended when something should";
        for (auto flow : ended) {
          for (const Use& use : alive.at(flow).uses) expected[use.link] += use.fraction * alive.at(flow).bytes;
          alive.erase(flow);
          ++ended_count;
        }
      }
    }
    ASSERT_EQ(started, ended_count + stopped);
    ASSERT_FALSE(network.next());
    for (std::uint32_t link = 0; link < links; ++link) {
      ASSERT_NEAR(network.link_bytes(now, link), expected[link], 1e-6 * expected[link] + 1) << "seed " << seed;
      ASSERT_EQ(network.link_rate(link), 0) << "seed " << seed;
    }
  }
}

TEST(FlowNetwork, TwoFlowsShareALinkAndTheSecondSpeedsUpWhenTheFirstIsDone) {
  FlowNetwork network;
  const auto link = network.add_link(100);
  const auto small = network.start(Time(0), 100, {{link, 1}});
  const auto large = network.start(Time(0), 300, {{link, 1}});
  EXPECT_EQ(network.next(), seconds(2));
  std::vector<FlowNetwork::Flow> ended;
  network.advance(seconds(2), ended);
  EXPECT_EQ(ended, std::vector{small});
  EXPECT_EQ(network.next(), seconds(4));
  EXPECT_DOUBLE_EQ(network.moved(seconds(3), large), 200);
}

TEST(FlowNetwork, SaysWhetherAFlowEndsNow) {
  FlowNetwork network;
  const auto link = network.add_link(100);
  network.start(Time(0), 100, {{link, 1}});
  EXPECT_FALSE(network.ending());
  ASSERT_EQ(network.next(), seconds(1));
  EXPECT_FALSE(network.ending());
  network.start(seconds(1), 300, {{link, 1}});
  EXPECT_TRUE(network.ending());
  std::vector<FlowNetwork::Flow> ended;
  network.advance(seconds(1), ended);
  EXPECT_FALSE(network.ending());
  network.start(seconds(1), 7, {});
  EXPECT_TRUE(network.ending());
}

TEST(FlowNetwork, WhatOneCannotUseTheOthersGet) {
  FlowNetwork network;
  const auto narrow = network.add_link(10), wide = network.add_link(100);
  const auto slow = network.start(Time(0), 1000, {{narrow, 1}, {wide, 1}});
  const auto fast = network.start(Time(0), 1000, {{wide, 1}});
  EXPECT_DOUBLE_EQ(network.rate(slow), 10);
  EXPECT_DOUBLE_EQ(network.rate(fast), 90);
}

TEST(FlowNetwork, AFetchUsesEachLinkByItsPart) {
  FlowNetwork network;
  const auto near = network.add_link(90), far = network.add_link(5);
  const auto fetch = network.start(Time(0), 1000, {{near, 0.9}, {far, 0.1}});
  EXPECT_DOUBLE_EQ(network.rate(fetch), 50);
  EXPECT_DOUBLE_EQ(network.link_rate(near), 45);
}

TEST(FlowNetwork, WithoutAFiniteLinkItEndsAtOnceButIsCounted) {
  FlowNetwork network;
  const auto meter = network.add_link(FlowNetwork::kUnlimited);
  const auto flow = network.start(seconds(5), 7, {{meter, 1}});
  EXPECT_EQ(network.next(), seconds(5));
  std::vector<FlowNetwork::Flow> ended;
  network.advance(seconds(5), ended);
  EXPECT_EQ(ended, std::vector{flow});
  EXPECT_DOUBLE_EQ(network.link_bytes(seconds(5), meter), 7);
  EXPECT_FALSE(network.next());
}

}  // namespace
}  // namespace weft::simulator
