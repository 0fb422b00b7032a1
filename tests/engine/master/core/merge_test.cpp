// Adjacent small partitions are given to one task where the plan leaves the number of tasks open.
#include <numeric>

#include "base/random.hpp"
#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;

constexpr std::uint64_t kKiB = 1u << 10;

plan::Stage mergeable(plan::Stage stage) {
  stage.branches[0].mergeable = true;
  return stage;
}

/// The launches of a stage by task, each task's last.
std::map<std::uint32_t, const LaunchTask*> launches_of(const Driver& d, std::uint32_t stage) {
  std::map<std::uint32_t, const LaunchTask*> found;
  for (const auto* launch : d.all<LaunchTask>())
    if (launch->attempt.task.stage == StageId(stage)) found[launch->attempt.task.index] = launch;
  return found;
}

/// How many tasks read `partitions` partitions of so many bytes from each of two maps, on a node with `slots`.
std::uint32_t tasks_of(const std::vector<std::uint64_t>& bytes, double slots, const CoreOptions& options = {}, bool may = true) {
  const auto partitions = static_cast<std::uint32_t>(bytes.size());
  Driver d(options);
  d.join(1, slots);
  d.submit(1);
  plan::Stage last = result(reader(1, {0}, partitions, 0));
  EXPECT_TRUE(d.extend(1, part(0, {source(0, 2, partitions), may ? mergeable(last) : last})));
  d.finish_map(d.running_attempt(1, 0, 0), bytes);
  d.finish_map(d.running_attempt(1, 0, 1), bytes);
  const std::uint32_t tasks = d.core.job(JobId(1))->stages[1].tasks;
  d.drain();
  EXPECT_EQ(d.last<ActionFinished>()->results[0].size(), tasks);
  return tasks;
}

TEST(Merge, SmallPartitionsAreReadByAsManyTasksAsTheirBytesAreWorth) {
  EXPECT_EQ(tasks_of(std::vector<std::uint64_t>(64, 64 * kKiB), 2), 8u);    // 8 MiB from both maps
  EXPECT_EQ(tasks_of(std::vector<std::uint64_t>(64, 64 * kKiB), 16), 16u);  // one for each slot
  EXPECT_EQ(tasks_of(std::vector<std::uint64_t>(64, 64 * kKiB), 100), 64u);
  EXPECT_EQ(tasks_of(std::vector<std::uint64_t>(64, 1024 * kKiB), 2), 64u);
  EXPECT_EQ(tasks_of(std::vector<std::uint64_t>(64, 0), 2), 2u);
}

TEST(Merge, NothingIsMergedThatThePlanOrTheOptionsDoNotAllow) {
  CoreOptions never;
  never.merge_bytes = 0;
  EXPECT_EQ(tasks_of(std::vector<std::uint64_t>(64, kKiB), 2, never), 64u);
  EXPECT_EQ(tasks_of(std::vector<std::uint64_t>(64, kKiB), 2, {}, false), 64u);
}

TEST(Merge, WhateverTheSizesEveryPartitionOfEveryInputIsReadOnceAndInOrder) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    CoreOptions options;
    options.merge_bytes = 1 + random.below(1024 * kKiB);
    Driver d(options);
    const auto slots = static_cast<std::uint32_t>(1 + random.below(8));
    d.join(1, slots);
    d.submit(1);
    const auto maps = static_cast<std::uint32_t>(1 + random.below(6)),
               partitions = static_cast<std::uint32_t>(1 + random.below(40));
    ASSERT_TRUE(d.extend(1, part(0, {source(0, maps, partitions), source(1, maps, partitions),
                                     result(mergeable(reader(2, {0, 1}, partitions, 0)))})));
    while (!d.running.empty()) {
      const AttemptId attempt = d.running.begin()->first;
      if (attempt.task.stage == StageId(2)) {
        ASSERT_TRUE(d.finish(attempt));
        continue;
      }
      std::vector<std::uint64_t> bytes;
      for (std::uint32_t i = 0; i < partitions; ++i) bytes.push_back(random.chance(0.3) ? 0 : random.below(256 * kKiB));
      d.finish_map(attempt, bytes);
    }
    const auto tasks = d.core.job(JobId(1))->stages[2].tasks;
    EXPECT_LE(tasks, partitions);
    const auto launched = launches_of(d, 2);
    ASSERT_EQ(launched.size(), tasks);
    std::uint32_t next = 0;
    for (const auto& [task, launch] : launched) {
      EXPECT_EQ(launch->spec.partition, next);
      ASSERT_EQ(launch->spec.inputs.size(), 2u);
      for (const auto& input : launch->spec.inputs) {
        EXPECT_EQ(input.partitions, launch->spec.inputs[0].partitions);
        EXPECT_EQ(input.maps, shuffle::MapRange());
      }
      ASSERT_GE(launch->spec.inputs[0].partitions, 1u);
      next += launch->spec.inputs[0].partitions;
    }
    EXPECT_EQ(next, partitions);
  }
}

TEST(Merge, ReadersOfMergedTasksSeeTheirOutputsAlsoWhenTheyAreLost) {
  Driver d;
  d.join(1, 1);
  d.join(2, 1);
  d.submit(1);
  ASSERT_TRUE(d.extend(1, part(0, {source(0, 2, 8), mergeable(reader(1, {0}, 8, 3)), result(reader(2, {1}, 3, 0))})));
  while (!d.is_running(1, 2, 0)) ASSERT_TRUE(d.finish(d.running.begin()->first));
  EXPECT_EQ(d.core.job(JobId(1))->stages[1].tasks, 2u);
  EXPECT_EQ(d.last<ShuffleLocations>()->outputs->size(), 2u);
  ASSERT_TRUE(d.lose(2));
  std::erase_if(d.running, [](const auto& attempt) { return attempt.second == NodeId(2); });
  d.drain();
  EXPECT_EQ(d.core.job(JobId(1))->stages[1].tasks, 2u);
  EXPECT_EQ(d.last<ActionFinished>()->results[0].size(), 3u);
}

TEST(Merge, WhatIsSoonFetchedIsNotPlacedAhead) {
  for (const bool small : {true, false}) {
    CoreOptions options;
    options.preplace_at = 0.1;
    Driver d(options);
    d.join(1, 1);
    d.join(2, 1);
    d.submit(1);
    ASSERT_TRUE(d.extend(1, part(0, {source(0, 10, 8), result(mergeable(reader(1, {0}, 8, 0)))})));
    d.finish_map(d.running.begin()->first, std::vector<std::uint64_t>(8, small ? kKiB : 1024 * kKiB));
    EXPECT_EQ(d.all<PrefetchShuffle>().empty(), small);
    d.drain();
    EXPECT_EQ(d.core.job(JobId(1))->stages[1].tasks, small ? 2u : 8u);
  }
}

}  // namespace
}  // namespace weft::master
