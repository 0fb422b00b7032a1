#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "base/sanitized.hpp"
#include "runtime/operators/grouper.hpp"
#include "runtime/operators/joiner.hpp"
#include "tests/runtime/operators/operators_fixture.hpp"

namespace weft::runtime {
namespace {

class Grouping : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Grants, Grouping, ::testing::Values(4U << 10, 64U << 10, 64U << 20));

TEST_P(Grouping, groups_hold_their_values_in_order_of_arrival) {
  Random random(31);
  TestContext test(GetParam());
  std::map<std::string, std::vector<int>> expected;
  Grouper<std::string_view, int> grouper(test.context);
  for (int i = 0; i < 20000; ++i) {
    const std::string key = random.chance(0.3) ? "the large group" : random_word(random, 2000);
    expected[key].push_back(i);
    grouper.add(key, i);
  }
  std::map<std::string, std::vector<int>> groups;
  grouper.drain([&](std::string_view key, Values<int>& values) {
    auto [group, fresh] = groups.emplace(key, std::vector<int>());
    EXPECT_TRUE(fresh);
    for (const int value : values) group->second.push_back(value);
  });
  EXPECT_EQ(groups, expected);
}

TEST_P(Grouping, unread_values_are_skipped_and_values_can_be_kept) {
  TestContext test(GetParam());
  Grouper<int, std::string_view> grouper(test.context);
  for (int i = 0; i < 3000; ++i) grouper.add(i % 30, std::to_string(i));
  int groups = 0;
  grouper.drain([&](int key, Values<std::string_view>& values) {
    ++groups;
    if (key % 3 == 0) return;
    if (key % 3 == 1) {
      EXPECT_EQ(values.next(), std::to_string(key));
      return;
    }
    const std::vector<std::string> kept = to_owned(values);
    ASSERT_EQ(kept.size(), 100U);
    EXPECT_EQ(kept[99], std::to_string(99 * 30 + key));
  });
  EXPECT_EQ(groups, 30);
}

TEST_P(Grouping, cogroup_pairs_the_groups_of_both_sides) {
  using Group = std::pair<std::vector<int>, std::vector<std::string>>;
  Random random(32);
  TestContext test(GetParam());
  std::map<std::tuple<int, std::string>, Group> expected;
  CoGrouper<std::tuple<int, std::string>, int, std::string> cogrouper(test.context);
  for (int i = 0; i < 10000; ++i) {
    const std::tuple<int, std::string> key(static_cast<int>(random.below(3)), random_word(random, 300));
    if (random.chance(0.5)) {
      expected[key].first.push_back(i);
      cogrouper.add_left(key, i);
    } else {
      expected[key].second.push_back(std::to_string(i));
      cogrouper.add_right(key, std::to_string(i));
    }
  }
  std::map<std::tuple<int, std::string>, Group> groups;
  cogrouper.drain([&](const auto& key, Values<int>& left, Values<std::string>& right) {
    EXPECT_TRUE(groups.emplace(key, Group(to_owned(left), to_owned(right))).second);
  });
  EXPECT_EQ(groups, expected);
}

using Row = std::tuple<std::string, std::optional<int>, std::optional<std::string>>;

std::vector<Row> nested_loop_join(JoinKind kind, const std::vector<std::pair<std::string, int>>& left,
                                  const std::vector<std::pair<std::string, std::string>>& right) {
  std::vector<Row> rows;
  std::vector<bool> matched(right.size());
  for (const auto& [key, value] : left) {
    bool found = false;
    for (std::size_t i = 0; i < right.size(); ++i) {
      if (right[i].first != key) continue;
      found = matched[i] = true;
      if (kind != JoinKind::semi && kind != JoinKind::anti) rows.emplace_back(key, value, right[i].second);
    }
    const bool alone = kind == JoinKind::left || kind == JoinKind::full || kind == JoinKind::anti;
    if (found ? kind == JoinKind::semi : alone) rows.emplace_back(key, value, std::nullopt);
  }
  for (std::size_t i = 0; i < right.size(); ++i) {
    if (!matched[i] && (kind == JoinKind::right || kind == JoinKind::full))
      rows.emplace_back(right[i].first, std::nullopt, right[i].second);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::vector<Row> joined(TestContext& test, JoinKind kind, BuildSide side, const std::vector<std::pair<std::string, int>>& left,
                        const std::vector<std::pair<std::string, std::string>>& right) {
  std::vector<Row> rows;
  const auto keep = [&](std::string_view key, const int* l, const std::string_view* r) {
    rows.emplace_back(key, l != nullptr ? std::optional(*l) : std::nullopt,
                      r != nullptr ? std::optional(std::string(*r)) : std::nullopt);
  };
  if (side == BuildSide::right) {
    Joiner<std::string_view, std::string_view, int> joiner(test.context, JoinRules::of(kind, side));
    const auto emit = [&](std::string_view key, const std::string_view* r, const int* l) { keep(key, l, r); };
    for (const auto& [key, value] : right) joiner.build(key, value);
    for (const auto& [key, value] : left) joiner.probe(key, value, emit);
    joiner.finish(emit);
  } else {
    Joiner<std::string_view, int, std::string_view> joiner(test.context, JoinRules::of(kind, side));
    for (const auto& [key, value] : left) joiner.build(key, value);
    for (const auto& [key, value] : right) joiner.probe(key, value, keep);
    joiner.finish(keep);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

class Joining : public ::testing::TestWithParam<std::tuple<JoinKind, std::uint64_t, BuildSide>> {};
INSTANTIATE_TEST_SUITE_P(KindsAndGrants, Joining,
                         ::testing::Combine(::testing::Values(JoinKind::inner, JoinKind::left, JoinKind::right, JoinKind::full,
                                                              JoinKind::semi, JoinKind::anti),
                                            ::testing::Values(4U << 10, 24U << 10, 64U << 20),
                                            ::testing::Values(BuildSide::left, BuildSide::right)));

TEST_P(Joining, equals_nested_loops) {
  const auto [kind, grant, side] = GetParam();
  for (std::uint64_t seed = 40; seed < 46; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    std::vector<std::pair<std::string, int>> left;
    std::vector<std::pair<std::string, std::string>> right;
    const std::uint64_t keys = 1 + random.below(400);
    for (std::uint64_t i = random.below(1500); i > 0; --i) left.emplace_back(random_word(random, keys), static_cast<int>(i));
    for (std::uint64_t i = random.below(1500); i > 0; --i) right.emplace_back(random_word(random, keys), std::to_string(i) + "r");
    TestContext test(grant);
    EXPECT_TRUE(joined(test, kind, side, left, right) == nested_loop_join(kind, left, right));
    EXPECT_EQ(test.grant.used(), 0U);
  }
}

TEST(Joiner, a_key_whose_groups_exceed_memory_on_both_sides_gives_every_pair) {
  TestContext test(8U << 10);
  constexpr int kValues = kSanitized ? 300 : 600;  // of either side: the pairs are the square, and still exceed it
  std::vector<std::pair<std::string, int>> left;
  std::vector<std::pair<std::string, std::string>> right;
  for (int i = 0; i < kValues; ++i) left.emplace_back("key", i);
  for (int i = 0; i < kValues + 100; ++i) right.emplace_back("key", std::to_string(i) + std::string(30, 'v'));
  left.emplace_back("other", 1);
  for (const BuildSide side : {BuildSide::left, BuildSide::right}) {
    test.context.spilled_bytes = 0;
    EXPECT_TRUE(joined(test, JoinKind::full, side, left, right) == nested_loop_join(JoinKind::full, left, right));
    EXPECT_GT(test.context.spilled_bytes, 0U);
  }
}

// Plain keys and values of tables that outgrow the cache take the path of probes that wait for it.
TEST_P(Joining, equals_nested_loops_for_many_number_keys) {
  using Side = std::vector<std::pair<std::uint64_t, std::uint32_t>>;
  using Joined = std::tuple<std::uint64_t, std::optional<std::uint32_t>, std::optional<std::uint32_t>>;
  const auto [kind, grant, side] = GetParam();
  Random random(47);
  Side left, right;
  for (std::uint32_t i = 0; i < 25'000; ++i) {
    left.emplace_back(random.below(30'000), i);
    right.emplace_back(random.below(30'000), i);
  }
  TestContext test(grant);
  std::vector<Joined> rows;
  const auto optional = [](const std::uint32_t* value) { return value == nullptr ? std::nullopt : std::optional(*value); };
  const bool builds_left = side == BuildSide::left;
  Joiner<std::uint64_t, std::uint32_t, std::uint32_t> joiner(test.context, JoinRules::of(kind, side));
  const auto emit = [&](std::uint64_t key, const std::uint32_t* build, const std::uint32_t* probe) {
    rows.emplace_back(key, optional(builds_left ? build : probe), optional(builds_left ? probe : build));
  };
  for (const auto& [key, value] : builds_left ? left : right) joiner.build(key, value);
  for (const auto& [key, value] : builds_left ? right : left) joiner.probe(key, value, emit);
  joiner.finish(emit);
  std::sort(rows.begin(), rows.end());

  std::multimap<std::uint64_t, std::uint32_t> lefts(left.begin(), left.end()), rights(right.begin(), right.end());
  std::vector<Joined> expected;
  const bool pairs = kind != JoinKind::semi && kind != JoinKind::anti;
  for (const auto& [key, value] : left) {
    const auto [first, last] = rights.equal_range(key);
    if (kind == JoinKind::semi ? first != last : first == last && kind != JoinKind::inner && kind != JoinKind::right)
      expected.emplace_back(key, value, std::nullopt);
    for (auto match = first; pairs && match != last; ++match) expected.emplace_back(key, value, match->second);
  }
  for (const auto& [key, value] : right) {
    if ((kind == JoinKind::right || kind == JoinKind::full) && !lefts.contains(key))
      expected.emplace_back(key, std::nullopt, value);
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_TRUE(rows == expected);
  EXPECT_EQ(test.grant.used(), 0U);
}

TEST(Joiner, joins_number_keys_in_memory_without_spilling) {
  TestContext test(1U << 20);
  Joiner<std::int64_t, double, std::string> joiner(test.context, JoinRules::of(JoinKind::inner, BuildSide::right));
  for (int i = 0; i < 100; ++i) joiner.build(i, i / 2.0);
  double sum = 0;
  const auto emit = [&](std::int64_t key, const double* right, const std::string* left) {
    EXPECT_EQ(*left, std::to_string(key));
    sum += *right;
  };
  for (int i = 50; i < 150; ++i) joiner.probe(i, std::to_string(i), emit);
  joiner.finish(emit);
  EXPECT_EQ(sum, (50 + 99) * 50 / 4.0);
  EXPECT_FALSE(joiner.sorts());
  EXPECT_EQ(test.context.spilled_bytes, 0U);
}

TEST(Joiner, writes_a_large_build_side_before_the_other_side_comes) {
  TestContext test(1U << 20);
  Joiner<int, std::string, int> joiner(test.context, JoinRules::of(JoinKind::inner, BuildSide::right));
  int builds = 0;
  while (!joiner.sorts()) joiner.build(builds++, "some text");
  for (int i = 0; i < 500; ++i) joiner.build(builds++, "some text");
  const std::uint64_t before = test.grant.used();
  int pairs = 0;
  const auto emit = [&](int, const std::string*, const int*) { ++pairs; };
  joiner.probe(0, 0, emit);
  EXPECT_LT(test.grant.used(), before) << "the memory of the build side is the other's";
  for (int i = 1; i < builds; ++i) joiner.probe(i, i, emit);
  joiner.finish(emit);
  EXPECT_EQ(pairs, builds);
}

TEST(Joiner, refuses_a_record_larger_than_the_grant) {
  TestContext test(8U << 10);
  Joiner<int, std::string, int> joiner(test.context, JoinRules::of(JoinKind::inner, BuildSide::right));
  EXPECT_EQ(error_code_of([&] { joiner.build(1, std::string(10000, 'x')); }), Code::resource_exhausted);
}

}  // namespace
}  // namespace weft::runtime
