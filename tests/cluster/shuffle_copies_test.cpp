// Map outputs in two copies, on real processes: a worker that dies takes none with it, and no map runs again.
#include <algorithm>

#include "tests/cluster/cluster.hpp"
#include "tests/support/event_lines.hpp"

namespace weft::test {
namespace {

constexpr std::size_t kMaps = 9;

/// A master with a history, three workers, and a job whose reduces wait for a file: some have begun, others have no slot yet.
class ShuffleCopies : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) cluster_.add_worker();
    ASSERT_TRUE(cluster_.has_nodes(3));
  }
  std::vector<std::string> job(std::vector<std::string> more) {
    std::vector<std::string> command =
        cluster_.job({"hold", "--records", "50000", "--tasks", std::to_string(kMaps), "--partitions", "12", "--marker", marker_});
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
  /// Kills a worker when all maps have ended and so many copies are there, and lets the job go on.
  ProcessResult run_and_kill(std::vector<std::string> more, std::size_t copies) {
    Process process(job(std::move(more)), cluster_.options());
    EXPECT_TRUE(eventually([&] {
      return log_.count("task_finished", {"\"stage\":0,"}) >= kMaps && log_.count("output_copied") >= copies &&
             access((marker_ + ".held").c_str(), F_OK) == 0;
    })) << process.err_so_far();
    cluster_.worker(0).signal(SIGKILL);
    EXPECT_TRUE(eventually([&] { return log_.count("worker_lost") == 1; }));
    status_ = cluster_.admin({"job", "status", "1"}).out;
    write_file(marker_ + ".go", "");
    return process.wait();
  }

  ScratchDirectory scratch_;
  Cluster cluster_{0, {"--event-log", scratch_ / "log"}};
  EventLines log_{scratch_ / "log"};
  std::string marker_ = scratch_ / "marker";
  std::string status_;
};

TEST_F(ShuffleCopies, AWorkerThatDiesTakesNoOutputWithIt) {
  const auto result = run_and_kill({"--shuffle-replicas", "2"}, kMaps);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(50000));
  EXPECT_EQ(log_.maps_again(), 0u);
  EXPECT_GT(log_.count("output_moved", {"was lost"}), 0u);
  EXPECT_GT(log_.count("copy_started"), kMaps) << "and another copy is made";
  EXPECT_NE(status_.find("replicas of map outputs: "), std::string::npos) << status_;
  EXPECT_NE(status_.find("outputs were lost and read from their replicas"), std::string::npos) << status_;
  const std::string after = cluster_.admin({"job", "status", "1"}).out;
  EXPECT_NE(after.find("map outputs had replicas, "), std::string::npos) << after;
}

TEST_F(ShuffleCopies, ATaskInTheMiddleOfReadingGoesOnAtTheCopy) {
  constexpr std::uint64_t kRecords = 50'000;
  Process process(cluster_.job({"hold_reading", "--records", std::to_string(kRecords), "--tasks", std::to_string(kMaps),
                                "--partitions", "6", "--marker", marker_, "--shuffle-replicas", "2", "--shuffle-mode", "pull"}),
                  cluster_.options());
  const auto readers_on = [&](const std::string& node) {
    std::size_t count = 0;
    for (int task = 0; task < 6; ++task)
      count += access((marker_ + ".held." + std::to_string(task) + "." + node).c_str(), F_OK) == 0 ? 1 : 0;
    return count;
  };
  ASSERT_TRUE(eventually([&] {
    return log_.count("output_copied") >= kMaps && readers_on("w1") + readers_on("w2") + readers_on("w3") == 6;
  })) << process.err_so_far();
  ASSERT_GT(readers_on("w1") + readers_on("w3"), 0u);
  cluster_.worker(1).signal(SIGKILL);  // the one that all others fetch from
  EXPECT_TRUE(eventually([&] { return log_.count("worker_lost") == 1; }));
  write_file(marker_ + ".go", "");
  const auto result = process.wait();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(kRecords));
  EXPECT_EQ(log_.maps_again(), 0u);
  EXPECT_EQ(log_.count("task_failed"), 0u) << "readers went on";
  EXPECT_GT(log_.count("output_moved", {"worker w2 was lost"}), 0u) << "the history says why";
}

TEST_F(ShuffleCopies, WithoutThemItsMapsRunAgain) {
  const auto result = run_and_kill({}, 0);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(50000));
  EXPECT_GT(log_.maps_again(), 0u);
  EXPECT_EQ(log_.count("copy_started"), 0u);
  EXPECT_EQ(status_.find("replica"), std::string::npos) << status_;
}

TEST_F(ShuffleCopies, AreReleasedWithTheirJob) {
  write_file(marker_ + ".go", "");
  const auto result = run(job({"--shuffle-replicas", "2", "--shuffle-mode", "pull"}), cluster_.options());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(50000));
  EXPECT_GT(log_.count("copy_started"), 0u);
  EXPECT_EQ(log_.maps_again(), 0u);
}

TEST(ShuffleReplicas, AMasterHasADefaultForJobsThatDoNotSay) {
  ScratchDirectory scratch;
  Cluster cluster(2, {"--event-log", scratch / "log", "--shuffle-replicas", "2"});
  EventLines log(scratch / "log");
  const std::vector<std::string> words{"sums", "--records", "20000", "--tasks", "5"};
  EXPECT_EQ(run(cluster.job(words), cluster.options()).out, expected_sums(20000));
  EXPECT_EQ(log.count("job_submitted", {"\"shuffle_replicas\":2"}), 1u);
  EXPECT_GT(log.count("copy_started"), 0u);
  const std::size_t before = log.read().size();
  auto one = words;
  one.insert(one.end(), {"--shuffle-replicas", "1"});
  EXPECT_EQ(run(cluster.job(one), cluster.options()).out, expected_sums(20000));
  EXPECT_EQ(log.count("copy_started", {}, before), 0u);
}

TEST(ShuffleReplicas, OtherNumbersAreRefusedInOneLine) {
  for (const std::string number : {"0", "3", "x"}) {
    for (const auto& command :
         {std::vector<std::string>{program("weft"), "master", "--listen", "127.0.0.1:0", "--shuffle-replicas", number},
          std::vector<std::string>{program("cluster_probe"), "sums", "--shuffle-replicas", number}}) {
      const auto result = run(command);
      EXPECT_NE(result.exit_code, 0);
      EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
      EXPECT_NE(result.err.find("--shuffle-replicas"), std::string::npos) << result.err;
    }
  }
}

TEST(ShuffleReplicas, OneProcessKeepsOneCopyWhateverIsAsked) {
  const auto result =
      run({program("cluster_probe"), "sums", "--quiet", "--shuffle-replicas", "2", "--records", "20000", "--tasks", "9"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(20000));
}

}  // namespace
}  // namespace weft::test
