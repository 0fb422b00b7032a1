#include <algorithm>
#include <cstring>
#include <memory>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "runtime/operators/external_sorter.hpp"
#include "tests/runtime/operators/operators_fixture.hpp"

namespace weft::runtime {
namespace {

class Sorting : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Grants, Sorting, ::testing::Values(4U << 10, 32U << 10, 64U << 20));

/// The sorter and std::stable_sort agree.
template <class T, class KeyFn = std::identity, class Less = std::less<>>
void expect_sorted_like_stable_sort(std::uint64_t grant, std::vector<T> records, KeyFn key_of = {}, Less less = {}) {
  TestContext test(grant);
  ExternalSorter<T, KeyFn, Less> sorter(test.context, key_of, less);
  for (const T& record : records) sorter.add(record);
  std::vector<T> sorted;
  sorter.drain([&](T&& record) { sorted.push_back(std::move(record)); });
  std::stable_sort(records.begin(), records.end(),
                   [&](const T& a, const T& b) { return less(std::invoke(key_of, a), std::invoke(key_of, b)); });
  EXPECT_TRUE(sorted == records);
  if (grant <= 4U << 10) {
    EXPECT_GT(test.context.spilled_bytes, 0U);
  }
}

TEST_P(Sorting, numbers_of_every_kind) {
  Random random(21);
  std::vector<std::int32_t> ints;
  std::vector<std::uint64_t> longs;
  std::vector<double> doubles;
  for (int i = 0; i < 8000; ++i) {
    ints.push_back(static_cast<std::int32_t>(random()));
    longs.push_back(random() >> random.below(64));
    doubles.push_back((random.uniform() - 0.5) * static_cast<double>(random.below(1000000)));
  }
  expect_sorted_like_stable_sort(GetParam(), ints);
  expect_sorted_like_stable_sort(GetParam(), ints, std::identity{}, std::greater<>{});
  expect_sorted_like_stable_sort(GetParam(), longs);
  expect_sorted_like_stable_sort(GetParam(), doubles);
  expect_sorted_like_stable_sort(GetParam(), doubles, std::identity{}, std::greater<>{});
}

TEST_P(Sorting, texts_with_common_prefixes_and_zero_bytes) {
  Random random(22);
  std::vector<std::string> words;
  for (int i = 0; i < 6000; ++i) words.push_back(random_word(random, 500).insert(0, random.chance(0.5) ? "a common start " : ""));
  expect_sorted_like_stable_sort(GetParam(), words);
  expect_sorted_like_stable_sort(GetParam(), words, std::identity{}, std::greater<>{});
}

TEST_P(Sorting, equal_keys_keep_their_order_across_runs_and_merge_passes) {
  Random random(23);
  std::vector<std::pair<std::string, int>> records;
  for (int i = 0; i < 8000; ++i) records.emplace_back(std::string(random.below(4), 'k'), i);
  expect_sorted_like_stable_sort(GetParam(), records, [](const auto& record) { return record.first; });
  expect_sorted_like_stable_sort(GetParam(), records, [](const auto& record) { return record.first.size(); });
  expect_sorted_like_stable_sort(GetParam(), records, [](const auto&) { return 0; });
  expect_sorted_like_stable_sort(GetParam(), records);
}

TEST_P(Sorting, custom_comparators_and_byte_arrays) {
  Random random(24);
  std::vector<std::array<unsigned char, 12>> keys(5000);
  for (auto& key : keys) {
    for (auto& byte : key) byte = static_cast<unsigned char>(random.below(3) * 127);
  }
  expect_sorted_like_stable_sort(GetParam(), keys);
  expect_sorted_like_stable_sort(GetParam(), keys, std::identity{}, [](const auto& a, const auto& b) { return a[3] < b[3]; });
}

TEST_P(Sorting, a_senseless_comparator_is_found_out) {
  TestContext test(GetParam());
  auto random = std::make_shared<Random>(25);
  const auto senseless = [random](int, int) { return random->chance(0.5); };
  ExternalSorter<int, std::identity, decltype(senseless)> sorter(test.context, {}, senseless);
  EXPECT_EQ(error_code_of([&] {
              for (int i = 0; i < 5000; ++i) sorter.add(i);
              sorter.drain([&](int) {});
            }),
            Code::invalid_argument);
}

TEST_P(Sorting, a_comparator_that_calls_equal_records_smaller_is_found_out) {
  TestContext test(GetParam());
  ExternalSorter<int, std::identity, std::less_equal<>> sorter(test.context);
  EXPECT_EQ(error_code_of([&] {
              for (int i = 0; i < 5000; ++i) sorter.add(i % 10);
              sorter.drain([&](int) {});
            }),
            Code::invalid_argument);
}

TEST_P(Sorting, a_comparator_that_hides_a_contradiction_loses_nothing) {
  TestContext test(GetParam());
  const auto cyclic = [](int a, int b) { return (b - a + 5001) % 5001 < 2500 && a != b; };  // no order, but neighbours agree
  ExternalSorter<int, std::identity, decltype(cyclic)> sorter(test.context, {}, cyclic);
  std::vector<int> out;
  try {
    for (int i = 0; i < 5000; ++i) sorter.add(i);
    sorter.drain([&](int value) { out.push_back(value); });
  } catch (const TaskError& fault) {
    EXPECT_EQ(fault.error.code(), Code::invalid_argument);
    return;
  }
  std::sort(out.begin(), out.end());
  ASSERT_EQ(out.size(), 5000U);
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(out[static_cast<std::size_t>(i)], i);
}

/// Blocks of `per_block` encoded records. What is not lent is overwritten after the call; what is lent only the sorter keeps.
template <class T>
void add_blocks(ExternalSorter<T>& sorter, const std::vector<T>& records, std::size_t per_block) {
  std::shared_ptr<Encoder> block;
  for (std::size_t low = 0, number = 0; low < records.size(); low += per_block, ++number) {
    block = std::make_shared<Encoder>();
    for (std::size_t i = low; i < std::min(low + per_block, records.size()); ++i) encode(records[i], *block);
    const std::shared_ptr<const void> owner = number % 3 == 2 ? nullptr : block;
    const std::size_t middle = block->size() / 2;
    sorter.add_block(block->view(), owner, number % 3 == 1 ? middle : 0);
    if (!owner) std::memset(const_cast<std::byte*>(block->view().data()), 0xee, block->size());
  }
}

TEST_P(Sorting, blocks_that_are_lent_or_not_in_the_order_they_came) {
  Random random(27);
  std::vector<std::pair<std::string, int>> records;
  for (int i = 0; i < 9000; ++i) records.emplace_back(random_word(random, 300), i);
  for (const std::size_t per_block : {1U, 7U, 400U}) {
    TestContext test(GetParam());
    ExternalSorter<std::pair<std::string, int>> sorter(test.context);
    add_blocks(sorter, records, per_block);
    std::vector<std::pair<std::string, int>> sorted;
    sorter.drain([&](std::pair<std::string, int>&& record) { sorted.push_back(std::move(record)); });
    auto expected = records;
    std::stable_sort(expected.begin(), expected.end());
    EXPECT_TRUE(sorted == expected) << per_block;
  }
}

TEST_P(Sorting, many_records_around_every_size_of_bucket) {
  Random random(28);
  for (const std::size_t count : {2U, 39U, 40U, 41U, 255U, 3000U}) {
    for (const unsigned bits : {1U, 7U, 9U, 33U, 64U}) {
      std::vector<std::pair<std::uint64_t, int>> records;
      for (std::size_t i = 0; i < count; ++i) records.emplace_back(random() >> (64 - bits), static_cast<int>(random.below(3)));
      TestContext test(GetParam());
      ExternalSorter<std::pair<std::uint64_t, int>> sorter(test.context);
      for (const auto& record : records) sorter.add(record);
      std::vector<std::pair<std::uint64_t, int>> sorted;
      sorter.drain([&](std::pair<std::uint64_t, int>&& record) { sorted.push_back(record); });
      std::sort(records.begin(), records.end());
      EXPECT_TRUE(sorted == records) << count << " records of " << bits << " bits";
    }
  }
}

TEST(ExternalSorter, takes_records_longer_than_an_entry_can_say) {
  for (const auto& [grant, shortest] :
       {std::pair(1U << 20, 65520U), {1U << 20, 65521U}, {64U << 20, 65520U}, {64U << 20, 65521U}}) {
    TestContext test(grant);
    ExternalSorter<std::string_view> sorter(test.context);
    std::vector<std::string> texts;  // every second one is lent
    for (std::size_t i = 0; i < 40; ++i) texts.emplace_back(shortest + i, static_cast<char>('z' - i % 20));
    for (std::size_t i = 0; i < texts.size(); i += 2) {
      sorter.add(texts[i]);
      auto block = std::make_shared<Encoder>();
      encode(std::string_view(texts[i + 1]), *block);
      sorter.add_block(block->view(), block, 0);
    }
    std::vector<std::string> sorted;
    sorter.drain([&](std::string_view text) { sorted.emplace_back(text); });
    std::stable_sort(texts.begin(), texts.end());
    EXPECT_TRUE(sorted == texts) << grant;
  }
}

TEST(ExternalSorter, holds_a_lent_block_only_if_its_grant_can_bear_the_cost) {
  TestContext test(1U << 20);
  auto block = std::make_shared<Encoder>();
  for (int i = 0; i < 100; ++i) encode(i, *block);
  ExternalSorter<int> sorter(test.context);
  for (const std::uint64_t cost : {10U << 20, 300U << 10}) {  // of a half of 1 MiB
    sorter.add_block(block->view(), block, cost);
    EXPECT_EQ(block.use_count(), 1) << "too dear: copied";
  }
  const std::uint64_t before = test.grant.used();
  sorter.add_block(block->view(), block, 100'000);
  EXPECT_EQ(block.use_count(), 2);
  EXPECT_GE(test.grant.used(), before + 100'000);
  sorter.add_block(block->view(), block, 100'000);
  EXPECT_LT(test.grant.used(), before + 200'000) << "the same block costs once";
  int count = 0;
  sorter.drain([&](int value) { EXPECT_EQ(value, count++ / 4); });
  EXPECT_EQ(count, 400);
}

TEST(ExternalSorter, lets_go_of_the_last_lent_block_for_a_record_that_needs_its_room) {
  TestContext test(2U << 20);  // half of it for the sorter
  ExternalSorter<std::string> sorter(test.context);
  const auto block_of = [](const std::string& record) {
    auto block = std::make_shared<Encoder>();
    encode(record, *block);
    return block;
  };
  const std::string large(700U << 10, 'a');
  auto lent = block_of("b");
  sorter.add_block(lent->view(), lent, 500U << 10);
  EXPECT_EQ(lent.use_count(), 2);
  sorter.add_block(block_of(large)->view(), nullptr, 0);
  EXPECT_EQ(lent.use_count(), 1);
  std::vector<std::string> sorted;
  sorter.drain([&](std::string&& record) { sorted.push_back(std::move(record)); });
  EXPECT_EQ(sorted, (std::vector<std::string>{large, "b"}));
}

TEST(ExternalSorter, lets_go_of_lent_blocks_when_it_spills) {
  TestContext test(64U << 10);
  ExternalSorter<int> sorter(test.context);
  std::vector<std::weak_ptr<Encoder>> blocks;
  for (int i = 0; i < 200; ++i) {
    auto block = std::make_shared<Encoder>();
    for (int k = 0; k < 100; ++k) encode(k, *block);
    sorter.add_block(block->view(), block, 0);
    blocks.push_back(block);
  }
  EXPECT_GT(test.context.spilled_bytes, 0U);
  const auto held = std::count_if(blocks.begin(), blocks.end(), [](const auto& block) { return !block.expired(); });
  EXPECT_LT(held, 20);
}

TEST(ExternalSorter, gives_back_what_lent_blocks_cost_when_it_spills) {
  TestContext test(1U << 20);
  ExternalSorter<int> sorter(test.context);
  int held = 0;
  for (int i = 0; i < 200; ++i) {
    auto block = std::make_shared<Encoder>();
    for (int k = 0; k < 1000; ++k) encode(k, *block);
    sorter.add_block(block->view(), block, 50'000);
    held += block.use_count() > 1;
  }
  EXPECT_GT(test.context.spilled_bytes, 0U);
  EXPECT_GT(held, 50) << "ten at a time";
}

TEST(ExternalSorter, takes_a_little_more_memory_for_entries_where_twice_as_much_is_refused) {
  TestContext test(1U << 20);  // half of it for the sorter: 8,192 entries and the space to sort them take a half of that
  ExternalSorter<int> sorter(test.context);
  for (int i = 0; i < 10'000; ++i) sorter.add(i);
  EXPECT_EQ(test.context.spilled_bytes, 0U);
}

TEST(ExternalSorter, reads_no_more_runs_at_once_than_its_grant_has_blocks_for) {
  TestContext test(4U << 10);  // two runs
  Random random(29);
  ExternalSorter<std::uint64_t> sorter(test.context);
  constexpr std::uint64_t kRecords = 4000;
  for (std::uint64_t i = 0; i < kRecords; ++i) sorter.add(random());
  const std::uint64_t once = test.context.spilled_bytes;
  std::uint64_t count = 0;
  sorter.drain([&](std::uint64_t) { ++count; });
  EXPECT_EQ(count, kRecords);
  EXPECT_GT(test.context.spilled_bytes, 4 * once) << "many runs, merged two by two";
}

TEST(ExternalSorter, decodes_views_and_sorts_nothing) {
  TestContext test(1U << 20);
  ExternalSorter<std::string_view> nothing(test.context);
  nothing.drain([](std::string_view) { FAIL(); });
  ExternalSorter<std::pair<std::string_view, int>> sorter(test.context);
  sorter.add({"b", 1});
  sorter.add({"a", 2});
  std::string order;
  sorter.drain([&](std::pair<std::string_view, int>&& record) { order += record.first; });
  EXPECT_EQ(order, "ab");
}

TEST(ExternalSorter, refuses_a_record_larger_than_the_grant_and_stops_when_asked_to) {
  TestContext test(8U << 10);
  ExternalSorter<std::string> sorter(test.context);
  sorter.add("small");
  EXPECT_EQ(error_code_of([&] { sorter.add(std::string(9000, 'x')); }), Code::resource_exhausted);
  test.stop = true;
  EXPECT_THROW(
      {
        for (int i = 0; i < 10000; ++i) sorter.add("x");
      },
      TaskCancelled);
}

TEST(ExternalSorter, says_which_directory_cannot_take_its_spills) {
  TestContext test(4U << 10);
  test.context.spill_directory = "/nonexistent/spills";
  ExternalSorter<int> sorter(test.context);
  try {
    for (int i = 0; i < 10000; ++i) sorter.add(i);
    FAIL();
  } catch (const TaskError& error) {
    EXPECT_NE(error.error.to_string().find("/nonexistent/spills"), std::string::npos);
  }
}

TEST(CompressionChoice, compresses_while_writing_is_the_slower_part_and_looks_again) {
  using std::chrono::microseconds;
  const auto spill = [](CompressionChoice& choice, int blocks, std::uint64_t left, Duration write_all) {
    int tried = 0;
    for (int i = 0; i < blocks; ++i) {
      const bool compress = choice.try_next();
      tried += compress;
      if (compress) choice.compressed(1000, left, microseconds(2));
      const std::uint64_t stored = compress ? left : 1000;
      choice.written(stored, write_all * static_cast<std::int64_t>(stored) / 1000);
    }
    return tried;
  };
  CompressionChoice slow_disk;
  EXPECT_EQ(spill(slow_disk, 100, 400, microseconds(10)), 100);
  EXPECT_LT(spill(slow_disk, 100, 400, microseconds(1)), 20) << "it became fast";
  EXPECT_GT(spill(slow_disk, 100, 400, microseconds(10)), 60) << "and slow again";
  CompressionChoice memory;
  EXPECT_EQ(spill(memory, 10 * CompressionChoice::kProbe, 400, microseconds(1)), 10);
  CompressionChoice noise;
  EXPECT_EQ(spill(noise, 10 * CompressionChoice::kProbe, 1000, microseconds(10)), 10);
}

TEST(SpillFile, returns_what_was_written_compressed_or_not) {
  TestContext test(1U << 20);
  Random random(26);
  SpillFile file(test.context);
  SpillWriter writer(file, 4096);
  std::vector<std::string> records;
  for (int i = 0; i < 3000; ++i) {
    std::string record(i == 1500 ? 100000 : random.below(60), 'r');
    if (i % 2 == 0) {
      for (char& c : record) c = static_cast<char>(random.below(256));
    }
    writer.write(as_bytes(record));
    records.push_back(std::move(record));
  }
  SpillReader reader(file, writer.finish());
  ByteView record;
  for (const std::string& expected : records) {
    ASSERT_TRUE(reader.next(record));
    EXPECT_EQ(as_chars(record), expected);
  }
  EXPECT_FALSE(reader.next(record));
}

TEST(SpillFile, stores_what_does_not_get_smaller_as_it_is_and_leaves_no_gaps) {
  TestContext test(1U << 20);
  Random random(30);
  SpillFile file(test.context);
  std::string noise(5000, ' ');
  for (char& c : noise) c = static_cast<char>(random.below(256));
  const SpillBlock plain = file.append(as_bytes(noise));
  EXPECT_EQ(plain.stored, noise.size());
  std::uint64_t end = plain.stored;
  for (int i = 0; i < 10; ++i) {
    const SpillBlock block = file.append(as_bytes(std::string(5000, 'x')));
    EXPECT_EQ(block.offset, end);
    end += block.stored;
  }
  EXPECT_EQ(test.context.spilled_bytes, end);
}

TEST(SpillFile, a_record_that_fills_a_block_ends_it) {
  TestContext test(1U << 20);
  SpillFile file(test.context);
  SpillWriter writer(file, 64);
  for (int i = 0; i < 5; ++i) writer.write(as_bytes(std::string(60, 'x')));  // and its length
  EXPECT_EQ(writer.finish().blocks.size(), 5U);
}

TEST(SpillFile, detects_every_damaged_byte_and_a_truncated_file) {
  TestContext test(1U << 20);
  SpillFile file(test.context);
  const std::string text =
      "a block that is compressed, compressed, compressed, compressed, compressed, compressed, compressed, compressed";
  const SpillBlock block = file.append(as_bytes(text));
  ASSERT_LT(block.stored, block.size);
  Encoder space;
  for (std::uint64_t at = 0; at < block.stored; ++at) {
    char byte = 0;
    ASSERT_EQ(::pread(file.fd().get(), &byte, 1, static_cast<off_t>(at)), 1);
    const char damaged = static_cast<char>(byte ^ 0x10);
    ASSERT_EQ(::pwrite(file.fd().get(), &damaged, 1, static_cast<off_t>(at)), 1);
    EXPECT_EQ(error_code_of([&] { file.read(block, space); }), Code::corrupt);
    ASSERT_EQ(::pwrite(file.fd().get(), &byte, 1, static_cast<off_t>(at)), 1);
  }
  EXPECT_EQ(as_chars(file.read(block, space)), text);
  ASSERT_EQ(::ftruncate(file.fd().get(), static_cast<off_t>(block.stored - 1)), 0);
  EXPECT_EQ(error_code_of([&] { file.read(block, space); }), Code::corrupt);
}

}  // namespace
}  // namespace weft::runtime
