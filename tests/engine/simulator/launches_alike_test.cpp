#include "engine/simulator/experiment/launches_alike.hpp"

#include <gtest/gtest.h>

namespace weft::simulator::experiment {
namespace {

using Launches = std::vector<workloads::RecordedLaunch>;

Launches of_tasks(std::initializer_list<std::pair<std::uint32_t, std::uint32_t>> tasks_and_nodes) {
  Launches launches;
  for (const auto& [task, node] : tasks_and_nodes) launches.push_back({0, 0, task, node});
  return launches;
}

TEST(LaunchesAlike, CountsTasksOnTheirNodesInOrder) {
  const Launches log = of_tasks({{0, 1}, {1, 2}, {2, 1}, {3, 2}});
  EXPECT_EQ(launches_alike(log, log), 4u);
  EXPECT_EQ(launches_alike(log, of_tasks({{0, 1}, {1, 1}, {2, 1}, {3, 2}})), 3u) << "one on another node";
  EXPECT_EQ(launches_alike(log, of_tasks({{3, 2}, {0, 1}, {1, 2}, {2, 1}})), 3u) << "one out of turn";
  EXPECT_EQ(launches_alike(log, of_tasks({{9, 1}, {0, 1}, {1, 2}, {9, 1}, {2, 1}, {3, 2}})), 4u) << "others between them";
  EXPECT_EQ(launches_alike(log, of_tasks({{3, 2}, {2, 1}, {1, 2}, {0, 1}})), 1u);
  EXPECT_EQ(launches_alike(log, {}), 0u);
}

TEST(LaunchesAlike, ComparesTheSecondLaunchOfATaskWithItsSecond) {
  const Launches log = of_tasks({{0, 1}, {0, 2}});
  EXPECT_EQ(launches_alike(log, log), 2u);
  EXPECT_EQ(launches_alike(log, of_tasks({{0, 2}, {0, 1}})), 0u);
  EXPECT_EQ(launches_alike(log, of_tasks({{0, 1}, {0, 2}, {0, 2}})), 2u);
}

}  // namespace
}  // namespace weft::simulator::experiment
