// The past of pools: as many samples as are kept, aligned, of those that did something.
#include "engine/tools/web/pool_samples.hpp"

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/tools/web/sampler.hpp"

namespace weft::web {
namespace {

using std::chrono::seconds;

client::GroupInfo pool(const std::string& name, double used, double share, double demand) {
  client::GroupInfo made;
  made.status.name = name;
  made.status.used = used;
  made.status.fair_share = share;
  made.status.demand = demand;
  return made;
}

TEST(PoolSamples, AreAlignedAndOfPoolsThatDidSomething) {
  PoolSamples samples;
  EXPECT_EQ(samples.json(TimePoint()), "{\"seconds_ago\":[],\"pools\":[]}\n");
  samples.add(TimePoint(seconds(10)), {pool("a", 1, 4, 9), pool("idle", 0, 4, 0)});
  samples.add(TimePoint(seconds(20)), {pool("a", 2, 3, 2), pool("b", 5, 1.5, 5)});
  EXPECT_EQ(samples.json(TimePoint(seconds(21))),
            "{\"seconds_ago\":[11,1],\"pools\":[{\"name\":\"a\",\"used\":[1,2],\"fair_share\":[4,3]},"
            "{\"name\":\"b\",\"used\":[0,5],\"fair_share\":[0,1.5]}]}\n");
}

TEST(PoolSamples, AreBounded) {
  PoolSamples samples;
  std::vector<client::GroupInfo> many;
  for (std::size_t i = 0; i <= PoolSamples::kMostPools; ++i) many.push_back(pool("p" + std::to_string(i), 1, 1, 1));
  for (std::size_t i = 0; i <= PoolSamples::kKept; ++i)
    samples.add(TimePoint(seconds(i)), i == 0 ? many : std::vector{pool("a", 1, 1, 1)});
  const std::string json = samples.json(TimePoint(seconds(PoolSamples::kKept)));
  EXPECT_EQ(json.find("\"p0\""), std::string::npos) << "the first sample is forgotten";
  EXPECT_EQ(json.find("{\"seconds_ago\":[359,"), 0u) << json.substr(0, 40);
  samples.add(TimePoint(seconds(1000)), many);
  const std::string full = samples.json(TimePoint(seconds(1000)));
  EXPECT_NE(full.find("\"p499\""), std::string::npos);
  EXPECT_EQ(full.find("\"p500\""), std::string::npos);
}

TEST(Sampler, LooksNowAndThenUntilItIsDestroyed) {
  std::atomic<int> looks = 0;
  {
    const Sampler sampler([&] { ++looks; }, std::chrono::milliseconds(1));
    const auto end = std::chrono::steady_clock::now() + seconds(60);
    while (looks < 5 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const int seen = looks;
  EXPECT_GE(seen, 5);
  std::this_thread::yield();
  EXPECT_EQ(looks, seen);
}

}  // namespace
}  // namespace weft::web
