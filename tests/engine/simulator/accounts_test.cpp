// What a run adds up to over time: traffic by rack, shares by window.
#include <gtest/gtest.h>

#include "tests/engine/simulator/simulated.hpp"

namespace weft::simulator::test {
namespace {

RackTraffic sum(const RunResult& result, std::size_t rack) {
  RackTraffic all;
  for (const Sample& sample : result.series.samples) all.up += sample.racks[rack].up, all.down += sample.racks[rack].down;
  return all;
}

/// One reduce reads what four maps wrote, of which two ran in the other rack: once when moves take no time, once over the network.
TEST(Accounts, TrafficOfEachRackOverTime) {
  StageSpec map = stage(4, seconds(10));
  map.shuffle_bytes = 400'000'000;
  const Workload workload = jobs({job(Time(0), {map, stage(1, seconds(10), {0})})});
  ClusterModel model = cluster(4, 1, 2);
  RunOptions options;
  options.series_step = seconds(5);
  for (const double uplink : {-1.0, 0.0, 25e6}) {
    model.network.flows = uplink >= 0;
    model.network.nic = model.network.flows ? 100e6 : 0;
    model.network.uplink = std::max(0.0, uplink);
    const RunResult result = run(workload, model, "fifo", options);
    ASSERT_EQ(result.series.samples.front().racks.size(), 2u);
    EXPECT_NEAR(sum(result, 0).down, 200e6, 1) << "uplink " << uplink << ": the reduce ran on the first node";
    EXPECT_NEAR(sum(result, 1).up, 200e6, 1) << "uplink " << uplink;
    EXPECT_EQ(sum(result, 0).up + sum(result, 1).down, 0) << "uplink " << uplink;
    EXPECT_EQ(result.series.samples[1].racks[0].down, 0) << "uplink " << uplink << ": the maps still run";
    const double at_first = uplink == 25e6 ? 5 * uplink : 200e6;
    EXPECT_NEAR(result.series.samples[2].racks[0].down, at_first, 1) << "uplink " << uplink;
  }
  EXPECT_TRUE(run(workload, cluster(4, 1), "fifo", options).series.samples.front().racks.empty()) << "a single rack has no uplink";
}

/// 8 cores. The first job has two of them, the second six; the third waits.
TEST(Accounts, JainIndexOfAllSharesAndOfFairShares) {
  const Workload workload = jobs({job(Time(0), {stage(2, seconds(100))}, "ann"), job(Time(0), {stage(6, seconds(100))}, "bob"),
                                  job(Time(0), {stage(8, seconds(100))}, "bob")});
  RunOptions options;
  options.fairness_window = seconds(50);
  const RunResult result = run(workload, cluster(2, 4), "fifo", options);
  ASSERT_EQ(result.fairness.jobs.size(), 4u);
  EXPECT_NEAR(result.fairness.jobs[0], 1 / (3 * (0.0625 + 0.5625)), 1e-9) << "1/4, 3/4 and nothing";
  EXPECT_NEAR(result.fairness.users[0], 1 / (2 * (0.0625 + 0.5625)), 1e-9) << "1/4 and 3/4";
  EXPECT_NEAR(result.fairness.fair_shares[0], 1.75 * 1.75 / (2 * (0.5625 + 1)), 1e-9)
      << "3/4 of a third, and more than a third, which is as good as a third";
  EXPECT_EQ(result.fairness.fair_shares[3], 1) << "the last one is alone";
  EXPECT_NEAR(result.fairness.mean_fair_shares, 0.98, 1e-9) << "of the first two windows";
}

/// A fair share is an equal part for as long as a job is there.
TEST(Accounts, FairSharesFollowTheNumberOfJobs) {
  const Workload workload = jobs({job(Time(0), {stage(4, seconds(25))}), job(seconds(25), {stage(4, seconds(25))}),
                                  job(seconds(25), {stage(1, seconds(25))})});
  RunOptions options;
  options.fairness_window = seconds(50);
  const RunResult result = run(workload, cluster(1, 8), "fifo", options);
  // 1/2 alone; then 1/2 and 1/8 of two, whose fair share is 1/2 each.
  ASSERT_EQ(result.fairness.fair_shares.size(), 1u);
  EXPECT_NEAR(result.fairness.fair_shares[0], 1.75 * 1.75 / (3 * (0.25 + 1 + 0.0625)), 1e-9);
}

TEST(Accounts, CountRunningTasksOfTheUsersWithMostTasksAndOfAllOthers) {
  Workload workload;
  for (std::uint32_t user = 1; user <= 10; ++user) {
    workload.jobs.push_back(job(Time(0), {stage(user, seconds(user == 10 ? 20 : 10))}));
    workload.jobs.back().options.user = "u" + std::to_string(user);
  }
  RunOptions options;
  options.series_step = seconds(10);
  const RunResult result = run(workload, cluster(55, 1), "fifo", options);
  EXPECT_EQ(result.series.users, (std::vector<std::string>{"u10", "u9", "u8", "u7", "u6", "u5", "u4", "others"}));
  ASSERT_FALSE(result.series.samples.empty());
  EXPECT_EQ(result.series.samples[0].tasks_of_users, (std::vector<double>{10, 9, 8, 7, 6, 5, 4, 3 + 2 + 1}));
  EXPECT_EQ(result.series.samples[1].tasks_of_users, (std::vector<double>{10, 0, 0, 0, 0, 0, 0, 0}));
  workload.jobs.resize(8);
  EXPECT_EQ(run(workload, cluster(55, 1), "fifo", options).series.users.back(), "u1") << "eight are shown by their names";
}

}  // namespace
}  // namespace weft::simulator::test
