// Hot partitions are cut into several tasks, the same ones for the same events, and nothing is read twice or never.
#include <numeric>

#include "base/random.hpp"
#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;

constexpr std::uint64_t kMiB = 1u << 20;

plan::Stage join_of(std::uint32_t id, std::uint32_t left, std::uint32_t right, std::uint32_t tasks,
                    std::vector<std::uint32_t> splittable) {
  plan::Stage stage = reader(id, {left, right}, tasks, 3);
  stage.branches[0].splittable = std::move(splittable);
  return stage;
}

const LaunchTask* launch_of(const Driver& d, std::uint32_t stage, std::uint32_t index) {
  const LaunchTask* found = nullptr;
  for (const auto* launch : d.all<LaunchTask>()) {
    if (launch->attempt.task == TaskId{JobId(1), StageId(stage), index}) found = launch;
  }
  return found;
}

/// Two sources of `maps` maps and what reads them; partition 1 of the first source is hot.
void run_sources(Driver& d, std::uint32_t maps, std::vector<plan::Stage> rest) {
  d.join(1, 64);
  d.submit(1);
  rest.insert(rest.begin(), {source(0, maps, 4), source(1, maps, 4)});
  ASSERT_TRUE(d.extend(1, part(0, std::move(rest))));
  for (std::uint32_t map = 0; map < maps; ++map) {
    d.finish_map(d.running_attempt(1, 0, map), {2 * kMiB, 20 * kMiB, 2 * kMiB, 2 * kMiB});
    d.finish_map(d.running_attempt(1, 1, map), {kMiB / 4, kMiB / 4, kMiB / 4, kMiB / 4});
  }
}

TEST(Skew, AHotPartitionIsGivenToSeveralTasksThatReadDifferentMaps) {
  Driver d;
  run_sources(d, 8, {result(join_of(2, 0, 1, 4, {0}))});
  const auto status = d.core.job(JobId(1)).value();
  ASSERT_EQ(status.stages[2].tasks, 4u + 7u);  // a piece is at least one map
  std::vector<int> read(8);
  for (std::uint32_t task = 0; task < 11; ++task) {
    const LaunchTask* launch = launch_of(d, 2, task);
    ASSERT_NE(launch, nullptr);
    ASSERT_EQ(launch->spec.inputs.size(), 2u);
    const auto& left = launch->spec.inputs[0];
    EXPECT_EQ(launch->spec.inputs[1].maps, shuffle::MapRange());  // the other side whole
    if (task == 1 || task >= 4) {
      EXPECT_EQ(launch->spec.partition, 1u);
      for (std::uint32_t map = left.maps.first; map < std::min(left.maps.end, 8u); ++map) ++read[map];
      EXPECT_NEAR(static_cast<double>(left.bytes), 20.0 * kMiB, 0.1 * kMiB);
    } else {
      EXPECT_EQ(launch->spec.partition, task);
      EXPECT_EQ(left.maps, shuffle::MapRange());
    }
  }
  EXPECT_EQ(read, std::vector<int>(8, 1));
  EXPECT_EQ(d.drain(), 11u);
  ASSERT_EQ(d.last<ActionFinished>()->results[0].size(), 11u);
}

TEST(Skew, NothingIsCutThatThePlanDoesNotAllowOrThatIsSmall) {
  {
    Driver d;
    run_sources(d, 8, {result(join_of(2, 0, 1, 4, {}))});
    EXPECT_EQ(d.core.job(JobId(1))->stages[2].tasks, 4u);
  }
  {
    Driver d;
    run_sources(d, 8, {result(join_of(2, 0, 1, 4, {1}))});  // the side that is not hot
    EXPECT_EQ(d.core.job(JobId(1))->stages[2].tasks, 4u);
  }
  {
    CoreOptions options;
    options.split_bytes = 1000 * kMiB;
    Driver d(options);
    run_sources(d, 8, {result(join_of(2, 0, 1, 4, {0}))});
    EXPECT_EQ(d.core.job(JobId(1))->stages[2].tasks, 4u);
  }
  {
    CoreOptions options;
    options.split_bytes = 0;
    Driver d(options);
    run_sources(d, 8, {result(join_of(2, 0, 1, 4, {0}))});
    EXPECT_EQ(d.core.job(JobId(1))->stages[2].tasks, 4u);
  }
}

TEST(Skew, ReadersOfACutStageSeeTheOutputsOfAllItsTasks) {
  Driver d;
  run_sources(d, 8, {join_of(2, 0, 1, 4, {0}), result(reader(3, {2}, 3, 0))});
  d.drain();
  ASSERT_NE(d.last<ShuffleLocations>(), nullptr);
  EXPECT_EQ(d.last<ShuffleLocations>()->shuffle, ShuffleId(2));
  EXPECT_EQ(d.last<ShuffleLocations>()->outputs->size(), 11u);
}

TEST(Skew, PiecesSurviveRetriesAndTheLossOfMaps) {
  Driver d;
  d.join(2, 64);
  run_sources(d, 8, {result(join_of(2, 0, 1, 4, {0}))});
  const AttemptId piece = d.running_attempt(1, 2, 9);
  const shuffle::MapRange maps = launch_of(d, 2, 9)->spec.inputs[0].maps;
  ASSERT_TRUE(d.fail_task(piece));
  EXPECT_EQ(d.running_attempt(1, 2, 9).attempt, 1u);
  EXPECT_EQ(launch_of(d, 2, 9)->spec.inputs[0].maps, maps);
  // A map that the piece reads is lost: it is redone, then the piece runs again on the same range.
  const auto* table = d.last<ShuffleLocations>();
  const std::uint32_t lost = maps.first;
  const AttemptId again = d.running_attempt(1, 2, 9);
  NodeId holder;
  for (const auto* sent : d.all<ShuffleLocations>()) {
    if (sent->shuffle == ShuffleId(0)) holder = sent->outputs->at(lost).node;
  }
  ASSERT_NE(table, nullptr);
  ASSERT_TRUE(d.fail_fetch(again, 0, lost, 0, holder));
  EXPECT_FALSE(d.is_running(1, 2, 9));
  d.finish_map(d.running_attempt(1, 0, lost), {2 * kMiB, 20 * kMiB, 2 * kMiB, 2 * kMiB});
  ASSERT_TRUE(d.is_running(1, 2, 9));
  EXPECT_EQ(launch_of(d, 2, 9)->spec.inputs[0].maps, maps);
  EXPECT_EQ(d.core.job(JobId(1))->stages[2].tasks, 11u);
  d.drain();
  EXPECT_EQ(d.last<ActionFinished>()->results[0].size(), 11u);
}

TEST(Skew, WhateverTheSizesEveryMapOfEveryPartitionIsReadOnce) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    CoreOptions options;
    options.split_bytes = 1 + random.below(kMiB);
    Driver d(options);
    d.join(1, static_cast<double>(1 + random.below(300)));
    d.submit(1);
    const auto maps = static_cast<std::uint32_t>(1 + random.below(12));
    const auto partitions = static_cast<std::uint32_t>(1 + random.below(6));
    std::vector<std::uint32_t> splittable;
    for (std::uint32_t input : {0u, 1u}) {
      if (random.chance(0.7)) splittable.push_back(input);
    }
    ASSERT_TRUE(d.extend(
        1, part(0, {source(0, maps, partitions), source(1, maps, partitions), result(join_of(2, 0, 1, partitions, splittable))})));
    const std::uint64_t hot = random.below(partitions);
    while (!d.running.empty()) {
      const AttemptId attempt = d.running.begin()->first;
      if (attempt.task.stage == StageId(2)) {
        ASSERT_TRUE(d.finish(attempt));
        continue;
      }
      std::vector<std::uint64_t> bytes;
      for (std::uint32_t i = 0; i < partitions; ++i) bytes.push_back(random.below(kMiB) * (i == hot ? random.below(100) : 1));
      d.finish_map(attempt, bytes);
    }
    const auto tasks = d.core.job(JobId(1))->stages[2].tasks;
    std::map<std::pair<std::uint32_t, std::uint32_t>, int> pairs;  // (partition, map of one side with map of the other)
    for (std::uint32_t task = 0; task < tasks; ++task) {
      const auto& spec = launch_of(d, 2, task)->spec;
      const auto& a = spec.inputs[0].maps;
      const auto& b = spec.inputs[1].maps;
      for (std::uint32_t i = a.first; i < std::min(a.end, maps); ++i) {
        for (std::uint32_t j = b.first; j < std::min(b.end, maps); ++j) ++pairs[{spec.partition, i * maps + j}];
      }
    }
    ASSERT_EQ(pairs.size(), std::size_t{partitions} * maps * maps);
    for (const auto& [which, times] : pairs) ASSERT_EQ(times, 1);
  }
}

}  // namespace
}  // namespace weft::master
