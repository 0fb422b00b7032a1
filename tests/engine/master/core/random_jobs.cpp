#include "tests/engine/master/core/random_jobs.hpp"

#include <gtest/gtest.h>

#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master::test {

namespace {

/// A random DAG: sources, then readers of earlier shuffles, then result stages of the last ones.
plan::PlanPart random_part(Random& random, std::uint32_t action, std::uint32_t& next_stage, std::vector<plan::Stage>& shuffles) {
  std::vector<plan::Stage> stages;
  const auto small = [&random](std::uint64_t most) { return static_cast<std::uint32_t>(random.below(most)); };
  const std::uint32_t count = 1 + small(4);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t partitions = 1 + small(4);
    plan::Stage stage;
    if (shuffles.empty() || random.chance(0.3)) {
      stage = source(next_stage++, small(6), partitions);
    } else {
      const plan::Stage& input = shuffles[random.below(shuffles.size())];
      stage = reader(next_stage++, {input.id.value()}, input.partitions, partitions);
      for (const auto& other : shuffles) {
        if (other.id != input.id && other.partitions == input.partitions && random.chance(0.5))
          stage.branches[0].partitioned.emplace_back(other.id.value());
        if (other.partitions == 1 && random.chance(0.3)) stage.branches[0].broadcast.emplace_back(other.id.value());
      }
      for (std::uint32_t position = 0; position < stage.branches[0].partitioned.size(); ++position) {
        if (random.chance(0.4)) stage.branches[0].splittable.push_back(position);
      }
      stage.branches[0].mergeable = random.chance(0.3);
      if (random.chance(0.2)) stage.branches.push_back({plan::BranchKind::splits, small(3), {}, {}, {}});  // a union
    }
    stage.indeterminate = random.chance(0.3);
    shuffles.push_back(stage);
    stages.push_back(std::move(stage));
  }
  const plan::Stage& last = shuffles.back();
  stages.push_back(result(reader(next_stage++, {last.id.value()}, last.partitions, 0)));
  if (random.chance(0.5)) stages.back().branches[0].splittable.push_back(0);
  plan::PlanPart made = part(action, std::move(stages));
  if (random.chance(0.5) && shuffles.size() > 1) {
    const std::size_t gone = random.below(shuffles.size());
    made.released.emplace_back(shuffles[gone].id.value());
    shuffles.erase(shuffles.begin() + static_cast<std::ptrdiff_t>(gone));
  }
  return made;
}

}  // namespace

SimulatedOptions faulty(std::uint64_t seed) {
  Random random(seed);
  SimulatedOptions options;
  options.seed = seed;
  options.nodes = 1 + static_cast<std::uint32_t>(random.below(5));
  options.slots = 1 + static_cast<std::uint32_t>(random.below(3));
  options.racks = 1 + static_cast<std::uint32_t>(random.below(3));
  options.failure_rate = random.chance(0.5) ? 0.05 : 0;
  options.loss_rate = random.chance(0.5) ? 0.05 : 0;
  if (random.chance(0.7)) options.between_deaths = std::chrono::milliseconds(random.between(1000, 6000));
  options.core.heartbeat_timeout = std::chrono::seconds(2);
  options.hot_bytes = random.chance(0.5) ? 1u << 20 : 0;
  options.core.split_bytes = 1u << 20;
  if (random.chance(0.5)) options.core.slow_start = random.uniform() * random.uniform();
  if (random.chance(0.5)) options.core.preplace_at = random.uniform();
  if (seed % 3 > 0) options.prefetch_bytes = 1 + 7 * seed % 500;
  if (options.failure_rate == 0 && random.chance(0.5)) {
    options.core.speculation.on = true;
    options.core.speculation.shortest = std::chrono::milliseconds(100);
    options.core.speculation.every = std::chrono::milliseconds(50);
    options.straggler_rate = 0.1;
  }
  if (random.chance(0.2)) options.core.decide_every = std::chrono::milliseconds(random.between(1, 100));
  options.core.on_heartbeats = random.chance(0.2);
  return options;
}

std::unique_ptr<SimulatedCluster> run_jobs(const SimulatedOptions& options) {
  const std::uint64_t seed = options.seed;
  auto cluster = std::make_unique<SimulatedCluster>(options);
  Random random(seed + 1);
  struct Job {
    JobId id;
    std::uint32_t next_stage = 0;
    std::vector<plan::Stage> shuffles;
  };
  std::vector<Job> jobs(1 + random.below(3));
  for (auto& job : jobs) {
    JobSubmitted event;
    event.options.priority = static_cast<int>(random.below(2));
    event.options.max_attempts = 8;
    event.options.shuffle_replicas = random.chance(0.4) ? 2 : 1;
    job.id = cluster->submit(std::move(event));
  }
  for (std::uint32_t action = 0; action < 3; ++action) {
    for (auto& job : jobs) {
      plan::PlanPart part = random_part(random, action, job.next_stage, job.shuffles);
      if (!options.releases) part.released.clear();
      cluster->extend(job.id, std::move(part));
    }
    EXPECT_TRUE(cluster->run(cluster->now() + std::chrono::minutes(30)))
        << "seed " << seed << ": stuck in action " << action << "; " << cluster->standing();
    if (::testing::Test::HasFailure()) return cluster;
    cluster->settle();
  }
  for (auto& job : jobs) cluster->close(job.id);
  return cluster;
}

}  // namespace weft::master::test
