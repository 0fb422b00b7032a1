// All that a cluster does, on a network of frames instead of loopback: every application, every shuffle mode, files and tables, on
// links as they are, on narrow ones, and on ones that lose packets. Outputs are those of the serial reference, and nobody dies.
#include <filesystem>
#include <map>
#include <optional>

#include "base/sanitized.hpp"
#include "tests/cluster/network_cluster.hpp"
#include "tests/cluster/network_data.hpp"
#include "tests/support/own_world.hpp"

namespace weft::test {
namespace {

constexpr int kWorkers = 3;
using Words = std::vector<std::string>;

/// The data of all tests on one kind of network.
struct Amounts {
  std::size_t records, orders, words, edges;
};
Amounts amounts(const Network& network) {
  if (kSanitized) return {60'000, 60'000, 60'000, 500};
  if (network.megabits != 0 || network.loss > 0) return {150'000, 120'000, 300'000, 1000};
  return {1'000'000, 700'000, 1'500'000, 3000};
}

const std::map<std::string, Words> kModes{{"memory", {"--shuffle-mode", "memory"}},
                                          {"pull", {"--shuffle-mode", "pull"}},
                                          {"replicas", {"--shuffle-replicas", "2"}},
                                          {"early", {"--slow-start", "0.05"}},
                                          {"early, pull", {"--slow-start", "0.05", "--shuffle-mode", "pull"}}};

class OnANetwork : public testing::TestWithParam<Network> {
 protected:
  void SetUp() override {
    if (kSanitized && (GetParam().megabits != 0 || GetParam().loss > 0))
      GTEST_SKIP() << "under a sanitizer the plain network is enough, and takes long enough";
    std::string missing = ShapedNetwork::missing();
    if (missing.empty()) {
      cluster_.emplace(kWorkers, GetParam());
      missing = cluster_->missing();
    }
    if (missing.empty()) return;
    std::printf("skipped: %s\n", missing.c_str());
    GTEST_SKIP() << missing;
  }
  void TearDown() override {
    if (!cluster_) return;
    EXPECT_TRUE(cluster_->alive());
    EXPECT_TRUE(cluster_->ready());
  }

  /// In every shuffle mode; what it wrote is given to `check`.
  void in_every_mode(const Words& job, const std::function<void(const std::string& output)>& check) {
    for (const auto& [mode, options] : kModes) {
      SCOPED_TRACE(job.front() + ", " + mode);
      const std::string output = scratch_ / "output";
      Words words = job;
      words.insert(words.end(), options.begin(), options.end());
      words.insert(words.end(), {"--overwrite", "--partitions", "9", "--output", output});
      const auto result = cluster_->job(words);
      ASSERT_EQ(result.exit_code, 0) << result.err;
      check(output);
      EXPECT_TRUE(cluster_->alive());
    }
  }
  void lines_in_every_mode(const Words& job, const std::vector<std::string>& expected) {
    const Fingerprint right = fingerprint(expected);
    in_every_mode(job, [&](const std::string& output) { EXPECT_TRUE(fingerprint(part_lines(output)) == right); });
  }
  std::string file(const std::string& name, const std::string& content) {
    write_file(scratch_ / name, content);
    return scratch_ / name;
  }

  ScratchDirectory scratch_;
  std::optional<NetworkCluster> cluster_;
  const Amounts amounts_ = amounts(GetParam());
};

TEST_P(OnANetwork, TeraSortIsTheReferences) {
  const std::string records = mixed_records(amounts_.records, 1), sorted = reference::terasort(records);
  in_every_mode({"terasort", "sort", "--input", file("records", records)},
                [&](const std::string& output) { EXPECT_TRUE(part_bytes(output) == sorted); });
}

TEST_P(OnANetwork, JoinsAreTheReferences) {
  const std::size_t count = amounts_.orders / 20;
  const std::string left = users(count), right = mixed_orders(amounts_.orders, count, 2);
  lines_in_every_mode({"join", "--left", file("left", left), "--right", file("right", right)}, joined(left, right));
}

TEST_P(OnANetwork, AppsOnTextAreTheReferences) {
  const std::vector<std::string> texts{some_words(amounts_.words, 3), some_words(amounts_.words, 4)};
  const std::vector<std::string> names{file("a", texts[0]), file("b", texts[1])};
  lines_in_every_mode({"wordcount", "--input", names[0], "--input", names[1]}, reference::wordcount(texts));
  lines_in_every_mode({"invertedindex", "--input", names[0], "--input", names[1]}, reference::inverted_index(names, texts));
  lines_in_every_mode({"grep", "--fixed", "--pattern", "w17", "--input", names[0], "--input", names[1]},
                      reference::grep_fixed(texts, "w17"));
}

TEST_P(OnANetwork, PageRankIsTheReferences) {
  Random random(5);
  std::string edges;
  const std::size_t nodes = amounts_.edges / 10;
  for (std::size_t i = 0; i < amounts_.edges; ++i)
    edges += "n" + std::to_string(random.below(nodes)) + "\tn" + std::to_string(random.below(nodes)) + "\n";
  const auto expected = reference::pagerank(edges, 3, 0.85);
  in_every_mode({"pagerank", "--input", file("edges", edges), "--iterations", "3", "--tolerance", "1e-12"},
                [&](const std::string& output) {
                  std::map<std::string, double> ranks;
                  for (const std::string& line : part_lines(output))
                    ranks[line.substr(0, line.find('\t'))] = std::stod(line.substr(line.find('\t') + 1));
                  ASSERT_EQ(ranks.size(), expected.nodes.size());
                  for (std::size_t i = 0; i < expected.nodes.size(); ++i)
                    EXPECT_NEAR(ranks[expected.nodes[i]], expected.ranks[i], 1e-4 * expected.ranks[i]);
                });
}

TEST_P(OnANetwork, FilesAndJobsOnThemAreWhole) {
  const std::string records = mixed_records(amounts_.records / 4, 6), unsorted = file("unsorted", records);
  const auto good = [](const ProcessResult& result) {
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  good(cluster_->weft({"fs", "put", unsorted, "weft://records"}));
  good(cluster_->weft({"fs", "get", "weft://records", scratch_ / "got"}));
  EXPECT_TRUE(read_file(scratch_ / "got") == records);
  good(cluster_->job({"terasort", "sort", "--input", "weft://records", "--output", "weft://sorted"}));
  EXPECT_TRUE(good(cluster_->weft({"fs", "cat", "weft://sorted/part-*"})) == reference::terasort(records));
}

TEST_P(OnANetwork, TablesAndJobsOnThemAreWhole) {
  std::string rows;
  for (std::size_t i = 0; i < amounts_.edges * 5; ++i)
    rows += "k" + std::to_string(1'000'000 + i) + "\tv" + std::to_string(i) + "\n";
  const auto good = [this](Words words) {
    words.insert(words.begin(), "table");
    const auto result = cluster_->weft(std::move(words));
    EXPECT_EQ(result.exit_code, 0) << result.err;
    return result.out;
  };
  for (const char* name : {"from", "to"}) good({"create", name, "--partitions", "4"});
  good({"import", "from", file("rows", rows)});
  EXPECT_TRUE(good({"export", "from"}) == rows);
  const auto copied = cluster_->job({"table_probe", "copy", "--from", "from", "--to", "to"});
  EXPECT_EQ(copied.exit_code, 0) << copied.err;
  EXPECT_TRUE(good({"export", "to"}) == rows);
}

INSTANTIATE_TEST_SUITE_P(Network, OnANetwork, testing::Values(Network{"Plain"}, Network{"Narrow", 50}, Network{"Lossy", 0, 0.01}),
                         [](const auto& network) { return network.param.name; });

}  // namespace
}  // namespace weft::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (testing::GTEST_FLAG(list_tests) || !weft::test::own_world_missing().empty()) return RUN_ALL_TESTS();
  weft::test::in_own_world([] { return RUN_ALL_TESTS(); });
}
