// Workers that are told to end and hand over what others need of them first (weft worker --drain).
#include "tests/cluster/cluster.hpp"
#include "tests/support/event_lines.hpp"

namespace weft::test {
namespace {

constexpr std::size_t kHeldMaps = 9;

class Leaving : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) cluster_.add_worker({"--drain", "10min"});
    ASSERT_TRUE(cluster_.has_nodes(3));
  }
  std::vector<std::string> job(const std::string& mode, const std::string& partitions) {
    return cluster_.job(
        {mode, "--records", "50000", "--tasks", std::to_string(kHeldMaps), "--partitions", partitions, "--marker", marker_});
  }
  std::string nodes() const { return cluster_.admin({"node", "list"}).out; }

  ScratchDirectory scratch_;
  // Tasks wait for the test here: on a slow machine so long that they would get speculative attempts, of which one is killed.
  Cluster cluster_{0, {"--event-log", scratch_ / "log", "--speculation", "off"}};
  EventLines log_{scratch_ / "log"};
  std::string marker_ = scratch_ / "marker";
};

TEST_F(Leaving, AWorkerFinishesItsTasksAndHandsItsOutputsOver) {
  Process process(job("hold", "12"), cluster_.options());
  ASSERT_TRUE(eventually([&] {
    return log_.count("task_finished", {"\"stage\":0,"}) >= kHeldMaps && access((marker_ + ".held").c_str(), F_OK) == 0;
  })) << process.err_so_far();
  cluster_.worker(0).signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return log_.count("worker_leaving") == 1; }));
  EXPECT_NE(nodes().find("leaving"), std::string::npos) << nodes();
  EXPECT_NE(cluster_.admin({"node", "wait", "3", "--timeout", "0s"}).exit_code, 0) << "it is not ready any more";
  ASSERT_TRUE(eventually([&] { return log_.count("output_copied") > 0; })) << "the job wants one copy of its outputs";
  EXPECT_TRUE(cluster_.worker(0).running()) << "tasks of it wait";
  write_file(marker_ + ".go", "");
  const auto result = process.wait();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(50000));
  const auto worker = cluster_.worker(0).wait();
  EXPECT_EQ(worker.exit_code, 0) << worker.err;
  EXPECT_NE(worker.err.find("everything is handed over"), std::string::npos) << worker.err;
  EXPECT_EQ(log_.maps_again(), 0u);
  EXPECT_EQ(log_.count("task_failed"), 0u);
  EXPECT_EQ(log_.count("worker_lost", {"it left"}), 1u);
}

TEST_F(Leaving, AWorkerWithOutputsOnlyIsGoneWhileTheyAreRead) {
  Process process(job("hold_reading", "4"), cluster_.options());  // readers have read two outputs each, and wait
  const auto readers_on = [&](const std::string& node) {
    std::size_t count = 0;
    for (int task = 0; task < 4; ++task)
      count += access((marker_ + ".held." + std::to_string(task) + "." + node).c_str(), F_OK) == 0 ? 1 : 0;
    return count;
  };
  ASSERT_TRUE(eventually([&] { return readers_on("w1") + readers_on("w2") + readers_on("w3") == 4; })) << process.err_so_far();
  for (std::size_t index : {0u, 1u, 2u}) {
    if (readers_on("w" + std::to_string(index + 1)) > 0) continue;
    cluster_.worker(index).signal(SIGTERM);
    const auto worker = cluster_.worker(index).wait();
    EXPECT_EQ(worker.exit_code, 0) << worker.err;
    EXPECT_NE(worker.err.find("everything is handed over"), std::string::npos) << worker.err;
  }
  write_file(marker_ + ".go", "");
  const auto result = process.wait();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(50000));
  EXPECT_EQ(log_.maps_again(), 0u);
  EXPECT_EQ(log_.count("task_failed"), 0u);
}

TEST_F(Leaving, ASecondSignalEndsItAtOnce) {
  Process process(job("hold", "12"), cluster_.options());
  ASSERT_TRUE(eventually([&] { return access((marker_ + ".held").c_str(), F_OK) == 0; })) << process.err_so_far();
  cluster_.worker(0).signal(SIGTERM);
  ASSERT_TRUE(eventually([&] { return log_.count("worker_leaving") == 1; }));
  cluster_.worker(0).signal(SIGTERM);
  cluster_.worker(0).wait();
  write_file(marker_ + ".go", "");
  const auto result = process.wait();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(50000));
}

TEST_F(Leaving, AnIdleWorkerIsGoneAtOnceAndItsTimeIsBounded) {
  cluster_.worker(1).signal(SIGTERM);
  EXPECT_EQ(cluster_.worker(1).wait().exit_code, 0);
  Process& hasty = cluster_.add_worker({"--name", "hasty", "--slots", "8", "--drain", "300ms"});
  ASSERT_TRUE(cluster_.has_nodes(3));
  Process process(job("hold", "12"), cluster_.options());
  ASSERT_TRUE(eventually([&] { return log_.count("task_launched", {"\"stage\":1,"}) >= 12; })) << process.err_so_far();
  hasty.signal(SIGTERM);
  const auto ended = hasty.wait();
  EXPECT_EQ(ended.exit_code, 0) << ended.err;
  EXPECT_NE(ended.err.find("not everything was handed over in 300ms: "), std::string::npos) << ended.err;
  write_file(marker_ + ".go", "");
  const auto result = process.wait();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(50000)) << "what it did not finish is done again";
}

TEST_F(Leaving, AWrongChoiceIsRefusedInOneLine) {
  const auto wrong = run({program("weft"), "worker", "--master", cluster_.address(), "--drain-chunks", "some"});
  EXPECT_NE(wrong.exit_code, 0);
  EXPECT_NE(wrong.err.find("worker.drain_chunks is 'some'; it can be sole or all"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace weft::test
