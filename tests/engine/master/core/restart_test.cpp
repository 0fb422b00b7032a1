// Masters that die and are started again, at any moment and over many seeds: what their successors know is enough to go on, nothing
// counts twice, and what was promised holds.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "tests/engine/master/core/core_driver.hpp"
#include "tests/engine/master/core/random_jobs.hpp"

namespace weft::master {
namespace {

using namespace test;

std::uint64_t seeds() { return std::getenv("WEFT_LONG") != nullptr ? 100'000 : 1500 / kShare; }

/// No job is lost to restarts, and none of the core's promises is broken.
void expect_well(SimulatedCluster& cluster, std::uint64_t seed) {
  ASSERT_TRUE(cluster.violations().empty()) << "seed " << seed << ": " << cluster.violations().front();
  for (const auto& [job, error] : cluster.failures()) {
    const bool lost_often = error.code() == Code::unavailable, failed_often = error.code() == Code::user_code;
    ASSERT_TRUE(lost_often || failed_often) << "seed " << seed << ": " << error.to_string();
  }
  for (const auto& [key, results] : cluster.results()) {
    for (const auto& target : results) {
      for (const auto& result : target) ASSERT_FALSE(result.empty()) << "seed " << seed;
    }
  }
  ASSERT_EQ(cluster.core().view().used(), schedulers::Resources()) << "seed " << seed;
  ASSERT_TRUE(cluster.core().view().runnable_jobs().empty()) << "seed " << seed;
}

struct Counts {
  std::uint64_t restarts = 0, cut_offs = 0, finished = 0, failed = 0;
};

/// These have found faults once; and those up to seeds().
std::vector<std::uint64_t> seeds_to_try() {
  std::vector<std::uint64_t> all{9501, 10'217, 51'624, 57'449, 60'345, 75'621};
  for (std::uint64_t seed = 1; seed <= seeds(); ++seed) all.push_back(seed);
  return all;
}

/// Over all seeds, with every other fault as well. `cut_off`: the share of masters that go on for a while.
Counts expect_no_job_lost(double cut_off) {
  Counts counts;
  for (const std::uint64_t seed : seeds_to_try()) {
    if (testing::Test::HasFailure()) break;
    SimulatedOptions options = faulty(seed);
    options.shortest_task *= 10;
    options.longest_task *= 10;
    options.between_restarts = std::chrono::milliseconds(5000 + 500 * (seed % 20));  // silent nodes are lost between two
    options.cut_off = cut_off;
    const auto cluster = run_jobs(options);
    expect_well(*cluster, seed);
    counts.restarts += cluster->restarts();
    counts.cut_offs += cluster->cut_offs();
    counts.finished += cluster->results().size();
    counts.failed += cluster->failures().size();
  }
  EXPECT_GT(counts.finished, seeds() * 2 / 3);
  EXPECT_LT(counts.failed, counts.finished / 20);
  return counts;
}

TEST(SimulatedRestarts, LoseNoJobWhateverElseFails) { EXPECT_GT(expect_no_job_lost(0).restarts, seeds() * 2 / 3); }

/// A master that is stopped, or cut off from the one that stands by, goes on with its nodes until they leave it. What it
/// decided meanwhile its successor does not know.
TEST(SimulatedRestarts, LoseNoJobToMastersThatGoOnWhenAnotherTakesOver) {
  EXPECT_GT(expect_no_job_lost(0.7).cut_offs, seeds() / 2);
}

TEST(SimulatedRestarts, OfACalmClusterRunNothingAgainThatEnded) {
  std::uint64_t again = 0;
  for (std::uint64_t seed = 1; seed <= 300 / kShare; ++seed) {
    SimulatedOptions options;
    options.seed = seed;
    options.between_restarts = std::chrono::milliseconds(200);
    options.returns = 1;
    options.zombies = 0;
    options.synced = 1;
    options.releases = false;  // what was released, and is made again, begins again
    options.core.heartbeat_timeout = std::chrono::seconds(5);
    auto cluster = run_jobs(options);
    expect_well(*cluster, seed);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    ASSERT_TRUE(cluster->failures().empty()) << "seed " << seed;
    options.between_restarts = Time(0);
    const auto calm = run_jobs(options);
    again += cluster->ended_again() - std::min(cluster->ended_again(), calm->ended_again());
  }
  EXPECT_EQ(again, 0u) << "tasks that ran again";
}

}  // namespace
}  // namespace weft::master
