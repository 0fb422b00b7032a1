// Reduces that start before all maps have ended (--slow-start), on real processes: the same outputs, whoever is lost meanwhile.
#include <algorithm>
#include <filesystem>
#include <functional>

#include "tests/cluster/cluster.hpp"
#include "tests/cluster/network_data.hpp"
#include "tests/reference/reference.hpp"
#include "tests/support/event_lines.hpp"

namespace weft::test {
namespace {

using Words = std::vector<std::string>;

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

/// A job whose last map ends when it is told to.
class EarlyReaders : public testing::Test {
 protected:
  Words cross(const Words& more) const {
    return Words{"cross", "--records", "20000", "--tasks", "9", "--partitions", "6", "--marker", marker_} + more;
  }
  void let_maps_end() const { write_file(marker_ + ".maps", ""); }
  void let_readers_go() const { write_file(marker_ + ".go", ""); }
  /// What the job prints, by a run in one process that waits for nothing.
  std::string expected() {
    const std::string marker = scratch_ / "other";
    for (const char* end : {".maps", ".go"}) write_file(marker + end, "");
    return run(Words{program("cluster_probe"), "cross", "--records", "20000", "--tasks", "9", "--quiet", "--marker", marker}).out;
  }
  std::size_t readers(const char* event = "task_launched") { return log_.count(event, {"\"stage\":1,"}); }

  ScratchDirectory scratch_;
  Cluster cluster_{0, {"--event-log", scratch_ / "log"}};
  EventLines log_{scratch_ / "log"};
  std::string marker_ = scratch_ / "marker";
};

TEST_F(EarlyReaders, ReadWhatThereIsAndWaitForTheRest) {
  for (int i = 0; i < 3; ++i) cluster_.add_worker();
  ASSERT_TRUE(cluster_.has_nodes(3));
  let_readers_go();
  Process job(cluster_.job(cross({"--slow-start", "0.05"})), cluster_.options());
  ASSERT_TRUE(eventually([&] { return readers() >= 5; })) << job.err_so_far();
  ASSERT_TRUE(eventually([&] { return log_.count("task_finished") >= 8; }));
  EXPECT_EQ(readers("task_finished"), 0u) << "a map has not ended";
  const std::string explained = cluster_.admin({"job", "explain", "1"}).out, status = cluster_.admin({"job", "status", "1"}).out;
  EXPECT_NE(explained.find("started early and wait for map outputs of stage 0"), std::string::npos) << explained;
  EXPECT_NE(status.find("8 of 9 tasks done"), std::string::npos) << status;
  EXPECT_NE(cluster_.admin({"job", "explain", "1", "--json"}).out.find("\"kind\":\"outputs\""), std::string::npos);
  let_maps_end();
  const auto result = job.wait();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected());
  EXPECT_EQ(log_.count("task_failed"), 0u);
  EXPECT_EQ(log_.count("task_killed"), 0u);
}

TEST_F(EarlyReaders, WithoutTheOptionThereAreNone) {
  cluster_.add_worker({"--slots", "4"});
  ASSERT_TRUE(cluster_.has_nodes(1));
  let_readers_go();
  Process job(cluster_.job(cross({})), cluster_.options());
  ASSERT_TRUE(eventually([&] { return log_.count("task_finished") >= 8; })) << job.err_so_far();
  EXPECT_EQ(readers(), 0u);
  let_maps_end();
  EXPECT_EQ(job.wait().exit_code, 0);
}

TEST_F(EarlyReaders, MakeWayWhenTheMapsTheyWaitForAreLostWithTheirWorker) {
  for (int i = 1; i <= 2; ++i) {
    cluster_.add_worker({"--slots", "1"});
    ASSERT_TRUE(cluster_.has_nodes(i)) << "so that the first is node 1";
  }
  let_readers_go();
  Process job(cluster_.job(cross({"--slow-start", "0.05"})), cluster_.options());
  ASSERT_TRUE(eventually([&] { return readers() >= 1 && log_.count("task_finished") >= 8; })) << job.err_so_far();
  const std::string last = "\"stage\":0,\"task\":8,";
  ASSERT_EQ(log_.count("task_launched", {last}), 1u);
  cluster_.worker(log_.count("task_launched", {last, "\"node\":1,"}) == 1 ? 0 : 1).signal(SIGKILL);
  ASSERT_TRUE(eventually([&] { return log_.count("task_launched", {last}) == 2; })) << "the reader holds the only slot";
  EXPECT_GE(log_.count("task_killed", {"makes way"}), 1u);
  let_maps_end();
  const auto result = job.wait();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, expected());
  EXPECT_EQ(log_.count("task_failed", {"did not stop"}), 0u);
}

TEST_F(EarlyReaders, ReadOutputsOfALostWorkerWhereTheyAreMadeAgain) {
  for (int i = 0; i < 3; ++i) cluster_.add_worker({"--slots", "3"});
  ASSERT_TRUE(cluster_.has_nodes(3));
  let_readers_go();
  std::size_t victim = 0;
  for (const Words& mode : {Words{}, Words{"--shuffle-replicas", "2"}, Words{"--shuffle-mode", "pull"}}) {
    SCOPED_TRACE(mode.empty() ? "memory" : mode.back());
    const std::size_t from = log_.read().size();
    Process job(cluster_.job(cross(Words{"--slow-start", "0"} + mode)), cluster_.options());
    ASSERT_TRUE(eventually([&] {
      return log_.count("task_launched", {"\"stage\":1,"}, from) >= 6 && log_.count("task_finished", {}, from) >= 8;
    })) << job.err_so_far();
    cluster_.worker(victim++).signal(SIGKILL);
    ASSERT_TRUE(eventually([&] { return log_.count("worker_lost", {}, from) == 1; }));
    let_maps_end();
    const auto result = job.wait();
    ASSERT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, expected());
    std::filesystem::remove(marker_ + ".maps");
    cluster_.add_worker({"--slots", "3"});
    ASSERT_TRUE(cluster_.has_nodes(3));
  }
}

TEST_F(EarlyReaders, EndWithTheirJobWhenItIsKilled) {
  cluster_.add_worker({"--slots", "4"});
  ASSERT_TRUE(cluster_.has_nodes(1));
  Process job(cluster_.job(cross({"--slow-start", "0.05"})), cluster_.options());
  ASSERT_TRUE(eventually([&] { return readers() >= 3; })) << job.err_so_far();
  EXPECT_EQ(cluster_.admin({"job", "kill", "1"}).exit_code, 0);
  EXPECT_NE(job.wait().exit_code, 0);
}

/// Applications whose readers start when the first maps have ended.
class EarlyApplications : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) cluster_.add_worker();
    ASSERT_TRUE(cluster_.has_nodes(3));
  }
  std::string file(const std::string& name, const std::string& content) {
    write_file(scratch_ / name, content);
    return scratch_ / name;
  }
  /// Standing, private and in one process.
  void everywhere(const Words& job, const std::function<void(const std::string& output)>& check) {
    for (const Words& place : {Words{"--cluster", cluster_.address()}, Words{"--workers", "2"}, Words{"--threads", "4"}}) {
      SCOPED_TRACE(place.front());
      const std::string output = scratch_ / "output";
      Words words = job;
      words.front() = program(job.front());
      words = words + place + Words{"--slow-start", "0.05", "--quiet", "--overwrite", "--partitions", "7", "--output", output};
      words = words + (GetParam() == "replicas" ? Words{"--shuffle-replicas", "2"} : Words{"--shuffle-mode", GetParam()});
      const auto result = run(words, cluster_.options());
      ASSERT_EQ(result.exit_code, 0) << result.err;
      check(output);
    }
  }
  void lines_everywhere(const Words& job, std::vector<std::string> expected) {
    std::sort(expected.begin(), expected.end());
    everywhere(job, [&](const std::string& output) {
      auto lines = part_lines(output);
      std::sort(lines.begin(), lines.end());
      EXPECT_TRUE(lines == expected);
    });
  }

  ScratchDirectory scratch_;
  Cluster cluster_{0};
};

TEST_P(EarlyApplications, SortAsTheReference) {
  const std::string records = mixed_records(60'000, 1), sorted = reference::terasort(records);
  everywhere({"terasort", "sort", "--input", file("records", records)},
             [&](const std::string& output) { EXPECT_TRUE(part_bytes(output) == sorted); });
}

TEST_P(EarlyApplications, JoinAsTheReference) {
  const std::string left = users(3'000), right = mixed_orders(60'000, 3'000, 2);
  lines_everywhere({"join", "--left", file("left", left), "--right", file("right", right)}, joined(left, right));
}

TEST_P(EarlyApplications, CountWordsAsTheReference) {
  const std::string text = some_words(200'000, 3);
  lines_everywhere({"wordcount", "--input", file("text", text)}, reference::wordcount({text}));
}

INSTANTIATE_TEST_SUITE_P(Modes, EarlyApplications, testing::Values("memory", "pull", "replicas"),
                         [](const auto& mode) { return mode.param; });

TEST(EarlyReadersOption, IsAPartOfTheMaps) {
  for (const Words& command :
       {Words{program("weft"), "master", "--listen", "127.0.0.1:0"}, Words{program("cluster_probe"), "sums"}}) {
    const auto result = run(command + Words{"--slow-start", "1.5"});
    EXPECT_EQ(result.exit_code, 2);
    EXPECT_NE(result.err.find("--slow-start"), std::string::npos) << result.err;
  }
}

}  // namespace
}  // namespace weft::test
