// What every policy decides for the same small workloads, as one number each: a change of the code that is not meant to change
// decisions does not. A change that is meant to replaces the number, and its commit says why.
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include <fmt/format.h>

#include "tests/simulation/simulated.hpp"

namespace weft::simulator::kept_decisions {
namespace {

using namespace test;

/// Of everything that depends on when and where tasks ran.
class Decided {
 public:
  void add(const RunResult& result) {
    for (const JobResult& job : result.jobs) {
      mix(job.started.value_or(Time(-1)).count());
      mix(job.ended.value_or(Time(-1)).count());
      for (const std::uint64_t count : {job.attempts, job.preemptions, job.locality.node, job.locality.rack, job.locality.any})
        mix(static_cast<std::int64_t>(count));
      for (const auto& kind : job.traffic) mix(std::llround(kind.remote));
    }
  }
  std::string text() const { return fmt::format("{:016x}", state_); }

 private:
  void mix(std::int64_t word) {
    state_ = (state_ ^ static_cast<std::uint64_t>(word)) * 0x9e3779b97f4a7c15ULL;
    state_ ^= state_ >> 29;
  }
  std::uint64_t state_ = 1;
};

struct Case {
  Workload workload;
  ClusterModel model;
};

/// Jobs of different demands, users, pools and weights, on nodes that account for them; whatever can be switched on is, at random.
Case made(std::uint64_t seed) {
  Random random(seed);
  Case made{random_workload(random, 14), random_model(random, seed)};
  for (NodeGroup& group : made.model.groups) {
    group.capacity.memory = 8;
    if (seed % 2 == 0) group.capacity.network_in = group.capacity.network_out = 100;
  }
  for (std::size_t i = 0; i < made.workload.jobs.size(); ++i) {
    JobSpec& job = made.workload.jobs[i];
    job.pool = fmt::format("p{}", i % 3);
    job.arrival /= 4;
    for (StageSpec& stage : job.stages) {
      stage.demand = {.cpu = random.chance(0.3) ? 0.5 : 1, .memory = static_cast<double>(1 + random.below(4))};
      stage.demand.network_in = seed % 2 == 0 ? static_cast<double>(random.below(50)) : 0;
    }
  }
  return made;
}

const std::map<std::string, std::string> kFiles{
    {"pools.toml",
     "[[pool]]\nname='p0'\nmin_share=4\nmin_share_timeout='5s'\n[[pool]]\nname='p1'\nweight=2\nfair_share_timeout='9s'\n"
     "[[pool]]\nname='p2'\npolicy='fifo'\nmax_running_jobs=2\n"},
    {"flat.toml", "[[pool]]\nname='p0'\nweight=2\n"},
    {"queues.toml",
     "[[queue]]\nname='p0'\ncapacity=50\nuser_limit_factor=2\n[[queue]]\nname='p1'\ncapacity=30\nmax_capacity=60\n"
     "[[queue]]\nname='p2'\ncapacity=20\nuser_limit_factor=9\n"}};

std::string decided(const std::string& spec) {
  Decided all;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const Case now = made(seed);
    RunOptions options;
    options.until = seconds(200);
    auto result =
        simulate(now.workload, now.model, schedulers::make_scheduler(spec, schedulers::reader_of(kFiles)).value(), options);
    EXPECT_TRUE(result.has_value()) << result.error().to_string();
    if (result) all.add(*result);
  }
  return all.text();
}

/// Carbyne's probability of altruism at 0 is dominant resource fairness.
TEST(Decisions, WithoutAltruismAreThoseOfDrf) {
  EXPECT_EQ(decided("carbyne(altruism=0)"), decided("drf(form=closed, mean=all)"));
  EXPECT_NE(decided("carbyne"), decided("carbyne(altruism=0)"));
}

TEST(Decisions, StayWhatTheyWere) {
  const std::map<std::string, std::string> golden{
      {"bfs(inner=delay(inner=fair, skips=4))", "8544862649f57d96"},
      {"capacity", "b9010731be54a8b3"},
      {"capacity(queues=queues.toml)", "5eba8093cf7498ad"},
      {"cogrs", "01093db08d2636c6"},
      {"cogrs(inner=delay(inner=fair(pools=pools.toml), skips=20))", "a7faa31e5baebd8e"},
      {"cogrs(inner=drf(form=closed, leftover=srtf))", "66fc0c601afc1538"},
      {"cogrs(wait=500ms, metric=tnd)", "78b7fcefbdbf7040"},
      {"cpm(inner=fair)", "2cf0191a46a720c2"},
      {"delay(node_wait=1s, rack_wait=1s)", "5cfc26368ae71182"},
      {"delay(skips=20, inner=drf)", "23dae65ade3ce3c2"},
      {"delay(skips=5, inner=capacity(queues=queues.toml))", "91a3f0c5883de521"},
      {"drf", "7207ccf7a21e5c9e"},
      {"drf(by=pool, pools=flat.toml)", "86813a7cb8be93f6"},
      {"drf(by=user)", "504ce66fff61cb1c"},
      {"drf(form=closed)", "3de449f1054de65c"},
      {"drf(form=closed, leftover=fifo)", "fe05b0be014c76b0"},
      {"drf(form=closed, leftover=srtf)", "c317d324c5e42a98"},
      {"drf(form=closed, mean=all, leftover=furthest, digits=2)", "8faaf346806b34b1"},
      {"drf(form=closed, strict=true)", "3001ebc8491c6da3"},
      {"fair", "9ac594fa66a2253b"},
      {"fair(pools=pools.toml, preemption=true, interval=3s)", "cac802f9602859d9"},
      {"fifo", "a79db5767dec41a8"},
      {"fifo(remote_per_heartbeat=1, reduces_per_heartbeat=1)", "1c98c4a8dc7d135d"},
      {"fifo(stages=cpm)", "34993f6ad995aca9"},
      {"sjf", "e6f4d18d789f01fe"},
      {"sjf(size=remaining_path)", "2c544c2140a34cc0"},
      {"srtf", "843ade34f75b67cf"},
      {"tetris", "2eea587faebb5df5"},
      {"tetris(barrier=0.5, penalty=0.5)", "86d9285bbb695042"},
      {"tetris(fairness=0.5)", "b3ead42bfbdf75da"},
      {"tetris(srtf=false, barrier=2, penalty=1, digits=2)", "f37be7f5a01489a2"},
  };
  std::string all;
  for (const auto& [spec, number] : golden) {
    const std::string now = decided(spec);
    EXPECT_EQ(now, number) << spec;
    all += fmt::format("      {{\"{}\", \"{}\"}},\n", spec, now);
  }
  if (HasFailure()) std::printf("now they are\n%s", all.c_str());
}

}  // namespace
}  // namespace weft::simulator::kept_decisions
