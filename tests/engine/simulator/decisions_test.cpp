// What every policy decides for the same small workloads, as one number each: a change of the code that is not meant to change
// decisions does not. A change that is meant to replaces the number, and its commit says why.
#include <cmath>
#include <cstdio>
#include <map>
#include <string>

#include <fmt/format.h>

#include "tests/engine/simulator/simulated.hpp"

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
    job.options.pool = fmt::format("p{}", i % 3);
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
  EXPECT_EQ(decided("carbyne(mode=paper, altruism=0)"), decided("drf(form=closed, mean=all)"));
  EXPECT_NE(decided("carbyne(mode=paper)"), decided("carbyne(mode=paper, altruism=0)"));
}

TEST(Decisions, StayWhatTheyWere) {
  const std::map<std::string, std::string> golden{
      {"bfs(inner=delay(inner=fair, skips=4))", "83d007de76e78ba1"},
      {"capacity", "961a53e09022b6cd"},
      {"capacity(queues=queues.toml)", "e8cb44803d6e6eef"},
      {"cogrs", "ad35ce4c85691539"},
      {"cogrs(inner=delay(inner=fair(pools=pools.toml), skips=20))", "f81cebe191dbea2f"},
      {"cogrs(inner=drf(form=closed, leftover=srtf))", "07cb86f93b34c3d8"},
      {"cogrs(wait=500ms, metric=tnd)", "de84959537c9873d"},
      {"cpm(inner=fair)", "f412a1f8811314fd"},
      {"delay(node_wait=1s, rack_wait=1s)", "a5e44a906d0ef23e"},
      {"delay(skips=20, inner=drf)", "230ba8887e11d796"},
      {"delay(skips=5, inner=capacity(queues=queues.toml))", "9d25fb70f37cd9a2"},
      {"drf", "e412a62e88ee94bb"},
      {"drf(by=pool, pools=flat.toml)", "0c2f5c10a652f964"},
      {"drf(by=user)", "8b7af2a100b38891"},
      {"drf(form=closed)", "e3b49c894b5a091d"},
      {"drf(form=closed, leftover=fifo)", "2000c5621f9ed51c"},
      {"drf(form=closed, leftover=srtf)", "110890e71d8dec61"},
      {"drf(form=closed, mean=all, leftover=furthest, digits=2)", "66fcd5db945219e2"},
      {"drf(form=closed, strict=true)", "8c6f98ea935894d5"},
      {"fair", "2d30f60a198be5f8"},
      {"fair(pools=pools.toml, preemption=true, interval=3s)", "607d9d9cc3323f8e"},
      {"fifo", "479a1b22b1e02f04"},
      {"fifo(remote_per_heartbeat=1, reduces_per_heartbeat=1)", "41f4df9445b7ad6c"},
      {"fifo(stages=cpm)", "741ddd2570ca1cb0"},
      {"fsp", "18910c1c99665104"},
      {"fsp(mode=paper, wait=none)", "08ab8f0965b09c69"},
      {"sjf", "06398107ea83889e"},
      {"sjf(size=remaining_path)", "a9f5330ec8d60bb6"},
      {"srtf", "3becbdaf89d58ec2"},
      {"tetris(mode=paper)", "cd17f128063e1529"},
      {"tetris(mode=paper, barrier=0.5, penalty=0.5)", "e5572723f0100a4a"},
      {"tetris(mode=paper, fairness=0.5)", "bdb9090df3354936"},
      {"tetris(mode=paper, srtf=false, barrier=2, penalty=1, digits=2)", "26887745fd299746"},
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
