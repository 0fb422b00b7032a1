// ShuffleWatcher on simulated racks: what it gains where uplinks are thin and users have several jobs, and that it costs nothing
// elsewhere.
#include <cmath>

#include "tests/engine/simulator/simulated.hpp"

namespace weft::simulator {
namespace {

using namespace test;

constexpr std::uint64_t kChunk = 64 << 20;

/// Jobs of maps and reduces of these users, in turn.
Workload shuffling(std::uint64_t seed, std::size_t count, std::uint32_t users, Time gap) {
  Random random(seed, 3);
  Workload workload;
  for (std::size_t i = 0; i < count; ++i) {
    const double ratio = random.chance(0.5) ? 1.1 + random.uniform() / 2 : random.uniform() / 2;
    StageSpec maps = stage(4 + static_cast<std::uint32_t>(random.below(40)), milliseconds(random.between(2'000, 6'000)));
    maps.input_bytes = maps.tasks * kChunk;
    maps.shuffle_bytes = static_cast<std::uint64_t>(static_cast<double>(maps.input_bytes) * ratio);
    const StageSpec reduces = stage(1 + maps.tasks / 3, milliseconds(random.between(2'000, 6'000)), {0});
    workload.jobs.push_back(job(gap * static_cast<std::int64_t>(i), {maps, reduces}, "user" + std::to_string(i % users)));
    workload.jobs.back().hints.shuffle_ratio = ratio;
  }
  return workload;
}

ClusterModel racks(std::uint32_t count, double uplink, std::uint64_t seed) {
  ClusterModel model = cluster(24, 2, count);
  model.network.flows = true;
  model.network.nic = 60e6;
  model.network.uplink = uplink;
  model.storage.concentration = 0.9;
  model.heartbeat = seconds(1);
  model.seed = seed;
  return model;
}

double mean_completion(const RunResult& result) {
  double sum = 0;
  for (const JobResult& one : result.jobs) sum += std::chrono::duration<double>(one.completion_time().value()).count();
  return sum / static_cast<double>(result.jobs.size());
}

double crossed(const RunResult& result) {
  double bytes = 0;
  for (const Traffic& kind : result.traffic) bytes += kind.cross_rack;
  return bytes;
}

TEST(ShuffleWatcherOnRacks, IsAboutAsGoodAsFairWhereUplinksHaveRoom) {
  for (const char* spec : {"shufflewatcher", "shufflewatcher(mode=paper, relaxed=5s)"}) {
    double fair = 0, watcher = 0;
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Workload workload = shuffling(seed, 60, 4, seconds(4));
      fair += mean_completion(run(workload, racks(4, 1e9, seed), "fair"));
      watcher += mean_completion(run(workload, racks(4, 1e9, seed), spec));
    }
    EXPECT_LE(watcher, 1.05 * fair) << spec;
  }
}

TEST(ShuffleWatcherOnRacks, IsFairOnASingleRack) {
  const Workload workload = shuffling(1, 40, 4, seconds(4));
  const RunResult fair = run(workload, racks(1, 0, 1), "fair"), watcher = run(workload, racks(1, 0, 1), "shufflewatcher");
  for (std::size_t i = 0; i < workload.jobs.size(); ++i) EXPECT_EQ(fair.jobs[i].ended, watcher.jobs[i].ended) << i;
}

TEST(ShuffleWatcherOnRacks, MovesLessBetweenRacksWhereUsersHaveSeveralJobs) {
  double less = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Workload workload = shuffling(seed, 60, 4, milliseconds(500));
    const RunResult fair = run(workload, racks(4, 40e6, seed), "fair"),
                    watcher = run(workload, racks(4, 40e6, seed), "shufflewatcher");
    EXPECT_LT(crossed(watcher), 0.85 * crossed(fair)) << seed;
    less += mean_completion(watcher) / mean_completion(fair) / 3;
  }
  EXPECT_LT(less, 0.95);
}

TEST(ShuffleWatcherOnRacks, EveryJobEndsWhenPrefetchesAreShaped) {
  const Workload workload = shuffling(1, 40, 4, milliseconds(500));
  ClusterModel model = racks(4, 20e6, 1);
  model.shuffle.mode = shuffle::Mode::memory;
  model.preplace = 0.05;
  model.network.disk_read = model.network.disk_write = 200e6;
  std::size_t limits = 0, lifted = 0;
  RunOptions options;
  options.on_command = [&](Time, const master::Command& command) {
    const auto* prefetch = std::get_if<master::PrefetchShuffle>(&command);
    if (prefetch == nullptr || !prefetch->far) return;
    ++(*prefetch->far == UINT32_MAX ? lifted : limits);
  };
  const RunResult shaped = run(workload, model, "shufflewatcher(shape=traffic)", options);
  for (const JobResult& one : shaped.jobs) EXPECT_EQ(one.outcome, Outcome::finished) << one.error;
  EXPECT_GT(limits, 0u);
  EXPECT_GT(lifted, 0u);
  const std::size_t before = limits;
  run(workload, model, "shufflewatcher", options);
  EXPECT_EQ(limits, before) << "shape=launch says nothing of prefetches";
}

}  // namespace
}  // namespace weft::simulator
