#include <algorithm>
#include <map>
#include <string>

#include "runtime/operators/combining_writer.hpp"
#include "runtime/operators/reduce_table.hpp"
#include "tests/runtime/operators/operators_fixture.hpp"

namespace weft::runtime {
namespace {

class WithGrant : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Grants, WithGrant, ::testing::Values(4U << 10, 16U << 10, 256U << 10, 64U << 20));

/// Reads everything a combiner wrote back into sums, checking that each record is in its partition.
template <class K, class PartitionOf>
std::map<Owned<K>, std::int64_t> sums_of(const MemorySegment& segment, PartitionOf partition_of) {
  std::map<Owned<K>, std::int64_t> sums;
  for (const auto& [partition, pieces] : segment.pieces) {
    for (const auto& piece : pieces) {
      Decoder in(piece.bytes);
      std::uint32_t records = 0;
      for (; !in.empty(); ++records) {
        const auto [key, sum] = Codec<std::pair<K, std::int64_t>>::decode(in);
        EXPECT_EQ(partition_of(key), partition);
        sums[Owned<K>(key)] += sum;
      }
      EXPECT_EQ(records, piece.records);
    }
  }
  return sums;
}

TEST_P(WithGrant, combined_words_add_up_to_the_same_sums) {
  constexpr std::uint64_t kSeed = 11;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  TestContext test(GetParam());
  MemorySegment segment;
  std::map<std::string, std::int64_t> expected;
  {
    PartitionedWriter out(test.context, segment, 5);
    CombiningWriter<std::string_view, Sum> combiner(test.context, out, HashPartitioner{5}, Sum{});
    for (int i = 0; i < 60000; ++i) {
      const std::string word = random_word(random, i < 30000 ? 300 : 1000000);
      const std::int64_t value = random.between(-3, 9);
      expected[word] += value;
      combiner.add(word, value);
    }
    combiner.finish();
  }
  const auto partition_of = [](std::string_view word) { return hash_partition(key_hash(word), 5); };
  EXPECT_EQ(sums_of<std::string_view>(segment, partition_of), expected);
  EXPECT_EQ(test.grant.used(), 0U);
}

TEST_P(WithGrant, combining_honours_a_custom_partitioner_and_number_keys) {
  TestContext test(GetParam());
  MemorySegment segment;
  std::map<int, std::int64_t> expected;
  const auto partition_of = [](int key) { return static_cast<std::uint32_t>(key % 3); };
  PartitionedWriter out(test.context, segment, 3);
  CombiningWriter<int, Sum, decltype(partition_of)> combiner(test.context, out, partition_of, Sum{});
  for (int i = 0; i < 20000; ++i) {
    expected[i * 7 % 1009] += i;
    combiner.add(i * 7 % 1009, i);
  }
  combiner.finish();
  EXPECT_EQ(sums_of<int>(segment, partition_of), expected);
}

/// Of numbers as texts, which are views.
struct SumOfTexts {
  using Value = std::string_view;
  using Acc = std::int64_t;
  Acc init(Value value) const { return static_cast<Acc>(std::stoll(std::string(value))); }
  void add(Acc& acc, Value value) const { acc += init(value); }
  void merge(Acc& acc, Acc other) const { acc += other; }
};

TEST(CombiningWriter, looks_at_values_before_their_memory_is_used_again) {
  TestContext test(4U << 20);
  MemorySegment segment;
  std::map<std::string, std::int64_t> expected;
  PartitionedWriter out(test.context, segment, 1);
  CombiningWriter<std::string_view, SumOfTexts> combiner(test.context, out, HashPartitioner{1}, SumOfTexts{});
  std::string buffer;
  for (int i = 0; i < 1000; ++i) {
    buffer.assign(std::to_string(10 + i % 90));  // as a reader's
    const std::string key = "key" + std::to_string(i % 7);
    expected[key] += 10 + i % 90;
    combiner.add(key, buffer);
  }
  buffer.assign("00");
  combiner.finish();
  EXPECT_EQ(sums_of<std::string_view>(segment, [](std::string_view) { return 0U; }), expected);
}

TEST(CombiningWriter, writes_few_records_when_keys_repeat) {
  TestContext test(1U << 20);
  MemorySegment segment;
  PartitionedWriter out(test.context, segment, 2);
  CombiningWriter<std::string_view, Sum> combiner(test.context, out, HashPartitioner{2}, Sum{});
  for (int i = 0; i < 100000; ++i) combiner.add(i % 2 == 0 ? "even" : "odd", 1);
  combiner.finish();
  EXPECT_LT(segment.bytes(), 64U);
}

std::uint64_t records_of(const MemorySegment& segment) {
  std::uint64_t records = 0;
  for (const auto& [partition, pieces] : segment.pieces) {
    for (const auto& piece : pieces) records += piece.records;
  }
  return records;
}

/// How many records are written for `keys`, of one partition and with a small table.
std::uint64_t written_for(const std::vector<int>& keys) {
  TestContext test(1U << 20);
  MemorySegment segment;
  PartitionedWriter out(test.context, segment, 1);
  CombiningWriter<int, Sum> combiner(test.context, out, HashPartitioner{1}, Sum{});
  for (const int key : keys) combiner.add(key, 1);
  combiner.finish();
  return records_of(segment);
}

TEST(CombiningWriter, goes_on_where_every_fourth_record_finds_its_key) {
  std::vector<int> keys;
  for (int i = 0; i < 200'000; ++i) keys.push_back(i - (i % 4 == 3));
  EXPECT_LT(written_for(keys), 165'000U);
}

TEST(CombiningWriter, gives_up_where_keys_do_not_repeat_and_tries_again_later) {
  std::vector<int> keys;
  for (int i = 0; i < 50'000; ++i) keys.push_back(i);
  keys.insert(keys.end(), 500'000, -1);
  EXPECT_GT(written_for(keys), 60'000U) << "some of those that repeat pass through, too";
  EXPECT_LT(written_for(keys), 150'000U);
}

/// The same of random keys below `most`, with memory for all of them.
std::uint64_t written_for_random(std::uint64_t most, std::uint64_t count) {
  TestContext test(256U << 20);
  MemorySegment segment;
  PartitionedWriter out(test.context, segment, 1);
  CombiningWriter<std::uint64_t, Sum> combiner(test.context, out, HashPartitioner{1}, Sum{});
  Random random(5);
  for (std::uint64_t i = 0; i < count; ++i) combiner.add(random.below(most), 1);
  combiner.finish();
  return records_of(segment);
}

TEST(CombiningWriter, goes_on_where_random_keys_will_repeat_when_there_are_more) {
  // Among the first 131,072 different ones of a million, 7 % of the records find their key; of three million records, two thirds.
  EXPECT_LT(written_for_random(1'000'000, 3'000'000), 960'000U);
}

TEST(CombiningWriter, gives_up_where_random_keys_hardly_repeat) {
  EXPECT_GT(written_for_random(10'000'000, 1'000'000), 980'000U) << "951,000 of them differ";
}

TEST(CombiningWriter, gives_back_what_accumulators_have_grown_by_when_they_are_written) {
  TestContext test(64U << 10);
  MemorySegment segment;
  PartitionedWriter out(test.context, segment, 1);
  CombiningWriter<std::string_view, Concatenate> combiner(test.context, out, HashPartitioner{1}, Concatenate{});
  for (int i = 0; i < 20'000; ++i) combiner.add("key", "some text");
  combiner.finish();
  EXPECT_LT(records_of(segment), 1'000U) << "thousands of texts in one record";
  EXPECT_EQ(test.grant.used(), 0U);
}

TEST(CombiningWriter, refuses_a_partition_that_does_not_exist) {
  TestContext test(1U << 20);
  MemorySegment segment;
  PartitionedWriter out(test.context, segment, 2);
  const auto wrong = [](int) { return 2U; };
  CombiningWriter<int, Sum, decltype(wrong)> combiner(test.context, out, wrong, Sum{});
  combiner.add(1, 1);
  EXPECT_EQ(error_code_of([&] { combiner.finish(); }), Code::invalid_argument);
}

TEST(PartitionedWriter, passes_on_that_the_segment_is_full) {
  TestContext test(64U << 10);
  MemorySegment segment;
  segment.limit = 10000;
  PartitionedWriter out(test.context, segment, 4);
  EXPECT_EQ(error_code_of([&] {
              for (std::uint32_t i = 0; i < 100000; ++i) out.write(i % 4, std::string("some record"));
            }),
            Code::resource_exhausted);
}

TEST(PartitionedWriter, keeps_the_order_of_a_partition_and_takes_records_larger_than_its_buffers) {
  TestContext test(64U << 10);
  MemorySegment segment;
  PartitionedWriter out(test.context, segment, 3);
  std::map<std::uint32_t, std::vector<std::string>> expected;
  Random random(5);
  for (int i = 0; i < 2000; ++i) {
    const auto partition = static_cast<std::uint32_t>(random.below(3));
    expected[partition].push_back(std::string(i == 1000 ? 60000 : random.below(50), static_cast<char>('a' + i % 26)));
    out.write(partition, expected[partition].back());
  }
  out.finish();
  for (const auto& [partition, pieces] : segment.pieces) {
    std::vector<std::string> read;
    for (const auto& piece : pieces) {
      Decoder in(piece.bytes);
      while (!in.empty()) read.push_back(decode<std::string>(in));
    }
    EXPECT_EQ(read, expected[partition]);
  }
}

TEST(PartitionedWriter, refuses_a_record_larger_than_the_budget) {
  TestContext test(64U << 10);
  MemorySegment segment;
  PartitionedWriter out(test.context, segment, 3);
  out.write(0, std::string("small"));
  EXPECT_EQ(error_code_of([&] { out.write(1, std::string(100'000, 'x')); }), Code::resource_exhausted);
}

TEST_P(WithGrant, a_reduce_table_equals_a_map) {
  constexpr std::uint64_t kSeed = 12;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  Random random(kSeed);
  TestContext test(GetParam());
  std::map<std::string, std::int64_t> expected;
  ReduceTable<std::string_view, Sum> table(test.context, Sum{});
  for (int i = 0; i < 50000; ++i) {
    const std::string word = random_word(random, 100000);
    expected[word] += i;
    table.merge(word, i);
  }
  std::map<std::string, std::int64_t> sums;
  table.drain(
      [&](std::string_view key, std::int64_t& sum) { EXPECT_TRUE(sums.emplace(key, sum).second) << "emitted twice: " << key; });
  EXPECT_EQ(sums, expected);
  if (GetParam() <= 16U << 10) {
    EXPECT_GT(test.context.spilled_bytes, 0U);
  }
  EXPECT_EQ(test.grant.used(), 0U);
}

TEST_P(WithGrant, a_reduce_table_takes_composed_keys) {
  using Key = std::pair<std::string, std::optional<int>>;
  Random random(13);
  TestContext test(GetParam());
  std::map<Key, std::int64_t> expected;
  ReduceTable<Key, Sum> table(test.context, Sum{});
  for (int i = 0; i < 20000; ++i) {
    const Key key{random_word(random, 200), random.chance(0.2) ? std::nullopt : std::optional(static_cast<int>(random.below(5)))};
    expected[key] += i;
    table.add(key, i);
  }
  std::map<Key, std::int64_t> sums;
  table.drain([&](const Key& key, std::int64_t& sum) { EXPECT_TRUE(sums.emplace(key, sum).second); });
  EXPECT_EQ(sums, expected);
}

TEST_P(WithGrant, growing_accumulators_keep_every_value) {
  Random random(14);
  TestContext test(GetParam());
  std::map<int, std::vector<std::string>> expected;
  ReduceTable<int, Concatenate> table(test.context, Concatenate{});
  for (int i = 0; i < 4000; ++i) {
    const int key = static_cast<int>(random.below(400));
    const std::string value = random_word(random, 1000);
    expected[key].push_back(value);
    if (random.chance(0.5)) {
      table.add(key, value);
    } else {
      table.merge(key, {value});
    }
  }
  std::map<int, std::vector<std::string>> lists;
  table.drain([&](int key, std::vector<std::string>& list) { EXPECT_TRUE(lists.emplace(key, std::move(list)).second); });
  for (auto* side : {&expected, &lists}) {
    for (auto& [key, list] : *side) std::sort(list.begin(), list.end());
  }
  EXPECT_EQ(lists, expected);
}

/// Keeps the last value: shows whether updates of a key overtake each other.
struct Last {
  using Value = std::int64_t;
  using Acc = std::int64_t;
  Acc init(Value value) const { return value; }
  void add(Acc& acc, Value value) const { acc = value; }
  void merge(Acc& acc, Acc other) const { acc = other; }
};

TEST(ReduceTable, updates_of_a_key_in_a_large_table_stay_in_order) {
  for (const std::uint64_t grant : {2U << 20, 64U << 20}) {
    constexpr std::uint64_t kSeed = 15;
    SCOPED_TRACE("seed " + std::to_string(kSeed));
    Random random(kSeed);
    TestContext test(grant);
    MemorySegment segment;
    PartitionedWriter out(test.context, segment, 1);
    CombiningWriter<std::string_view, Last> combiner(test.context, out, HashPartitioner{1}, Last{});
    ReduceTable<std::string_view, Last> table(test.context, Last{});
    std::map<std::string, std::int64_t> expected;
    for (std::int64_t i = 0; i < 400000; ++i) {
      const std::uint64_t number = random.chance(0.5) ? random.below(60000) : random.below(50);
      const std::string key = std::to_string(number) + (number % 9 == 0 ? " with a long tail behind it" : "");
      expected[key] = i;
      table.merge(key, i);
      combiner.add(key, i);
    }
    std::map<std::string, std::int64_t> last;
    table.drain([&](std::string_view key, std::int64_t& value) { last.emplace(key, value); });
    EXPECT_TRUE(last == expected);
    combiner.finish();
    last.clear();
    for (const auto& piece : segment.pieces[0]) {
      for (Decoder in(piece.bytes); !in.empty();) {
        const auto [key, value] = decode<std::pair<std::string, std::int64_t>>(in);
        last[key] = value;
      }
    }
    EXPECT_TRUE(last == expected);
  }
}

TEST(CombiningWriter, what_passes_through_comes_after_what_was_combined_before) {
  TestContext test(64U << 20);
  MemorySegment segment;
  PartitionedWriter out(test.context, segment, 1);
  CombiningWriter<int, Last> combiner(test.context, out, HashPartitioner{1}, Last{});
  constexpr int kKeys = 1 << 17;  // so many without a repetition, and it gives up
  for (int key = 1; key <= kKeys; ++key) combiner.add(key, 1);
  for (int key = 1; key <= kKeys; ++key) combiner.add(key, 2);
  combiner.finish();
  EXPECT_EQ(records_of(segment), 2U * kKeys);
  std::map<int, std::int64_t> last;
  for (const auto& piece : segment.pieces[0]) {
    for (Decoder in(piece.bytes); !in.empty();) {
      const auto [key, value] = decode<std::pair<int, std::int64_t>>(in);
      last[key] = value;
    }
  }
  for (const auto& [key, value] : last) ASSERT_EQ(value, 2) << key;
}

TEST(ReduceTable, what_waits_is_merged_before_what_is_added) {
  TestContext test(1U << 20);
  ReduceTable<int, Last> table(test.context, Last{});
  table.merge(7, 1);
  table.add(7, 2);
  table.drain([&](int key, std::int64_t& value) {
    EXPECT_EQ(key, 7);
    EXPECT_EQ(value, 2);
  });
}

TEST(ReduceTable, keys_around_the_longest_that_wait_are_told_apart) {
  TestContext test(4U << 20);
  ReduceTable<std::string, Sum> table(test.context, Sum{});
  std::map<std::string, std::int64_t> expected, sums;
  for (std::int64_t round = 0; round < 20; ++round) {
    for (std::size_t length = 50; length < 150; ++length) {
      const std::string key = std::string(length, 'k') + std::to_string(length % 7);
      expected[key] += round;
      table.merge(key, round);
    }
  }
  table.drain([&](const std::string& key, std::int64_t& sum) { EXPECT_TRUE(sums.emplace(key, sum).second); });
  EXPECT_EQ(sums, expected);
}

/// An accumulator with memory of its own that stays small, whatever is added.
struct LastText {
  using Value = std::string;
  using Acc = std::string;
  Acc init(const Value& value) const { return value; }
  void add(Acc& acc, const Value& value) const { acc = value; }
  void merge(Acc& acc, const Acc& other) const { acc = other; }
};

TEST(ReduceTable, looks_at_the_real_size_of_accumulators_before_it_spills) {
  TestContext test(64U << 10);
  ReduceTable<int, LastText> table(test.context, LastText{});
  for (int i = 0; i < 20'000; ++i) table.add(i % 10, std::to_string(i));
  EXPECT_EQ(test.context.spilled_bytes, 0U);
  std::map<int, std::string> last;
  table.drain([&](int key, std::string& value) { last.emplace(key, value); });
  EXPECT_EQ(test.context.spilled_bytes, 0U);
  for (int key = 0; key < 10; ++key) EXPECT_EQ(last[key], std::to_string(19'990 + key));
}

TEST(ReduceTable, names_itself_and_its_budget_when_one_accumulator_outgrows_the_grant) {
  TestContext test(16U << 10);
  ReduceTable<int, Concatenate> table(test.context, Concatenate{});
  try {
    for (int i = 0; i < 5000; ++i) table.add(1, "a value of some length");
    table.drain([](int, auto&) {});
    FAIL() << "the accumulator of 100 KiB fitted";
  } catch (const TaskError& error) {
    EXPECT_EQ(error.error.code(), Code::resource_exhausted);
    EXPECT_NE(error.error.to_string().find("aggregation by key"), std::string::npos);
    EXPECT_NE(error.error.to_string().find("16384"), std::string::npos) << error.error.to_string();
  }
}

TEST(ReduceTable, refuses_a_key_larger_than_the_grant) {
  TestContext test(16U << 10);
  ReduceTable<std::string, Sum> table(test.context, Sum{});
  table.merge("small", 1);
  EXPECT_EQ(error_code_of([&] { table.merge(std::string(20000, 'k'), 1); }), Code::resource_exhausted);
}

TEST(ReduceTable, stops_when_asked_to) {
  TestContext test(1U << 20);
  ReduceTable<int, Sum> table(test.context, Sum{});
  test.stop = true;
  EXPECT_THROW(
      {
        for (int i = 0; i < 100000; ++i) table.merge(i, 1);
      },
      TaskCancelled);
}

TEST(ReduceTable, leaves_something_for_the_operator_behind_it) {
  TestContext test(64U << 10);
  ReduceTable<int, Sum> first(test.context, Sum{});
  for (int i = 0; i < 20000; ++i) first.merge(i, 1);
  ReduceTable<int, Sum> second(test.context, Sum{});
  first.drain([&](int key, std::int64_t count) { second.merge(key % 5000, count); });
  std::int64_t total = 0;
  int keys = 0;
  second.drain([&](int, std::int64_t count) {
    total += count;
    ++keys;
  });
  EXPECT_EQ(total, 20000);
  EXPECT_EQ(keys, 5000);
  EXPECT_EQ(test.grant.used(), 0U);
}

}  // namespace
}  // namespace weft::runtime
