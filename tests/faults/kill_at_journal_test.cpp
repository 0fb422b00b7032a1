// A master that is killed at each write and each sync of what it keeps in turn, while it runs a job of two actions and an output,
// and while it carries out orders of all kinds: the next master goes on, what was acknowledged is there, and nothing of it runs
// again. Which records share a write is for the machine to say: WEFT_LONG=1 goes over all points of the job ten times, and over all
// of the orders.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <future>
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

/// Files, a table, jobs that are detached, waited for and killed, a worker's capacity: each order is given when the one before it
/// has been acknowledged. Beside that, the master is started again when it has died.
class KillAtOrders : public KillAtJournal {
 protected:
  /// A cluster whose master is killed at the point (0: at none), by an order if it comes so far, else at the end. Whether it was an
  /// order.
  static bool run_orders(std::uint32_t point) {
    KeptCluster cluster;
    cluster.start_master(
        {{"LD_PRELOAD", WEFT_KILL_AT_LIBRARY}, {"WEFT_KILL_PATH", cluster.data() + "/"}, {"WEFT_KILL_AT", std::to_string(point)}});
    if (point > 0) cluster.master().expect_death();
    for (const std::string worker : {"w1", "w2"})
      cluster.start_worker(worker, {"--chunk-dir", cluster.scratch() / worker, "--chunk-reserve", "1MiB"});
    const auto restart = [&cluster] {
      EXPECT_EQ(cluster.master().wait().exit_code, 128 + SIGKILL) << cluster.master().err_so_far();
      cluster.start_master();
    };
    auto given = std::async(std::launch::async, [&cluster] { give_orders(cluster); });
    bool killed = false;
    EXPECT_TRUE(eventually(
        [&] {
          if (!killed && !cluster.master().running()) killed = true, restart();
          return given.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
        },
        std::chrono::seconds(200)))
        << cluster.master().err_so_far();
    given.get();
    if (!killed) {
      cluster.master().signal(SIGKILL);
      restart();
    }
    expect_all_is_there(cluster);
    return killed;
  }

 private:
  static std::string once(const KeptCluster& cluster, std::vector<std::string> words) {
    words.insert(words.end(), {"--patience", "30s"});
    const ProcessResult done = cluster.admin(words);
    EXPECT_EQ(done.exit_code, 0) << words[0] << " " << words[1] << ": " << done.err;
    return done.out;
  }
  /// As the manual has it: an order is sent once, and whoever gives it repeats it when its answer is lost. `done_before`: what it
  /// says then where the first one was carried out.
  static void repeated(const KeptCluster& cluster, const std::vector<std::string>& words, const char* done_before = nullptr) {
    ProcessResult done;
    const auto is_done = [&] {
      done = cluster.admin(words);
      return done.exit_code == 0 || (done_before != nullptr && has(done.err, done_before));
    };
    EXPECT_TRUE(eventually(is_done)) << words[0] << " " << words[1] << ": " << done.err;
  }
  static std::string submit(const KeptCluster& cluster, const std::string& id, const std::vector<std::string>& words) {
    std::vector<std::string> command{program("weft"), "submit", "--detach", "--request-id",   id,
                                     "--patience",    "30s",    "--master", cluster.address()};
    command.insert(command.end(), words.begin(), words.end());
    const ProcessResult done = run(command, {.environment = {}, .deadline = std::chrono::seconds(60)});
    EXPECT_EQ(done.exit_code, 0) << "submit: " << done.err;
    return done.out;
  }

  static void give_orders(const KeptCluster& cluster) {
    const std::string words = cluster.scratch() / "words", marker = cluster.scratch() / "mark";
    write_file(words, "to be or not to be\n");
    once(cluster, {"fs", "mkdir", "weft://in"});
    once(cluster, {"fs", "put", words, "weft://in/words"});
    EXPECT_EQ(submit(cluster, "count", {program("wordcount"), "--", "--quiet", "--input", "weft://in", "--output", "weft://out"}),
              "1\n");
    once(cluster, {"table", "create", "t", "--partitions", "2", "--replication", "2"});
    once(cluster, {"table", "put", "t", "ann", "42"});
    repeated(cluster, {"node", "set", "w2", "slots=1", "--reason", "a new disk"});
    once(cluster, {"job", "wait", "1"});
    EXPECT_EQ(submit(cluster, "spin",
                     {program("cluster_probe"), "--", "spin", "--quiet", "--records", "1", "--tasks", "1", "--marker", marker}),
              "2\n");
    EXPECT_TRUE(eventually([&] { return exists(marker); })) << cluster.admin({"job", "status", "2"}).out;
    repeated(cluster, {"job", "kill", "2"}, "job 2 is over (killed)");
    once(cluster, {"fs", "mv", "weft://in/words", "weft://in/renamed"});
    once(cluster, {"table", "snapshot", "create", "t", "monday"});
    once(cluster, {"table", "put", "t", "ann", "43"});
  }
  static void expect_all_is_there(const KeptCluster& cluster) {
    EXPECT_EQ(once(cluster, {"fs", "cat", "weft://in/renamed"}), "to be or not to be\n");
    auto counts = lines_of(once(cluster, {"fs", "cat", "weft://out/part-*"}));
    std::sort(counts.begin(), counts.end());
    EXPECT_EQ(counts, (std::vector<std::string>{"be\t2", "not\t1", "or\t1", "to\t2"}));
    EXPECT_EQ(once(cluster, {"table", "get", "t", "ann"}), "43\n");
    EXPECT_EQ(once(cluster, {"table", "get", "t", "ann", "--snapshot", "monday"}), "42\n");
    const std::string jobs = once(cluster, {"job", "list", "--json"}), nodes = once(cluster, {"node", "list"});
    EXPECT_TRUE(has(jobs, "\"state\":\"finished\"") && has(jobs, "\"state\":\"killed\"") && !has(jobs, "\"id\":3,")) << jobs;
    EXPECT_TRUE(has(nodes, "a new disk")) << nodes;
  }
};

TEST_F(KillAtOrders, WhatWasAcknowledgedIsThereFromEveryWriteAndEverySync) {
  ASSERT_FALSE(run_orders(0));
  const std::uint32_t step = std::getenv("WEFT_LONG") != nullptr ? 1 : 29;
  std::uint32_t killed = 0;
  for (std::uint32_t point = 1, missed = 0; point < kMostPoints && missed < 3 && !HasFailure(); point += step) {
    SCOPED_TRACE("point " + std::to_string(point));
    ++(run_orders(point) ? killed : missed);
  }
  std::printf("killed at %u points\n", killed);
  EXPECT_GT(killed * step, 150u);
}

}  // namespace
}  // namespace weft::test
