// Outputs that are lost when some tasks have read them, and are made again as others, on real processes.
#include "tests/cluster/cluster.hpp"
#include "tests/support/event_lines.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t kRows = 50'000;

/// Three workers, and a job that spreads sums over twelve tasks: four have ended when a worker dies, with outputs that they have
/// read.
class Rollback : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) cluster_.add_worker();
    ASSERT_TRUE(cluster_.has_nodes(3));
  }
  /// The worker dies when, besides, `replicas` outputs have been replicated.
  ProcessResult run_and_kill(std::vector<std::string> more, std::size_t replicas) {
    std::vector<std::string> command =
        cluster_.job({"spread", "--records", std::to_string(kRows), "--tasks", "6", "--partitions", "6", "--marker", marker_});
    command.insert(command.end(), more.begin(), more.end());
    Process process(command, cluster_.options());
    EXPECT_TRUE(eventually([&] {
      return log_.count("task_finished", {"\"stage\":2,"}) >= 4 && log_.count("output_copied") >= replicas;
    })) << process.err_so_far();
    cluster_.worker(0).signal(SIGKILL);
    EXPECT_TRUE(eventually([&] { return log_.count("worker_lost") == 1; }));
    write_file(marker_ + ".go", "");
    return process.wait();
  }

  ScratchDirectory scratch_;
  Cluster cluster_{0, {"--event-log", scratch_ / "log"}};
  EventLines log_{scratch_ / "log"};
  std::string marker_ = scratch_ / "marker";
};

TEST_F(Rollback, NoRecordIsLostAndNoneIsDoubled) {
  const auto result = run_and_kill({}, 0);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(kRows));
  EXPECT_EQ(log_.count("stage_rolled_back", {"\"stage\":2,", "outputs of stage 1 (repartition"}), 1u);
  EXPECT_EQ(log_.count("task_failed", {"\"stage\":2,"}), log_.count("task_failed", {"\"stage\":2,", "\"kind\":\"killed\""}));
}

TEST_F(Rollback, NothingRunsAgainWhereOutputsHaveReplicas) {
  const auto result = run_and_kill({"--shuffle-replicas", "2"}, 16);
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(kRows));
  EXPECT_EQ(log_.count("stage_rolled_back"), 0u);
}

}  // namespace
}  // namespace weft::test
