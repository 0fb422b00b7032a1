// Shuffles of both modes on workers that share nothing: the same outputs, blocks prefetched or not, and processes killed.
#include <algorithm>
#include <random>

#include "tests/cluster/cluster.hpp"
#include "tests/reference/reference.hpp"

namespace weft::test {
namespace {

const std::vector<std::string> kApart{"--share", "false"};

std::string words(unsigned seed, int count) {
  std::mt19937 random(seed);
  std::string text;
  for (int i = 0; i < count; ++i) text += "w" + std::to_string(random() % 50'000) + (i % 12 == 0 ? "\n" : " ");
  return text;
}

/// Whether a worker's log says that it prefetched.
bool prefetched(Cluster& cluster, std::size_t workers) {
  for (std::size_t i = 0; i < workers; ++i) {
    if (cluster.worker(i).err_so_far().find(" were prefetched, ") != std::string::npos) return true;
  }
  return false;
}

class ShuffleModes : public testing::TestWithParam<std::string> {
 protected:
  std::vector<std::string> wordcount(const Cluster& cluster, const std::string& output, const std::string& mode = "") {
    std::vector<std::string> command{program("wordcount"), "--quiet", "--cluster", cluster.address(),
                                     "--partitions",       "12",      "--input",   input_,
                                     "--output",           output};
    if (!mode.empty()) command.insert(command.end(), {"--shuffle-mode", mode});
    return command;
  }
  void expect_right(const std::string& output) {
    auto lines = part_lines(output);
    std::sort(lines.begin(), lines.end());
    EXPECT_TRUE(lines == expected_);
  }
  void SetUp() override {
    const std::string text = words(5, 1'500'000);
    write_file(input_, text);
    expected_ = reference::wordcount({text});
  }

  ScratchDirectory scratch_;
  std::string input_ = scratch_ / "text";
  std::vector<std::string> expected_;
};

TEST_P(ShuffleModes, GiveTheSameOutputs) {
  Cluster cluster(0, {"--shuffle-mode", GetParam()});
  for (int i = 0; i < 3; ++i) cluster.add_worker(kApart);
  ASSERT_TRUE(cluster.has_nodes(3));
  const auto result = run(wordcount(cluster, scratch_ / "out"), cluster.options());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_right(scratch_ / "out");
  const bool ahead = GetParam() == "memory";
  EXPECT_TRUE(!ahead || eventually([&] { return prefetched(cluster, 3); }));
  const std::string other = ahead ? "pull" : "memory";  // a job says otherwise
  const auto second = run(wordcount(cluster, scratch_ / "other", other), cluster.options());
  ASSERT_EQ(second.exit_code, 0) << second.err;
  expect_right(scratch_ / "other");
  EXPECT_TRUE(ahead || eventually([&] { return prefetched(cluster, 3); }));
}

TEST_P(ShuffleModes, GiveTheSameOutputsWhenStoresHoldLittle) {
  Cluster cluster(0, {"--shuffle-mode", GetParam()});
  for (int i = 0; i < 3; ++i) cluster.add_worker({"--share", "false", "--store-memory", "512KiB"});
  ASSERT_TRUE(cluster.has_nodes(3));
  const auto result = run(wordcount(cluster, scratch_ / "out"), cluster.options());
  ASSERT_EQ(result.exit_code, 0) << result.err;
  expect_right(scratch_ / "out");
  const std::string status = cluster.admin({"job", "status", "1", "--json"}).out;
  EXPECT_EQ(status.find("\"rounds_evicted\"") != std::string::npos, GetParam() == "memory") << status;
}

TEST_P(ShuffleModes, SurviveTheLossOfAWorker) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    Cluster cluster(0, {"--shuffle-mode", GetParam()});
    for (int i = 0; i < 3; ++i) cluster.add_worker(kApart);
    ASSERT_TRUE(cluster.has_nodes(3));
    const std::string output = scratch_ / ("out" + std::to_string(seed));
    Process job(wordcount(cluster, output), cluster.options());
    const auto moment = std::chrono::steady_clock::now() + std::chrono::milliseconds(random() % 1500);
    eventually([&] { return !job.running() || std::chrono::steady_clock::now() >= moment; }, std::chrono::seconds(60));
    cluster.worker(random() % 3).signal(SIGKILL);
    const auto result = job.wait();
    ASSERT_EQ(result.exit_code, 0) << result.err;
    expect_right(output);
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, ShuffleModes, testing::Values("memory", "pull"), [](const auto& mode) { return mode.param; });

TEST(ShuffleMode, ThatDoesNotExistIsRefused) {
  const auto master = run({program("weft"), "master", "--shuffle-mode", "push"});
  EXPECT_NE(master.exit_code, 0);
  EXPECT_NE(master.err.find("--shuffle-mode"), std::string::npos) << master.err;
}

TEST(ShuffleMode, PullIsForOneProcessToo) {
  const auto result =
      run({program("cluster_probe"), "sums", "--quiet", "--shuffle-mode", "pull", "--records", "20000", "--tasks", "9"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected_sums(20000));
}

}  // namespace
}  // namespace weft::test
