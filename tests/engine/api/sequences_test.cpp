// What goes through a group in order (scan, lag, row_number, asof_join), and rollup, against serial code: with memory to spare, and
// with so little that groups are sorted on disk.
#include <algorithm>
#include <map>

#include <gtest/gtest.h>
#include <weft/asof.hpp>
#include <weft/rollup.hpp>
#include <weft/weft.h>

#include "tests/engine/api/memory_budgets.hpp"

namespace weft::test {
namespace {

struct Trade {
  std::uint64_t time = 0;
  std::int64_t amount = 0;
  std::string note;
  friend auto operator<=>(const Trade&, const Trade&) = default;
};
using Trades = std::vector<std::pair<std::string, Trade>>;

/// Half of them of one key. All times are even, and different.
Trades some_trades(std::size_t n, std::uint64_t seed) {
  Trades trades;
  Random random(seed);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t stock = random.below(2) == 0 ? 0 : random.below(30);
    trades.emplace_back("s" + std::to_string(stock),
                        Trade{2 * (i * 7919 % n), static_cast<std::int64_t>(random.below(200)) - 100, "n" + std::to_string(i)});
  }
  return trades;
}

std::map<std::string, std::vector<Trade>> sorted_groups(const Trades& trades) {
  std::map<std::string, std::vector<Trade>> groups;
  for (const auto& [stock, trade] : trades) groups[stock].push_back(trade);
  for (auto& [stock, group] : groups) std::sort(group.begin(), group.end());
  return groups;
}

class Sequences : public MemoryBudgets {
 protected:
  static std::size_t records() { return MemoryBudgets::records(30'000); }
};

TEST_P(Sequences, ScanLagAndRowNumberGoThroughEachGroupInOrder) {
  const Trades trades = some_trades(records(), 1);
  std::vector<std::pair<std::string, std::int64_t>> sums;
  std::vector<std::pair<std::string, std::pair<Trade, std::optional<Trade>>>> earlier, third;
  std::vector<std::pair<std::string, std::pair<Trade, std::uint64_t>>> numbers;
  for (const auto& [stock, group] : sorted_groups(trades)) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < group.size(); ++i) {
      sums.emplace_back(stock, sum += group[i].amount);
      earlier.push_back({stock, {group[i], i < 1 ? std::nullopt : std::optional(group[i - 1])}});
      third.push_back({stock, {group[i], i < 3 ? std::nullopt : std::optional(group[i - 3])}});
      numbers.push_back({stock, {group[i], i + 1}});
    }
  }
  const auto in_groups = [](auto values) {
    std::stable_sort(values.begin(), values.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    return values;
  };
  run([&](Flow& flow) {
    const auto groups = flow.from_vector(trades, 4).group_by_key(5).sorted_by(&Trade::time);
    EXPECT_EQ(
        in_groups(
            groups.scan(std::int64_t{0}, [](std::int64_t& sum, const Trade& trade) { return sum += trade.amount; }).collect()),
        sums);
    EXPECT_EQ(in_groups(groups.lag().collect()), earlier);
    EXPECT_EQ(in_groups(groups.lag(3).collect()), third);
    EXPECT_EQ(in_groups(groups.row_number().collect()), numbers);
    EXPECT_EQ(groups.row_number().map_values([](const auto& pair) { return pair.second; }).count_by_key().count(),
              sorted_groups(trades).size())
        << "keys stay where they are";
    EXPECT_THROW((void)groups.lag(0), std::invalid_argument);
  });
}

TEST_P(Sequences, AsOfJoinsGiveTheLatestRecordThatIsNotLater) {
  const Trades left = some_trades(records(), 2);
  Trades right = some_trades(records() / 5, 3);
  right.erase(std::remove_if(right.begin(), right.end(), [](const auto& pair) { return pair.first == "s7"; }), right.end());
  for (std::size_t i = 0; i < right.size(); ++i) right[i].second.time += i % 2;  // some at the same times, some between
  const auto rights = sorted_groups(right);
  std::vector<std::pair<std::string, Joined<Trade, std::optional<Trade>>>> wanted;
  for (const auto& [stock, trade] : left) {
    std::optional<Trade> latest;
    if (const auto found = rights.find(stock); found != rights.end()) {
      const auto later = std::upper_bound(found->second.begin(), found->second.end(), trade.time,
                                          [](std::uint64_t time, const Trade& other) { return time < other.time; });
      if (later != found->second.begin()) latest = *std::prev(later);
    }
    wanted.push_back({stock, {trade, latest}});
  }
  run([&](Flow& flow) {
    const auto joined = asof_join(flow.from_vector(left, 3), flow.from_vector(right, 2), &Trade::time, &Trade::time);
    EXPECT_EQ(in_order(joined.collect()), in_order(wanted));
    EXPECT_EQ(in_order(asof_join(flow.from_vector(left, 3), flow.from_vector(right, 2), &Trade::time, &Trade::time, 3).collect()),
              in_order(wanted));
  });
}

TEST_P(Sequences, RollupsHaveASubtotalForEachBeginningOfTheKey) {
  const Trades trades = some_trades(records(), 4);
  using Key = std::tuple<std::optional<std::string>, std::optional<std::int64_t>>;
  std::map<Key, std::uint64_t> counts;
  for (const auto& [stock, trade] : trades) {
    ++counts[{stock, trade.amount % 10}];
    ++counts[{stock, std::nullopt}];
    ++counts[{std::nullopt, std::nullopt}];
  }
  run([&](Flow& flow) {
    const auto totals =
        flow.from_vector(trades, 3)
            .flat_map(rollup([](const auto& pair) { return pair.first; }, [](const auto& pair) { return pair.second.amount % 10; }))
            .aggregate_by_key(count());
    EXPECT_EQ(in_order(totals.collect()), (std::vector<std::pair<Key, std::uint64_t>>{counts.begin(), counts.end()}));
  });
}

INSTANTIATE_TEST_SUITE_P(Memory, Sequences, testing::Values(256u << 20, 2u << 20));

}  // namespace
}  // namespace weft::test
