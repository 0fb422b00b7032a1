#include "runtime/operators/shared_join.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <tuple>

#include "base/page_pool.hpp"
#include "tests/runtime/operators/operators_fixture.hpp"

namespace weft::runtime {
namespace {

using TextTable = SharedJoinTable<std::string_view, std::string_view>;
using TextPairs = std::vector<std::pair<std::string, std::string>>;

TextPairs some_pairs(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  TextPairs rows;
  for (std::size_t i = 0; i < count; ++i)
    rows.emplace_back(random_word(random, 3000), random.chance(0.1) ? std::string(random.below(300), 'v') : std::to_string(i));
  return rows;
}

/// Tables of one process with that many bytes for the tasks of two slots.
struct Process {
  explicit Process(std::uint64_t task_memory) : tables(task_memory, 2, pages) {}
  PagePool pages{64u << 20};
  SharedTables tables;
};

class SharedJoin : public testing::Test {
 protected:
  static constexpr std::uint32_t kMaps = 7;
  static constexpr SharedTables::Key kKey{StageId(3), ShuffleId(1)};

  /// What a task does until the table is complete or given up. Map i wrote every kMaps-th row.
  template <class K, class B, class Input>
  static void help(SharedTable& table, TestContext& test, const JoinRules& rules, const Input& rows) {
    auto& typed = static_cast<SharedJoinTable<K, B>&>(table);
    while (const auto piece = table.claim(test.context)) {
      JoinBuilder<K, B> builder(typed, rules);
      typed.expect(rows.size());
      for (std::uint32_t map = piece->first_map; map < std::min(kMaps, piece->end_map); ++map) {
        Encoder block;
        for (std::size_t i = map; i < rows.size(); i += kMaps) encode(std::pair<K, B>(rows[i].first, rows[i].second), block);
        builder.add(block.view());
      }
      builder.done();
    }
  }
  template <class K, class B, class Input>
  static std::shared_ptr<SharedJoinTable<K, B>> built(Process& process, const JoinRules& rules, const Input& rows) {
    const auto table = process.tables.get(kKey, {kMaps, 100'000}, SharedJoinTable<K, B>::make);
    std::vector<std::thread> tasks;
    for (int i = 0; i < 3; ++i)
      tasks.emplace_back([&] {
        TestContext test(1 << 20);
        help<K, B>(*table, test, rules, rows);
      });
    for (std::thread& task : tasks) task.join();
    return std::static_pointer_cast<SharedJoinTable<K, B>>(table);
  }
};

TEST_F(SharedJoin, OfTextsGivesWhatANestedLoopGives) {
  const TextPairs build = some_pairs(5000, 1), probe = some_pairs(3000, 2);
  std::multimap<std::string, std::string> partners(build.begin(), build.end());
  for (const JoinKind kind : {JoinKind::inner, JoinKind::left, JoinKind::semi, JoinKind::anti}) {
    const JoinRules rules = JoinRules::of(kind, BuildSide::right);
    Process process(64u << 20);
    const auto table = built<std::string_view, std::string_view>(process, rules, build);
    ASSERT_EQ(table->state(), SharedTable::State::complete);
    using JoinedTexts = std::tuple<std::string, std::string, std::string>;
    std::vector<JoinedTexts> joined, wanted;
    TestContext test(1 << 20);
    std::uint64_t offset = 0;
    JoinProbe<std::string_view, std::string_view, std::string_view> join(test.context, rules, table.get(), offset);
    const auto emit = [&](std::string_view key, const std::string_view* b, const std::string_view* p) {
      joined.emplace_back(key, b != nullptr ? *b : "none", *p);
    };
    for (const auto& [key, value] : probe) join.probe(key, value, emit);
    join.finish(emit);
    for (const auto& [key, value] : probe) {
      const auto [from, to] = partners.equal_range(key);
      if (from == to && rules.lone_probe) wanted.emplace_back(key, "none", value);
      if (from != to && rules.met_probe) wanted.emplace_back(key, "none", value);
      for (auto at = from; rules.pairs && at != to; ++at) wanted.emplace_back(key, at->second, value);
    }
    std::sort(joined.begin(), joined.end()), std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(joined, wanted) << static_cast<int>(kind);
  }
}

TEST_F(SharedJoin, RecordsThatWaitForTheTableKeepTheirKeysWhateverKindTheyAre) {
  std::vector<std::pair<std::string, std::int64_t>> build;
  Random random(3);
  std::map<std::string, std::int64_t> sums, wanted;
  for (int i = 0; i < 20'000; ++i) build.emplace_back(random_word(random, 4000) + (i % 3 == 0 ? std::string(90, 'l') : ""), i);
  for (const auto& [key, value] : build) sums[key] += value;
  const JoinRules rules = JoinRules::of(JoinKind::inner, BuildSide::left);
  Process process(64u << 20);
  const auto table = built<std::string_view, std::int64_t>(process, rules, build);
  ASSERT_EQ(table->state(), SharedTable::State::complete);
  TestContext test(1 << 20);
  std::uint64_t offset = 0;
  JoinProbe<std::string_view, std::int64_t, std::pair<std::int64_t, std::int64_t>> join(test.context, rules, table.get(), offset);
  std::map<std::string, std::int64_t> joined;
  const auto emit = [&](std::string_view key, const std::int64_t* b, const std::pair<std::int64_t, std::int64_t>* p) {
    EXPECT_EQ(p->second, static_cast<std::int64_t>(key.size()));
    joined[std::string(key)] += *b * p->first;
  };
  for (int i = 0; i < 5'000; ++i) {
    std::string key = random_word(random, 5000) + (i % 2 == 0 ? std::string(90, 'l') : "");
    if (const auto found = sums.find(key); found != sums.end()) wanted[key] += found->second * i;
    join.probe(key, {i, static_cast<std::int64_t>(key.size())}, emit);
    key.assign(key.size(), '?');
  }
  join.finish(emit);
  EXPECT_EQ(joined, wanted);
}

TEST_F(SharedJoin, OfNumbersHasZeroAndManyParts) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> build;
  for (std::uint64_t i = 0; i < 300'000; ++i) build.emplace_back(i, 2 * i);
  const JoinRules rules = JoinRules::of(JoinKind::left, BuildSide::right);
  Process process(256u << 20);
  const auto table = std::static_pointer_cast<SharedJoinTable<std::uint64_t, std::uint64_t>>(
      process.tables.get(kKey, {kMaps, 48u << 20}, SharedJoinTable<std::uint64_t, std::uint64_t>::make));
  EXPECT_EQ(table->parts(), 16u);
  TestContext test(1 << 20);
  help<std::uint64_t, std::uint64_t>(*table, test, rules, build);
  ASSERT_EQ(table->state(), SharedTable::State::complete);
  std::uint64_t offset = 0;
  JoinProbe<std::uint64_t, std::uint64_t, std::uint64_t> join(test.context, rules, table.get(), offset);
  std::uint64_t found = 0, alone = 0;
  const auto emit = [&](std::uint64_t key, const std::uint64_t* b, const std::uint64_t* p) {
    EXPECT_EQ(key, *p);
    EXPECT_EQ(offset, key) << "where its record was read";
    if (b != nullptr) {
      EXPECT_EQ(*b, 2 * key);
    }
    ++(b != nullptr ? found : alone);
  };
  for (; offset < 600'000; ++offset) join.probe(offset, offset, emit);
  join.finish(emit);
  EXPECT_EQ(offset, 600'000u);
  EXPECT_EQ(found, 300'000u);
  EXPECT_EQ(alone, 300'000u);
}

TEST_F(SharedJoin, ATableThatDoesNotFitIsRefusedAndItsMemoryFree) {
  const TextPairs build = some_pairs(20'000, 4);
  const JoinRules rules = JoinRules::of(JoinKind::inner, BuildSide::right);
  Process process(1u << 20);
  const auto table = built<std::string_view, std::string_view>(process, rules, build);
  EXPECT_EQ(table->state(), SharedTable::State::refused);
  EXPECT_EQ(table->bytes(), 0u);
  EXPECT_EQ(process.tables.get(kKey, {kMaps, 1}, TextTable::make), table) << "nobody tries again";
}

TEST_F(SharedJoin, ATableWhoseBuilderFailsIsBuiltAgainByTheOthers) {
  const TextPairs build = some_pairs(1000, 5);
  const JoinRules rules = JoinRules::of(JoinKind::inner, BuildSide::right);
  Process process(64u << 20);
  const auto table = process.tables.get(kKey, {kMaps, 1000}, TextTable::make);
  TestContext failing(1 << 20), other(1 << 20);
  ASSERT_TRUE(table->claim(failing.context));
  {
    JoinBuilder<std::string_view, std::string_view> builder(static_cast<TextTable&>(*table), rules);
    Encoder block;
    encode(std::pair<std::string_view, std::string_view>("half", "a piece"), block);
    builder.add(block.view());
  }
  EXPECT_EQ(table->state(), SharedTable::State::spoiled);
  EXPECT_FALSE(table->claim(other.context));
  const auto again = process.tables.get(kKey, {kMaps, 1000}, TextTable::make);
  ASSERT_NE(again, table);
  help<std::string_view, std::string_view>(*again, other, rules, build);
  EXPECT_EQ(again->state(), SharedTable::State::complete);
}

TEST_F(SharedJoin, ATaskThatIsToStopDoesNotWaitForOthers) {
  Process process(64u << 20);
  const auto table = process.tables.get(kKey, {1, 1000}, TextTable::make);
  TestContext building(1 << 20), stopped(1 << 20);
  ASSERT_TRUE(table->claim(building.context));
  stopped.stop = true;
  EXPECT_THROW((void)table->claim(stopped.context), TaskCancelled);
}

TEST_F(SharedJoin, OfAnUnknownNumberOfMapsHasOnePiece) {
  Process process(64u << 20);
  const auto table = process.tables.get(kKey, {}, TextTable::make);
  TestContext test(1 << 20);
  const auto piece = table->claim(test.context);
  ASSERT_TRUE(piece);
  EXPECT_EQ(piece->first_map, 0u);
  EXPECT_EQ(piece->end_map, UINT32_MAX);
}

TEST_F(SharedJoin, IdleTablesOfOtherStagesAreDropped) {
  Process process(64u << 20);
  const auto used = process.tables.get(kKey, {}, TextTable::make);
  std::weak_ptr<SharedTable> idle = process.tables.get({StageId(4), ShuffleId(1)}, {}, TextTable::make);
  process.tables.begin(StageId(4), 0);
  EXPECT_FALSE(idle.expired()) << "its own stage goes on";
  process.tables.begin(StageId(5), 0);
  EXPECT_TRUE(idle.expired());
  EXPECT_EQ(process.tables.get(kKey, {}, TextTable::make), used) << "a task reads it";
}

TEST_F(SharedJoin, TablesOfAttemptsThatCountNoMoreAreNotRead) {
  Process process(64u << 20);
  std::weak_ptr<SharedTable> former = process.tables.get({StageId(3), ShuffleId(1), 0}, {}, TextTable::make);
  const auto now = process.tables.get({StageId(3), ShuffleId(1), 2}, {}, TextTable::make);
  EXPECT_NE(former.lock(), now);
  process.tables.begin(StageId(3), 2);
  EXPECT_TRUE(former.expired());
  EXPECT_EQ(process.tables.get({StageId(3), ShuffleId(1), 2}, {}, TextTable::make), now);
}

TEST_F(SharedJoin, EachTaskCountsItsPartOfTheTable) {
  Process process(64u << 20);
  TestContext test(1000);
  test.context.tables = &process.tables;
  {
    const TableShare share(test.context, 600);
    EXPECT_EQ(test.grant.used(), 300u) << "of two slots";
    const TableShare more(test.context, 2000);
    EXPECT_EQ(test.grant.used(), 300u) << "what does not fit is not taken";
  }
  EXPECT_EQ(test.grant.used(), 0u);
}

}  // namespace
}  // namespace weft::runtime
