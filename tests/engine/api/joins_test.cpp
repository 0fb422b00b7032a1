// Joins whose strategy the plan chooses, against a serial program: the same records, whichever way they go.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "engine/api/driver.hpp"
#include "engine/master/plan/plan.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using TextPairs = std::vector<std::pair<std::string, std::string>>;

TextPairs text_pairs(std::size_t count, std::size_t keys, std::uint64_t seed) {
  Random random(seed);
  TextPairs rows;
  for (std::size_t i = 0; i < count; ++i)
    rows.emplace_back("key" + std::to_string(random.below(keys)) + std::string(random.below(3) * 9, '.'), std::to_string(i));
  return rows;
}

class JoinWays : public testing::Test {
 protected:
  std::string file_of(const std::string& name, const TextPairs& rows) const {
    std::ofstream file(scratch / name);
    for (const auto& [key, value] : rows) file << key << '\t' << value << '\n';
    return scratch / name;
  }
  static auto read(Flow& flow, const std::string& path) {
    return flow.read_text(path).map([](std::string_view line) {
      const auto tab = line.find('\t');
      return std::pair(std::string(line.substr(0, tab)), std::string(line.substr(tab + 1)));
    });
  }
  /// As --explain shows it.
  static std::string explained(const std::function<void(Flow&)>& define, std::uint64_t task_memory = 1u << 30) {
    detail::DriverSettings settings;
    settings.explain_with = 2;
    settings.explain_executors = {1, task_memory};
    auto graph = std::make_shared<detail::DriverGraph>(std::move(settings));
    Flow flow(graph);
    define(flow);
    return plan::explain_text(graph->planned());
  }
  std::vector<std::string> lines(const std::string& name) const {
    auto all = part_lines(scratch / name);
    std::sort(all.begin(), all.end());
    return all;
  }
  ScratchDirectory scratch;
};

std::vector<std::string> nested_loop(const TextPairs& left, const TextPairs& right) {
  std::multimap<std::string, std::string> partners(right.begin(), right.end());
  std::vector<std::string> joined;
  for (const auto& [key, value] : left)
    for (auto [at, end] = partners.equal_range(key); at != end; ++at) joined.push_back(key + "\t" + value + "\t" + at->second);
  std::sort(joined.begin(), joined.end());
  return joined;
}

TEST_F(JoinWays, GiveTheSameWhicheverSideIsSmall) {
  const TextPairs large = text_pairs(20'000, 900, 1), small = text_pairs(700, 1000, 2);
  const std::string of_large = file_of("large", large), of_small = file_of("small", small);
  const auto define = [&](Flow& flow) {
    read(flow, of_large).join(read(flow, of_small)).write_text(scratch / "right");
    read(flow, of_small).join(read(flow, of_large)).write_text(scratch / "left");
    read(flow, of_small).join(read(flow, of_large), JoinStrategy::hash).write_text(scratch / "hash");
  };
  const std::string plan = explained(define);
  EXPECT_NE(plan.find("all of the right side in memory"), std::string::npos) << plan;
  EXPECT_NE(plan.find("all of the left side in memory"), std::string::npos) << plan;
  const auto report = run_locally(define, {.threads = 3});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(lines("right"), nested_loop(large, small));
  EXPECT_EQ(lines("left"), nested_loop(small, large));
  EXPECT_EQ(lines("hash"), lines("left"));
}

TEST_F(JoinWays, OfThreeSmallTablesAreMadeInOnePass) {
  const auto define = [&](Flow& flow) {
    const auto facts = flow.generate(30'000, [](std::uint64_t i) { return std::pair(i % 11, i); });
    const auto small = [&](std::uint64_t count) {
      return flow.generate(count, [](std::uint64_t i) { return std::pair(i, i * i); });
    };
    facts.join(small(10))
        .map([](std::uint64_t, std::uint64_t fact, std::uint64_t one) { return std::pair(fact % 7, one + fact); })
        .join(small(6))
        .map([](std::uint64_t, std::uint64_t fact, std::uint64_t two) { return std::pair(fact % 5, two + fact); })
        .left_join(small(4))
        .map([](std::uint64_t key, std::uint64_t fact, const std::optional<std::uint64_t>& three) {
          return std::pair(key, fact + three.value_or(1));
        })
        .reduce_by_key(std::plus<>())
        .write_text(scratch / "sums");
  };
  const std::string plan = explained(define);
  std::size_t shuffles = 0;
  for (std::size_t at = plan.find("(broadcast)"); at != std::string::npos; at = plan.find("(broadcast)", at + 1)) ++shuffles;
  EXPECT_EQ(shuffles, 3u) << plan;
  EXPECT_EQ(plan.find(" left ("), std::string::npos) << "no fact is sent anywhere: " << plan;
  const auto report = run_locally(define, {.threads = 2});
  ASSERT_TRUE(report) << report.error().to_string();
  std::map<std::uint64_t, std::uint64_t> sums;
  for (std::uint64_t i = 0; i < 30'000; ++i) {
    if (i % 11 >= 10 || i % 7 >= 6) continue;
    const std::uint64_t one = (i % 11) * (i % 11) + i, key = one % 5;
    sums[key] += (i % 7) * (i % 7) + one + (key < 4 ? key * key : 1);
  }
  std::vector<std::string> wanted;
  for (const auto& [key, sum] : sums) wanted.push_back(std::to_string(key) + "\t" + std::to_string(sum));
  EXPECT_EQ(lines("sums"), wanted);
}

TEST_F(JoinWays, WhoseOutputStaysInPartitionsGoByPartitions) {
  const auto define = [&](Flow& flow) {
    const auto left = flow.generate(5000, [](std::uint64_t i) { return std::pair(i % 100, i); });
    const auto right = flow.generate(50, [](std::uint64_t i) { return std::pair(i, i); });
    left.join(right)
        .map_values([](std::uint64_t l, std::uint64_t r) { return l + r; })
        .reduce_by_key(std::plus<>())
        .write_text(scratch / "sums");
    left.join(right, 3).write_text(scratch / "three");
    left.union_with(right).join(right).write_text(scratch / "union");
  };
  const std::string plan = explained(define);
  EXPECT_NE(plan.find("reduce_by_key"), std::string::npos);
  EXPECT_NE(plan.find("without shuffle"), std::string::npos) << plan;
  const auto report = run_locally(define);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(lines("sums").size(), 50u);
  EXPECT_EQ(lines("three").size(), 2500u);
  EXPECT_EQ(lines("union").size(), 2550u);
}

TEST_F(JoinWays, OfASideThatIsLargerThanItsInputSpill) {
  // Sixteen bytes of input become four kilobytes: more than the memory that the plan has counted on.
  const auto define = [&](Flow& flow) {
    const auto left = flow.generate(6000, [](std::uint64_t i) { return std::pair(i % 5000, i); });
    const auto right =
        flow.generate(4000, [](std::uint64_t i) { return std::pair(i, std::string(4096, static_cast<char>('a' + i % 26))); });
    left.join(right)
        .map([](std::uint64_t key, std::uint64_t number, const std::string& text) {
          return std::pair(key, number + static_cast<std::uint64_t>(text.size()) + static_cast<std::uint64_t>(text[17]));
        })
        .write_text(scratch / "joined");
  };
  const std::string plan = explained(define, 16u << 20);
  EXPECT_NE(plan.find("all of the right side in memory"), std::string::npos) << plan;
  const auto report = run_locally(define, {.threads = 2, .memory_bytes = 32u << 20});
  ASSERT_TRUE(report) << report.error().to_string();
  std::vector<std::string> wanted;
  for (std::uint64_t i = 0; i < 6000; ++i) {
    if (const std::uint64_t key = i % 5000; key < 4000)
      wanted.push_back(std::to_string(key) + "\t" + std::to_string(i + 4096 + static_cast<std::uint64_t>('a' + key % 26)));
  }
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(lines("joined"), wanted);
}

TEST_F(JoinWays, TheReasonOfTheirWayIsInThePlan) {
  const auto define = [&](Flow& flow) {
    const auto left = flow.generate(5000, [](std::uint64_t i) { return std::pair(i % 100, i); });
    const auto many = left.flat_map([](const std::pair<std::uint64_t, std::uint64_t>& pair) { return std::vector{pair, pair}; });
    many.semi_join(many).write_text(scratch / "a");
  };
  const std::string plan = explained(define);
  EXPECT_NE(plan.find("by partitions: the size of the right side is not known"), std::string::npos) << plan;
}

TEST_F(JoinWays, AreRepeatedWhenATaskThatBuildsTheTableFails) {
  const auto failed = std::make_shared<std::atomic<int>>(0);
  const auto report = run_locally(
      [&](Flow& flow) {
        const auto left = flow.generate(1000, [failed](std::uint64_t i) {
          if (i % 500 == 7 && failed->fetch_add(1) < 2) throw std::runtime_error("once");
          return std::pair(i % 100, i);
        });
        const auto right = flow.generate(100, [](std::uint64_t i) { return std::pair(i, i); });
        EXPECT_EQ(left.join(right).count(), 1000u);
      },
      {.threads = 3});
  ASSERT_TRUE(report) << report.error().to_string();
}

}  // namespace
}  // namespace weft::test
