// Operators by key, and those of groups, against the standard library: with memory to spare, and with so little that they spill.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/engine/api/memory_budgets.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

struct Visit {
  std::string page;
  std::uint64_t time = 0;
  double seconds = 0;
  friend auto operator<=>(const Visit&, const Visit&) = default;
};
using Visits = std::vector<std::pair<std::string, Visit>>;

Visits some_visits(std::size_t n, std::uint64_t seed) {
  Visits visits;
  Random random(seed);
  for (std::size_t i = 0; i < n; ++i) {
    // One user in fifty has half of the visits.
    const std::uint64_t user = random.below(2) == 0 ? 0 : random.below(50);
    visits.emplace_back("u" + std::to_string(user), Visit{"p" + std::to_string(random.below(9)), random.below(100'000),
                                                          static_cast<double>(random.below(1000)) / 8});
  }
  return visits;
}

std::map<std::string, std::vector<Visit>> by_user(const Visits& visits) {
  std::map<std::string, std::vector<Visit>> groups;
  for (const auto& [user, visit] : visits) groups[user].push_back(visit);
  return groups;
}

template <class K, class V>
std::vector<std::pair<K, V>> pairs_of(const std::map<K, V>& map) {
  return {map.begin(), map.end()};
}

class KeyedOperators : public MemoryBudgets {};

TEST_P(KeyedOperators, CountsAndKeysAndValues) {
  const Visits visits = some_visits(records(), 1);
  std::map<std::string, std::uint64_t> counts;
  for (const auto& [user, visit] : visits) ++counts[user];
  run([&](Flow& flow) {
    const auto data = flow.from_vector(visits, 3);
    EXPECT_EQ(in_order(data.count_by_key().collect()), pairs_of(counts));
    EXPECT_EQ(in_order(data.count_by_key(5).collect()), pairs_of(counts));
    EXPECT_EQ(in_order(data.keys().distinct().collect()).size(), counts.size());
    EXPECT_EQ(data.values().map([](const Visit& visit) { return visit.time; }).reduce(std::uint64_t{0}, std::plus<>()),
              std::accumulate(visits.begin(), visits.end(), std::uint64_t{0},
                              [](std::uint64_t sum, const auto& v) { return sum + v.second.time; }));
    EXPECT_EQ(data.group_by_key()
                  .values()
                  .map([](Values<Visit> group) { return group.to_vector().size(); })
                  .reduce(std::size_t{0}, std::plus<>()),
              visits.size());
  });
}

TEST_P(KeyedOperators, AggregatorsCompose) {
  const Visits visits = some_visits(records(), 2);
  using Row = std::pair<std::string, std::tuple<std::uint64_t, std::uint64_t, double, std::string, double>>;
  std::vector<Row> wanted;
  for (const auto& [user, all] : by_user(visits)) {
    std::uint64_t times = 0;
    double seconds = 0, longest = 0;
    std::string first_page = "~";
    for (const Visit& visit : all) {
      times += visit.time;
      seconds += visit.seconds;
      longest = std::max(longest, visit.seconds);
      first_page = std::min(first_page, visit.page);
    }
    wanted.push_back({user, {all.size(), times, seconds / static_cast<double>(all.size()), first_page, longest}});
  }
  run([&](Flow& flow) {
    const auto data = flow.from_vector(visits, 4);
    const auto stats =
        data.aggregate_by_key(count(), sum(&Visit::time), mean(&Visit::seconds), min(&Visit::page), max(&Visit::seconds));
    EXPECT_EQ(in_order(stats.collect()), wanted);  // eighths of seconds: sums are exact in any order
    EXPECT_EQ(in_order(data.aggregate_by_key(count(), sum(&Visit::time), mean(&Visit::seconds), min(&Visit::page),
                                             max(&Visit::seconds), 7)
                           .collect()),
              wanted);
    std::vector<std::pair<std::string, std::uint64_t>> sums;
    for (const Row& row : wanted) sums.emplace_back(row.first, std::get<1>(row.second));
    EXPECT_EQ(in_order(data.aggregate_by_key(sum(&Visit::time)).collect()), sums) << "one aggregator: its result alone";
    EXPECT_EQ(in_order(stats
                           .map([](const std::string& user, std::uint64_t, std::uint64_t times, double, const std::string&,
                                   double) { return std::pair(user, times); })
                           .collect()),
              sums);
    const auto [n, last] = data.values().aggregate(count(), max(&Visit::time));
    EXPECT_EQ(n, visits.size());
    EXPECT_EQ(last, in_order(data.values().map([](const Visit& v) { return v.time; }).collect()).back());
  });
}

TEST_P(KeyedOperators, TopByKeyIsTheHeadOfEachSortedGroup) {
  const Visits visits = some_visits(records(), 3);
  std::map<std::string, std::vector<Visit>> wanted = by_user(visits), latest = wanted;
  for (auto& [user, all] : wanted) {
    std::sort(all.rbegin(), all.rend());
    if (all.size() > 5) all.resize(5);
  }
  const auto earlier = [](const Visit& a, const Visit& b) {
    return std::tie(a.time, a.page, a.seconds) < std::tie(b.time, b.page, b.seconds);
  };
  for (auto& [user, all] : latest) {
    std::sort(all.begin(), all.end(), [&](const Visit& a, const Visit& b) { return earlier(b, a); });
    if (all.size() > 2) all.resize(2);
  }
  run([&](Flow& flow) {
    const auto data = flow.from_vector(visits, 3);
    EXPECT_EQ(in_order(data.top_by_key(5).collect()), pairs_of(wanted));
    EXPECT_EQ(in_order(data.top_by_key(2, earlier, 4).collect()), pairs_of(latest));
    for (const auto& entry : data.top_by_key(0).collect()) EXPECT_TRUE(entry.second.empty());
  });
}

TEST_P(KeyedOperators, GroupsAreSortedWithoutBeingHeld) {
  const Visits visits = some_visits(records(), 4);
  auto up = by_user(visits), down = up;
  const auto key = [](const Visit& visit) { return std::tie(visit.time, visit.page, visit.seconds); };
  for (auto& [user, all] : up) std::sort(all.begin(), all.end(), [&](const Visit& a, const Visit& b) { return key(a) < key(b); });
  for (auto& [user, all] : down) std::sort(all.begin(), all.end(), [&](const Visit& a, const Visit& b) { return key(b) < key(a); });
  run([&](Flow& flow) {
    const auto data = flow.from_vector(visits, 3);
    EXPECT_EQ(in_order(data.group_by_key().sorted_by(key).collect()), pairs_of(up));
    EXPECT_EQ(in_order(data.group_by_key(3).sorted_by(key, Order::descending).collect()), pairs_of(down));
    // Keys that are numbers, and groups whose records are where they belong already.
    const auto numbers =
        data.map([](const std::string& user, const Visit& visit) { return std::pair(std::stoi(user.substr(1)), visit.time); });
    const auto gaps = numbers.group_by_key().sorted_by(std::identity()).map_values([](Values<std::uint64_t> times) {
      std::uint64_t before = 0, total = 0;
      for (const std::uint64_t time : times) {
        if (time < before) return UINT64_MAX;
        total += time - before;
        before = time;
      }
      return total;
    });
    for (const auto& [user, last] : gaps.collect()) EXPECT_EQ(last, up.at("u" + std::to_string(user)).back().time);
    const auto again = numbers.group_by_key(4).flat_map<std::pair<int, std::uint64_t>>([](auto&& group, auto&& emit) {
      for (const std::uint64_t time : group.second) emit(std::pair(group.first, time));
    });
    EXPECT_EQ(again.group_by_key(4).sorted_by(std::negate<>()).windows(1).count(), visits.size());
  });
}

TEST_P(KeyedOperators, WindowsOverSortedGroups) {
  const Visits visits = some_visits(records(), 5);
  std::map<std::string, std::vector<std::uint64_t>> times;
  for (const auto& [user, visit] : visits) times[user].push_back(visit.time);
  for (auto& [user, all] : times) std::sort(all.begin(), all.end());
  using Window = std::pair<std::string, std::vector<std::uint64_t>>;
  const auto fixed = [&](std::size_t size, std::size_t step) {
    std::vector<Window> windows;
    for (const auto& [user, all] : times) {
      for (std::size_t i = 0; i + size <= all.size(); i += step)
        windows.emplace_back(
            user, std::vector(all.begin() + static_cast<std::ptrdiff_t>(i), all.begin() + static_cast<std::ptrdiff_t>(i + size)));
    }
    return in_order(windows);
  };
  constexpr std::uint64_t gap = 400;
  std::vector<Window> sessions;
  for (const auto& [user, all] : times) {
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i == 0 || all[i] - all[i - 1] > gap) sessions.emplace_back(user, std::vector<std::uint64_t>());
      sessions.back().second.push_back(all[i]);
    }
  }
  run([&](Flow& flow) {
    const auto groups = flow.from_vector(visits, 3).map_values(&Visit::time).group_by_key().sorted_by(std::identity());
    for (const auto& [size, step] : {std::pair(1, 1), std::pair(3, 1), std::pair(2, 2), std::pair(3, 5), std::pair(4, 3)}) {
      const auto n = static_cast<std::size_t>(size), every = static_cast<std::size_t>(step);
      EXPECT_EQ(in_order(groups.windows(n, every).collect()), fixed(n, every)) << size << " every " << step;
    }
    const auto cut = groups.windows([](std::uint64_t before, std::uint64_t after) { return after - before <= gap; });
    EXPECT_EQ(in_order(cut.collect()), in_order(sessions));
    EXPECT_TRUE(cut.map_values([](const auto& session) { return session.size(); })
                    .reduce_by_key(std::plus<>())
                    .lineage()
                    .operators.back()
                    .ends_with("without shuffle"));
    EXPECT_THROW((void)groups.windows(0), std::invalid_argument);
    EXPECT_THROW((void)groups.windows(2, 0), std::invalid_argument);
  });
}

TEST_P(KeyedOperators, ZipWithIndexNumbersRecordsInOrder) {
  run([&](Flow& flow) {
    const std::uint64_t n = records();
    const auto even = flow.generate(
                              n, [](std::uint64_t i) { return i; }, 5)
                          .filter([](std::uint64_t i) { return i % 2 == 0; });
    const auto numbered = even.union_with(even).zip_with_index();
    const auto all = numbered.collect();
    ASSERT_EQ(all.size(), 2 * ((n + 1) / 2));
    for (std::size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].second, i);
    EXPECT_EQ(all[1].first, 2u);
    EXPECT_EQ(numbered.collect(), all) << "the same again";
    EXPECT_EQ(flow.from_vector(std::vector<std::string>{}).zip_with_index().count(), 0u);
  });
}

TEST_P(KeyedOperators, JoinsTakeTheSameOptions) {
  run([&](Flow& flow) {
    const auto left = flow.generate(records(), [](std::uint64_t i) { return std::pair(i % 101, i); });
    const auto right = flow.generate(60, [](std::uint64_t i) { return std::pair(2 * i, std::to_string(i)); });
    const auto how = partition_by([](std::uint64_t key, std::uint32_t n) { return key % n; }, 3);
    const std::uint64_t joined = left.join(right).count(), lone = left.anti_join(right).count();
    EXPECT_EQ(joined + lone, records());
    EXPECT_EQ(left.join(right, how).count(), joined);
    EXPECT_EQ(left.join(right, JoinHow{JoinStrategy::broadcast, 3}).count(), joined);
    EXPECT_EQ(left.join(right, JoinHow{JoinStrategy::hash, how}).count(), joined);
    EXPECT_EQ(left.left_join(right, 3).count(), records());
    EXPECT_EQ(left.left_join(right, how).count(), records());
    EXPECT_EQ(left.right_join(right, 2).count(),
              right.full_join(left, how).filter([](const auto&, const auto& l, const auto&) { return l.has_value(); }).count());
    EXPECT_EQ(left.semi_join(right, how).count(), joined);
    EXPECT_EQ(left.semi_join(right, JoinStrategy::broadcast).count(), joined);
    EXPECT_EQ(left.anti_join(right, 5).count(), lone);
    EXPECT_EQ(left.join_optional(right, JoinKind::left, how).count(), records());
    EXPECT_THROW((void)left.right_join(right, JoinHow{JoinStrategy::broadcast, 3}), std::invalid_argument);
    const auto names = left.join(right).map(
        [](std::uint64_t key, std::uint64_t number, const std::string& name) { return std::tuple(key, number, name); });
    for (const auto& [key, number, name] : names.first(20))
      EXPECT_EQ(std::pair(number % 101, std::to_string(key / 2)), std::pair(key, name));
  });
}

INSTANTIATE_TEST_SUITE_P(Memory, KeyedOperators, testing::Values(64u << 20, 2u << 20),
                         [](const auto& tested) { return tested.param > (8u << 20) ? "Plenty" : "Spilling"; });

TEST(Aggregates, OfNoRecordsAndOfNumbersThatAreTooLarge) {
  const auto report = run_locally([](Flow& flow) {
    const auto none = flow.from_vector(std::vector<int>{});
    EXPECT_EQ(none.aggregate(sum(), count(), mean(), min(), max()),
              (std::tuple(std::int64_t{0}, std::uint64_t{0}, std::optional<double>(), std::optional<int>(), std::optional<int>())));
    EXPECT_EQ(none.aggregate(count()), 0u);
    const auto some = flow.from_vector(std::vector<int>{3, -1, 8}, 2);
    EXPECT_EQ(some.aggregate(sum(), count(), mean(), min(), max()),
              (std::tuple(std::int64_t{10}, std::uint64_t{3}, std::optional<double>(10 / 3.0), std::optional<int>(-1),
                          std::optional<int>(8))));
    EXPECT_EQ(flow.from_vector(std::vector<std::int32_t>{INT32_MAX, INT32_MAX}).aggregate(sum()), 2LL * INT32_MAX);
    (void)flow.from_vector(std::vector<std::int64_t>{INT64_MAX, 1}, 1).aggregate(sum());
  });
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().to_string().find("does not fit in 64 bits"), std::string::npos) << report.error().to_string();
}

TEST(ByValueKeys, AreEqualWhenTheirValuesAre) {
  const auto report = run_locally([](Flow& flow) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto numbers = flow.from_vector(std::vector<double>{0.0, -0.0, nan, -nan, 1.5, 1.5}, 2);
    const auto counts = numbers.map([](double x) { return std::pair(by_value(x), 1); }).reduce_by_key(std::plus<>()).collect();
    EXPECT_EQ(counts.size(), 3u);
    for (const auto& [key, n] : counts) EXPECT_EQ(n, 2) << key.value;
    EXPECT_EQ(numbers.map([](double x) { return std::pair(std::pair(by_value(x), 'a'), 1); }).count_by_key().count(), 3u);
  });
  ASSERT_TRUE(report) << report.error().to_string();
}

struct Line {
  int id;
  std::string name;
  std::optional<double> price;
};

TEST(WriteText, OfPlainStructsAndVectors) {
  const ScratchDirectory scratch;
  const auto report = run_locally([&](Flow& flow) {
    flow.from_vector(std::vector<Line>{{1, "one", 1.5}, {2, "two", std::nullopt}}, 1).write_text(scratch / "lines");
    flow.from_vector(std::vector<std::pair<int, std::vector<int>>>{{1, {2, 3}}, {4, {}}}, 1).write_text(scratch / "vectors");
    const auto pairs = flow.from_vector(std::vector<std::pair<int, int>>{{1, 2}}, 1);
    pairs.join(pairs).write_text(scratch / "joined");
  });
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(part_lines(scratch / "lines"), (std::vector<std::string>{"1\tone\t1.5", "2\ttwo\t"}));
  EXPECT_EQ(part_lines(scratch / "vectors"), (std::vector<std::string>{"1\t2,3", "4\t"}));
  EXPECT_EQ(part_lines(scratch / "joined"), (std::vector<std::string>{"1\t2\t2"}));
}

}  // namespace
}  // namespace weft::test
