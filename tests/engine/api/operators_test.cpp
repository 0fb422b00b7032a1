// Each operator against the standard library, and what the concepts refuse.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using Pair = std::pair<std::string, std::int64_t>;

// ---- operators --------------------------------------------------------------------------------------------------------

void run(const std::function<void(Flow&)>& define) {
  const auto report = run_locally(define, {.threads = 2, .memory_bytes = 64u << 20});
  ASSERT_TRUE(report) << report.error().to_string();
}

template <class T>
std::vector<T> sorted(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<Pair> sample_pairs(std::size_t n) {
  std::vector<Pair> pairs;
  Random random(7);
  for (std::size_t i = 0; i < n; ++i) pairs.emplace_back("k" + std::to_string(random.below(50)), random.between(-100, 100));
  return pairs;
}

TEST(Sources, GenerateGivesItsNumbersInOrder) {
  run([](Flow& flow) {
    std::vector<std::uint64_t> wanted(1000);
    std::iota(wanted.begin(), wanted.end(), 0u);
    const auto same = [](std::uint64_t i) { return i; };
    EXPECT_EQ(flow.generate(1000, same).collect(), wanted);
    EXPECT_EQ(flow.generate(1000, same, 7).first(10), std::vector<std::uint64_t>(wanted.begin(), wanted.begin() + 10));
    EXPECT_EQ(flow.generate(0, same).count(), 0u);
  });
}

TEST(Sources, RecordsGoOutAndIn) {
  const ScratchDirectory scratch;
  run([&](Flow& flow) {
    flow.generate(
            500, [](std::uint64_t i) { return i * i; }, 2)
        .write_records(scratch / "numbers");
  });
  run([&](Flow& flow) {
    const auto numbers = flow.read_records<std::uint64_t>(scratch / "numbers").collect();
    ASSERT_EQ(numbers.size(), 500u);
    for (std::uint64_t i = 0; i < 500; ++i) EXPECT_EQ(numbers[i], i * i);
    EXPECT_EQ(flow.read_records<16>(scratch / "numbers").count(), 250u) << "two records at a time";
  });
}

TEST(Sources, WordsOfATextAreThoseOfItsLines) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch / "in");
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += (i % 7 == 0 ? "\r\n" : i % 3 == 0 ? " \t" : "x") + std::to_string(i) + "\n";
  std::ofstream(scratch / "in/a") << text;
  std::ofstream(scratch / "in/b") << "no end of line";
  run([&](Flow& flow) {
    const auto lines = flow.read_text(scratch / "in");
    const auto of_lines = lines.flat_map([](std::string_view line) { return words(line); });
    const auto wanted = of_lines.map([](std::string_view word) { return std::string(word); }).collect();
    EXPECT_EQ(lines.flat_map(split_words).map([](std::string_view word) { return std::string(word); }).collect(), wanted);
    EXPECT_EQ(wanted.size(), 40'004u);
    EXPECT_EQ(lines.filter([](std::string_view line) { return line.size() > 9; }).flat_map(split_words).count(), 4u);
  });
}

TEST(Narrow, FlatMapWithEmitAndMapPartitions) {
  run([](Flow& flow) {
    const auto numbers = flow.from_vector(std::vector<int>{1, 2, 3, 4, 5}, 2);
    const auto repeated = numbers.flat_map<int>([](int n, auto&& emit) {
      for (int i = 0; i < n; ++i) emit(n);
    });
    EXPECT_EQ(repeated.collect(), (std::vector<int>{1, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 5}));
    const auto sums = repeated.map_partitions<int>([](auto&& records, auto&& emit) {
      int sum = 0;
      records([&](int n) { sum += n; });
      emit(sum);
    });
    EXPECT_EQ(sums.collect(), (std::vector<int>{14, 41}));
    EXPECT_EQ(sums.reduce(1, std::plus<>()), 56);
    EXPECT_EQ(numbers.filter([](int n) { return n > 9; }).reduce(std::plus<>()), std::nullopt);
  });
}

TEST(Narrow, SampleIsRepeatableAndAboutTheFraction) {
  run([](Flow& flow) {
    const auto numbers = flow.generate(20'000, [](std::uint64_t i) { return i; });
    const auto once = numbers.sample(0.1, 5).collect();
    EXPECT_EQ(once, numbers.sample(0.1, 5).collect());
    EXPECT_NE(once, numbers.sample(0.1, 6).collect());
    EXPECT_NEAR(static_cast<double>(once.size()), 2000, 300);
    EXPECT_EQ(numbers.sample(1).count(), 20'000u);
    EXPECT_EQ(numbers.sample(0).count(), 0u);
  });
}

TEST(ByKey, ReduceAggregateGroupAgree) {
  const std::vector<Pair> pairs = sample_pairs(5000);
  std::map<std::string, std::int64_t> sums;
  for (const Pair& pair : pairs) sums[pair.first] += pair.second;
  const std::vector<Pair> wanted(sums.begin(), sums.end());
  run([&](Flow& flow) {
    const auto data = flow.from_vector(pairs, 3);
    EXPECT_EQ(sorted(data.reduce_by_key(std::plus<>()).collect()), wanted);
    EXPECT_EQ(sorted(data.aggregate_by_key(
                             std::int64_t{0}, [](std::int64_t& sum, std::int64_t n) { sum += n; },
                             [](std::int64_t a, std::int64_t b) { return a + b; }, 3)
                         .collect()),
              wanted);
    const auto grouped = data.group_by_key().map([](std::pair<std::string, Values<std::int64_t>> group) {
      std::int64_t sum = 0;
      for (std::int64_t n : group.second) sum += n;
      return Pair(group.first, sum);
    });
    EXPECT_EQ(sorted(grouped.collect()), wanted);
    const auto groups = data.group_by_key().collect();  // owns the values
    ASSERT_EQ(groups.size(), wanted.size());
    for (const auto& [key, values] : groups) EXPECT_EQ(std::accumulate(values.begin(), values.end(), std::int64_t{0}), sums[key]);
  });
}

TEST(ByKey, APartitionerDecidesWhereKeysGo) {
  const ScratchDirectory scratch;
  run([&](Flow& flow) {
    flow.generate(100, [](std::uint64_t i) { return std::pair(i % 10, std::uint64_t{1}); })
        .reduce_by_key(std::plus<>(), partition_by([](std::uint64_t key, std::uint32_t) { return key / 5; }, 2))
        .map([](const auto& entry) { return entry.first; })
        .write_text(scratch / "out");
  });
  EXPECT_EQ(sorted(part_lines(scratch / "out")), (std::vector<std::string>{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}));
  std::string first = read_file(scratch / "out/part-00000");
  std::erase(first, '\n');
  std::sort(first.begin(), first.end());
  EXPECT_EQ(first, "01234");
}

TEST(ByKey, CogroupSeesBothSidesOfEveryKey) {
  run([](Flow& flow) {
    const auto left = flow.from_vector(std::vector<std::pair<int, int>>{{1, 10}, {1, 11}, {2, 20}});
    const auto right = flow.from_vector(std::vector<std::pair<int, std::string>>{{1, "a"}, {3, "c"}});
    auto groups = left.cogroup(right).collect();
    std::sort(groups.begin(), groups.end());
    ASSERT_EQ(groups.size(), 3u);
    EXPECT_EQ(groups[0].second.first, (std::vector<int>{10, 11}));
    EXPECT_EQ(groups[0].second.second, std::vector<std::string>{"a"});
    EXPECT_EQ(groups[1].second.first, std::vector<int>{20});
    EXPECT_TRUE(groups[2].second.first.empty());
  });
}

TEST(Joins, OfAllKinds) {
  run([](Flow& flow) {
    using Left = std::pair<int, std::string>;
    const auto left = flow.from_vector(std::vector<Left>{{1, "a"}, {2, "b"}, {2, "c"}});
    const auto right = flow.from_vector(std::vector<std::pair<int, int>>{{2, 7}, {3, 9}});
    for (const JoinStrategy how : {JoinStrategy::hash, JoinStrategy::broadcast}) {
      const auto inner = sorted(left.join(right, how).collect());
      ASSERT_EQ(inner.size(), 2u);
      EXPECT_EQ(inner[0], (std::pair(2, Joined(std::string("b"), 7))));
      EXPECT_EQ(left.left_join(right, how).count(), 3u);
      EXPECT_EQ(sorted(left.semi_join(right, how).collect()), (std::vector<Left>{{2, "b"}, {2, "c"}}));
      EXPECT_EQ(left.anti_join(right, how).collect(), (std::vector<Left>{{1, "a"}}));
    }
    EXPECT_EQ(left.join(right, 3).count(), 2u);
    EXPECT_EQ(left.right_join(right).count(), 3u);
    EXPECT_EQ(left.full_join(right).count(), 4u);
    EXPECT_THROW((void)left.full_join(right, JoinStrategy::broadcast), std::invalid_argument);
  });
}

template <class D>
bool in_place(const D& dataset) {
  return dataset.lineage().operators.back().ends_with("without shuffle");
}
template <class D>
std::size_t shuffles(const D& dataset) {
  return dataset.lineage().branches.at(0).partitioned.size();
}

TEST(Placement, OperatorsByKeyFollowEachOtherWithoutShuffle) {
  run([](Flow& flow) {
    const auto pairs = flow.from_vector(std::vector<std::pair<int, int>>{{1, 2}, {1, 3}, {2, 5}, {3, 7}, {3, 11}});
    const auto sums = pairs.reduce_by_key(std::plus<>(), 3);
    EXPECT_FALSE(in_place(sums));
    const auto kept = sums.map_values([](int v) { return v + 1; }).filter([](const auto& e) { return e.second > 5; });
    const auto again = kept.reduce_by_key(std::plus<>());
    EXPECT_TRUE(in_place(again));
    EXPECT_TRUE(in_place(kept.group_by_key()));
    EXPECT_TRUE(in_place(kept.reduce_by_key(std::plus<>(), 3)));
    EXPECT_TRUE(in_place(kept.cache().aggregate_by_key(0, std::plus<>(), std::plus<>())));
    EXPECT_TRUE(in_place(Dataset<std::pair<int, int>>(kept).reduce_by_key(std::plus<>())));
    EXPECT_EQ(sorted(again.collect()), (std::vector<std::pair<int, int>>{{1, 6}, {2, 6}, {3, 19}}));

    EXPECT_FALSE(in_place(kept.reduce_by_key(std::plus<>(), 4)));
    EXPECT_FALSE(in_place(kept.repartition(3).reduce_by_key(std::plus<>())));
    EXPECT_FALSE(in_place(kept.union_with(sums).reduce_by_key(std::plus<>())));
    EXPECT_FALSE(in_place(kept.map([](const auto& e) { return e; }).reduce_by_key(std::plus<>())));
    EXPECT_FALSE(in_place(kept.reduce_by_key(std::plus<>(), partition_by([](int, std::uint32_t) { return 0u; }, 3))));
    const auto custom = pairs.reduce_by_key(std::plus<>(), partition_by([](int, std::uint32_t) { return 0u; }, 3));
    EXPECT_FALSE(in_place(custom.group_by_key(3)));
  });
}

TEST(Placement, JoinsShuffleOnlyTheSidesThatLieElsewhere) {
  run([](Flow& flow) {
    const auto pairs = flow.from_vector(std::vector<std::pair<int, int>>{{1, 2}, {1, 3}, {2, 5}, {3, 7}, {3, 11}});
    const auto sums = pairs.reduce_by_key(std::plus<>());
    const auto twice = sums.join(sums);
    EXPECT_EQ(shuffles(twice), 1u);
    EXPECT_EQ(shuffles(pairs.join(sums)), 2u);  // the one that was there and a new one
    const auto counts = pairs.join(sums).map_values([](int left, int right) { return left * right; }).reduce_by_key(std::plus<>());
    EXPECT_TRUE(in_place(counts));
    using Row = std::pair<int, Joined<int, int>>;
    EXPECT_EQ(sorted(twice.collect()), (std::vector<Row>{{1, {5, 5}}, {2, {5, 5}}, {3, {18, 18}}}));
    EXPECT_EQ(sorted(counts.collect()), (std::vector<std::pair<int, int>>{{1, 25}, {2, 25}, {3, 324}}));
    EXPECT_EQ(sums.full_join(pairs).count(), 5u);
    EXPECT_EQ(sums.right_join(pairs.filter([](const auto& e) { return e.first > 1; })).count(), 3u);
    EXPECT_EQ(sums.cogroup(pairs).count(), 3u);
    const auto texts = flow.from_vector(std::vector<std::pair<std::string, std::string>>{{"a", "x"}, {"b", "y"}, {"a", "z"}});
    const auto longest = texts.reduce_by_key([](const std::string& a, const std::string& b) { return a + b; });
    EXPECT_EQ(longest.join(texts).reduce_by_key([](const auto& a, const auto&) { return a; }).count(), 2u);
    EXPECT_EQ(longest.anti_join(texts).count(), 0u);
  });
}

TEST(Arrangement, SortByOrdersAcrossPartitionsAndKeepsEqualKeysInOrder) {
  const ScratchDirectory scratch;
  std::vector<std::pair<int, int>> rows;
  Random random(3);
  for (int i = 0; i < 20'000; ++i) rows.emplace_back(static_cast<int>(random.below(100)), i);
  auto wanted = rows;
  const auto by_first = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto by_first_down = [](const auto& a, const auto& b) { return a.first > b.first; };
  run([&](Flow& flow) {
    const auto data = flow.from_vector(rows, 4);
    const auto key = [](const std::pair<int, int>& row) { return row.first; };
    std::stable_sort(wanted.begin(), wanted.end(), by_first);
    EXPECT_EQ(data.sort_by(key).collect(), wanted);
    wanted = rows;
    std::stable_sort(wanted.begin(), wanted.end(), by_first_down);
    EXPECT_EQ(data.sort_by(key, Order::descending, 5).collect(), wanted);
    EXPECT_EQ(data.sort_by(key, Order::descending, 1).collect(), wanted);
    data.sort_by(key, Order::ascending, 4).write_text(scratch / "out");
  });
  for (const std::string part : {"0", "1", "2", "3"})
    EXPECT_GT(read_file(scratch / ("out/part-0000" + part)).size(), 10'000u) << "uneven";
}

TEST(Arrangement, DistinctTopRepartitionUnionCache) {
  run([](Flow& flow) {
    const auto small = flow.generate(1000, [](std::uint64_t i) { return static_cast<int>(i % 37); });
    EXPECT_EQ(small.distinct().count(), 37u);
    EXPECT_EQ(small.distinct().top(3).collect(), (std::vector<int>{36, 35, 34}));
    EXPECT_EQ(small.distinct().top(2, std::greater<>()).collect(), (std::vector<int>{0, 1}));
    EXPECT_EQ(small.repartition(5).count(), 1000u);
    EXPECT_EQ(small.union_with(small.distinct()).union_with(small).count(), 2037u);
    const auto kept = small
                          .map([](int n) {
                            counter("computed").add();
                            return n;
                          })
                          .cache();
    EXPECT_EQ(kept.count() + kept.count(), 2000u);
  });
}

TEST(Counters, CountWinningAttemptsOnce) {
  const auto report = run_locally([](Flow& flow) {
    const auto kept = flow.generate(1000,
                                    [](std::uint64_t i) {
                                      if (i % 10 == 0) counter("tens").add();
                                      counter("all").add(2);
                                      return i;
                                    })
                          .cache();
    EXPECT_EQ(kept.count(), 1000u);
    EXPECT_EQ(kept.sort_by(std::identity{}).first(2), (std::vector<std::uint64_t>{0, 1}));
  });
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(report->counters.at("tens"), 100);
  EXPECT_EQ(report->counters.at("all"), 2000);
  EXPECT_THROW((void)counter("outside"), std::logic_error);
}

// ---- the classic classes ----------------------------------------------------------------------------------------------

struct WordMapper : Mapper<std::string_view, std::string, std::int64_t> {
  void map(const std::string_view& line, Emit emit) override {
    for (std::string_view word : words(line)) emit(std::string(word), 1);
  }
};
struct Sum : Reducer<std::string, std::int64_t, Pair> {
  void reduce(const std::string& key, Values<std::int64_t>& values, Emit emit) override {
    std::int64_t sum = 0;
    for (std::int64_t n : values) sum += n;
    emit(Pair(key, sum));
  }
};
struct LocalSum : Combiner<std::string, std::int64_t> {
  void combine(const std::string&, Values<std::int64_t>& values, Emit emit) override {
    std::int64_t sum = 0;
    for (std::int64_t n : values) sum += n;
    emit(sum);
  }
};
struct ByFirstLetter : Partitioner<std::string> {
  std::uint32_t partition(const std::string& key, std::uint32_t partitions) const override {
    return static_cast<unsigned char>(key[0]) % partitions;
  }
};

TEST(MapReduceClasses, CountWords) {
  const ScratchDirectory scratch;
  write_file(scratch / "in", "b a\nc b\nb\n");
  run([&](Flow& flow) {
    const auto lines = flow.read_text(scratch / "in");
    const std::vector<Pair> wanted{{"a", 1}, {"b", 3}, {"c", 1}};
    EXPECT_EQ(sorted(MapReduce<WordMapper, Sum>().run(lines).collect()), wanted);
    EXPECT_EQ(
        sorted(MapReduce<WordMapper, Sum>().combiner<LocalSum>().partitioner<ByFirstLetter>().reducers(2).run(lines).collect()),
        wanted);
  });
}

}  // namespace
}  // namespace weft::test
