// Prefetched blocks that must leave memory on real workers: they go to files, come back before they are read, and outputs are
// right.
#include <algorithm>

#include "tests/cluster/cluster.hpp"

namespace weft::test {
namespace {

constexpr std::uint64_t kTasks = 8;
constexpr std::uint64_t kGrowth = 10;

/// What the probe's mode cross prints.
std::string expected_cross(std::uint64_t records) {
  std::string text;
  for (std::uint64_t i = 0; i < records; ++i) {
    const std::uint64_t letters = 20 * (i < records / kTasks ? 1 : kGrowth);
    text += std::to_string(i) + " " + std::to_string(i + letters * ('a' + i % 26)) + "\n";
  }
  return text;
}

/// Three workers that share nothing, each of which holds 8 MiB of prefetched blocks, and jobs whose last maps wait for a file,
/// and whose reduces wait for another one.
class ShuffleEvictions : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) cluster_.add_worker({"--share", "false", "--store-memory", "16MiB"});
    ASSERT_TRUE(cluster_.has_nodes(3));
  }
  std::vector<std::string> job(const std::string& marker, std::uint64_t records) {
    return cluster_.job({"cross", "--records", std::to_string(records), "--tasks", std::to_string(kTasks), "--growth",
                         std::to_string(kGrowth), "--partitions", "24", "--marker", scratch_ / marker});
  }
  void let_maps_end(const std::string& marker) { write_file(scratch_ / (marker + ".maps"), ""); }
  void let_reduces_end(const std::string& marker) { write_file(scratch_ / (marker + ".go"), ""); }

  struct Ahead {
    std::uint64_t brought = 0, read = 0, unread = 0, evicted = 0, file = 0, returned = 0;
  };
  Ahead ahead(int job) {
    const std::string status = cluster_.admin({"job", "status", std::to_string(job), "--json"}).out;
    return {number(status, "prefetched_bytes"), number(status, "read_bytes"),         number(status, "wasted_bytes"),
            number(status, "evicted_bytes"),    number(status, "evicted_file_bytes"), number(status, "returned_bytes")};
  }
  static std::uint64_t number(const std::string& json, const std::string& member) {
    const std::string key = "\"" + member + "\":";
    const auto at = json.find(key);
    return at == std::string::npos ? 0 : std::strtoull(json.c_str() + at + key.size(), nullptr, 10);
  }
  /// All that was brought was read or given up, and what went to disk took less room there: it compresses well.
  void expect_accounted_for(int job) {
    Ahead now;
    EXPECT_TRUE(eventually([&] {
      now = ahead(job);
      return now.brought == now.read + now.unread;
    })) << now.brought
        << " != " << now.read << " + " << now.unread;
    EXPECT_GT(now.read, 0u);
    EXPECT_GT(now.file, 0u);
    EXPECT_LT(now.file, now.evicted / 4);
  }

  ScratchDirectory scratch_;
  Cluster cluster_{0};
};

TEST_F(ShuffleEvictions, AJobWhoseMapsStillRunMakesRoomAndHasItsBlocksBackBeforeItReadsThem) {
  constexpr std::uint64_t kFirst = 120'000, kSecond = 150'000;
  Process first(job("a", kFirst), cluster_.options());
  ASSERT_TRUE(eventually([&] { return ahead(1).brought > (8u << 20); })) << first.err_so_far();
  let_maps_end("b");
  Process second(job("b", kSecond), cluster_.options());
  ASSERT_TRUE(eventually([&] { return ahead(1).evicted > 0; })) << second.err_so_far();
  let_reduces_end("b");
  const auto after = second.wait();
  ASSERT_EQ(after.exit_code, 0) << after.err;
  EXPECT_TRUE(after.out == expected_cross(kSecond));
  Ahead now;
  EXPECT_TRUE(eventually([&] {
    now = ahead(1);
    return now.returned > 0;
  })) << now.returned
      << " of " << now.evicted;
  EXPECT_EQ(now.read, 0u) << "its maps have not ended";
  let_maps_end("a");
  let_reduces_end("a");
  const auto result = first.wait();
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_TRUE(result.out == expected_cross(kFirst));
  expect_accounted_for(1);
  const std::string status = cluster_.admin({"job", "status", "1"}).out;
  EXPECT_NE(status.find(" were evicted to "), std::string::npos) << status;
  EXPECT_GT(number(cluster_.admin({"node", "list", "--json"}).out, "evicted_bytes"), 0u);
}

}  // namespace
}  // namespace weft::test
