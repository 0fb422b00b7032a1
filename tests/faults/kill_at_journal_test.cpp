// A master that is killed at each write and each sync of its journal in turn, while it runs a job of two actions and an output: the
// next master goes on with the job, and nothing that was acknowledged runs again. Which records share a write is for the machine to
// say: WEFT_LONG=1 goes over all points ten times.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/sanitized.hpp"
#include "tests/cluster/kept_cluster.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t kRecords = 4000;
constexpr std::uint32_t kMostPoints = 1000;

std::vector<std::string> expected_rows() {
  std::map<std::uint64_t, std::uint64_t> sums;
  for (std::uint64_t i = 0; i < kRecords; ++i) sums[i % 1000 % 500] += i;
  std::vector<std::string> rows;
  for (const auto& [key, sum] : sums) rows.push_back(std::to_string(key) + " " + std::to_string(sum));
  std::sort(rows.begin(), rows.end());
  return rows;
}

class KillAtJournal : public testing::Test {
 protected:
  void SetUp() override {
    if (kSanitized) GTEST_SKIP() << "a sanitizer's runtime wants to be loaded first";
  }

  struct Outcome {
    bool killed = false;
    std::string counters;
  };
  /// One run of the job on a cluster of its own, whose master is killed at the point (0: at none). The point may come before the
  /// master listens, or while its workers join.
  static Outcome run_job(std::uint32_t point) {
    KeptCluster cluster;
    cluster.start_master(
        {{"LD_PRELOAD", WEFT_KILL_AT_LIBRARY}, {"WEFT_KILL_PATH", cluster.journal()}, {"WEFT_KILL_AT", std::to_string(point)}});
    if (point > 0) cluster.master().expect_death();
    for (const std::string worker : {"w1", "w2"}) cluster.start_worker(worker);
    const std::string output = cluster.scratch() / "out";
    Process driver(cluster.job("cluster_probe", {"mixed", "--records", std::to_string(kRecords), "--tasks", "4", "--output", output,
                                                 "--request-id", "once", "--speculate", "off"}),
                   cluster.options());
    Outcome outcome;
    std::string facts;  // that were in the journal when the master was killed
    std::size_t before = 0;
    const auto restart = [&] {
      EXPECT_EQ(cluster.master().wait().exit_code, 128 + SIGKILL) << cluster.master().err_so_far();
      facts = cluster.facts();
      before = cluster.events().size();
      cluster.start_master();
    };
    EXPECT_TRUE(eventually(
        [&] {
          if (!outcome.killed && !cluster.master().running()) outcome.killed = true, restart();
          return !driver.running();
        },
        std::chrono::seconds(60)))
        << cluster.master().err_so_far();
    if (driver.running()) driver.signal(SIGKILL);
    const ProcessResult ended = driver.wait();
    if (!outcome.killed) {  // it may be killed while a worker joins that the job did not need
      cluster.master().signal(SIGKILL);
      restart();
    }
    EXPECT_EQ(ended.exit_code, 0) << ended.err << cluster.master().err_so_far();
    EXPECT_EQ(ended.out, "keys 1000 even 500\n");
    auto rows = part_lines(output);
    std::sort(rows.begin(), rows.end());
    EXPECT_TRUE(rows == expected_rows());
    const std::string list = cluster.admin({"job", "list", "--json"}).out;
    EXPECT_TRUE(has(list, "\"id\":1,") && has(list, "\"state\":\"finished\"") && !has(list, "\"id\":2,")) << list;
    EXPECT_EQ(launched_again(facts, cluster.events(), before), std::vector<std::string>{});
    outcome.counters = cluster.admin({"job", "counters", "1", "--json"}).out;
    return outcome;
  }
};

TEST_F(KillAtJournal, AJobGoesOnFromEveryWriteAndEverySync) {
  const std::string usual = run_job(0).counters;
  ASSERT_TRUE(has(usual, std::to_string(kRecords))) << usual;
  for (int round = 0; round < (std::getenv("WEFT_LONG") != nullptr ? 10 : 1); ++round) {
    std::uint32_t killed = 0;
    // Records that share a sync make points fewer: the last ones are in some runs only.
    for (std::uint32_t point = 1, missed = 0; point < kMostPoints && missed < 3; ++point) {
      SCOPED_TRACE("point " + std::to_string(point));
      const Outcome outcome = run_job(point);
      EXPECT_EQ(outcome.counters, usual);
      ++(outcome.killed ? killed : missed);
    }
    std::printf("killed at %u points\n", killed);
    EXPECT_GT(killed, 40u);
  }
}

}  // namespace
}  // namespace weft::test
