// The order of records where none is given, and values of which operator< says nothing: results do not depend on where they stand.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <compare>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <weft/weft.h>

#include "base/random.hpp"
#include "tests/support/checks.hpp"

namespace weft::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();

void run_well(const std::function<void(Flow&)>& define) {
  const auto report = run_locally(define, {.threads = 3});
  EXPECT_TRUE(report) << report.error().to_string();
}

/// Numbers as texts that can be compared: "nan" for each of them.
std::string text_of(double x) { return std::isnan(x) ? "nan" : std::to_string(x + 0.0); }
std::vector<std::string> texts_of(const std::vector<double>& numbers) {
  std::vector<std::string> texts;
  for (const double x : numbers) texts.push_back(text_of(x));
  return texts;
}
/// The order by hand: numbers, then NaNs.
bool before(double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; }

/// Whose numbers are in another order.
enum class Priority { low = 3, middle = 1, high = 2 };
int rank(Priority priority) { return priority == Priority::low ? 0 : priority == Priority::middle ? 1 : 2; }
bool operator<(Priority a, Priority b) { return rank(a) < rank(b); }
bool operator>(Priority a, Priority b) { return b < a; }
bool operator<=(Priority a, Priority b) { return !(b < a); }
bool operator>=(Priority a, Priority b) { return !(a < b); }

struct Measure {
  double value = 0;
  int tag = 0;
  friend auto operator<=>(const Measure&, const Measure&) = default;
};

std::vector<double> some_numbers(Random& random) {
  const std::vector<double> special{kNan, -kNan, kInf, -kInf, 0.0, -0.0, 1e300, -1e300};
  std::vector<double> numbers;
  for (std::uint64_t n = 20 + random.below(60); n > 0; --n)
    numbers.push_back(random.chance(0.4) ? special[random.below(special.size())] : static_cast<double>(random.below(10)) - 5);
  return numbers;
}

TEST(NaturalOrder, IsTotalWhereFloatingPointNumbersAreInIt) {
  using runtime::compare_naturally;
  EXPECT_LT(compare_naturally(kInf, kNan), 0);
  EXPECT_EQ(compare_naturally(kNan, -kNan), 0);
  EXPECT_EQ(compare_naturally(0.0, -0.0), 0);
  using Pair = std::pair<double, std::string>;
  EXPECT_LT(compare_naturally(Pair(kNan, "a"), Pair(kNan, "b")), 0) << "what follows a NaN decides";
  EXPECT_GT(compare_naturally(Pair(kNan, "a"), Pair(1, "b")), 0);
  using Maybe = std::optional<float>;
  EXPECT_LT(compare_naturally(Maybe(), Maybe(-1.0F)), 0);
  EXPECT_GT(compare_naturally(Maybe(std::numeric_limits<float>::quiet_NaN()), Maybe(1.0F)), 0);
  EXPECT_LT(compare_naturally(std::vector<double>{1}, std::vector<double>{1, -1}), 0);
  EXPECT_LT(compare_naturally(std::tuple(1, kInf, 2), std::tuple(1, kNan, 0)), 0);
  EXPECT_GT(compare_naturally(Measure{kNan, 0}, Measure{kInf, 9}), 0);
  EXPECT_EQ(compare_naturally(Measure{kNan, 0}, Measure{kNan, 9}), 0);
  EXPECT_LT(compare_naturally(Measure{1, 0}, Measure{1, 1}), 0);
}

TEST(NaturalOrder, DecidesInEveryOperatorWhateverTheOrderAndThePartitionsOfTheRecords) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const std::vector<double> numbers = some_numbers(random);
    const auto partitions = static_cast<std::uint32_t>(1 + random.below(6));
    std::vector<double> sorted = numbers;
    std::stable_sort(sorted.begin(), sorted.end(), before);
    const std::vector<double> largest(sorted.rbegin(), sorted.rbegin() + 5);
    std::vector<double> distinct;
    for (const double x : sorted)
      if (distinct.empty() || text_of(distinct.back()) != text_of(x)) distinct.push_back(x);
    const auto is_number = [](double x) { return !std::isnan(x); };
    const std::size_t count = static_cast<std::size_t>(std::count_if(numbers.begin(), numbers.end(), is_number));
    ASSERT_GT(count, 0u);
    run_well([&](Flow& flow) {
      const auto all = flow.from_vector(numbers, partitions);
      EXPECT_EQ(texts_of(all.sort_by([](double x) { return x; }).collect()), texts_of(sorted));
      EXPECT_EQ(texts_of(all.sort_by([](double x) { return std::pair(x, 1); }).collect()), texts_of(sorted));
      EXPECT_EQ(texts_of(all.sort_by([](double x) { return std::optional(x); }).collect()), texts_of(sorted));
      EXPECT_EQ(texts_of(all.sort_by([](double x) { return Measure{x, 1}; }).collect()), texts_of(sorted));
      EXPECT_EQ(texts_of(all.sort_by([](double x) { return by_value(x); }).collect()), texts_of(sorted));
      auto reversed = all.sort_by([](double x) { return std::tuple(1, x); }, Order::descending, 3).collect();
      std::reverse(reversed.begin(), reversed.end());
      EXPECT_EQ(texts_of(reversed), texts_of(sorted));
      EXPECT_EQ(texts_of(all.top(5).collect()), texts_of(largest));
      auto once = all.distinct().collect();
      std::sort(once.begin(), once.end(), before);
      EXPECT_EQ(texts_of(once), texts_of(distinct));
      const auto pairs = all.map([](double x) { return std::pair(0, x); });
      EXPECT_EQ(texts_of(pairs.top_by_key(5).collect().at(0).second), texts_of(largest));
      const auto groups = pairs.group_by_key().sorted_by([](double x) { return x; }).map([](int, const Values<double>& values) {
        return values.to_vector();
      });
      EXPECT_EQ(texts_of(groups.collect().at(0)), texts_of(sorted));
      const auto [least, most] = pairs.aggregate_by_key(weft::min(), weft::max()).collect().at(0).second;
      EXPECT_EQ(text_of(least), text_of(sorted.front()));
      EXPECT_EQ(text_of(most), text_of(sorted[count - 1]));
      EXPECT_EQ(
          flow.from_vector(numbers, partitions).map([](double x) { return std::pair(by_value(x), 1); }).count_by_key().count(),
          distinct.size());
    });
  }
}

TEST(NaturalOrder, DistinctRecordsAreThoseOfDistinctNumbersWhateverHoldsThem) {
  run_well([&](Flow& flow) {
    const auto numbers = flow.from_vector(std::vector<double>{kNan, -kNan, 0.0, -0.0, 1, 1}, 3);
    EXPECT_EQ(numbers.map([](double x) { return std::pair(x, 'a'); }).distinct().count(), 3u);
    EXPECT_EQ(numbers.map([](double x) { return std::optional(x); }).distinct().count(), 3u);
    EXPECT_EQ(numbers.map([](double x) { return std::vector{x, -x}; }).distinct().count(), 3u);
    EXPECT_EQ(numbers.map([](double x) { return Measure{x, 1}; }).distinct().count(), 3u);
    const auto keyed = numbers.map([](double x) { return std::pair(by_value(x), x); });
    EXPECT_EQ(keyed.join(keyed).distinct().count(), 3u);
    EXPECT_EQ(keyed.join(keyed).count(), 12u);
    EXPECT_EQ(keyed.group_by_key().count(), 3u);
    EXPECT_EQ(keyed.join(keyed).values().top(1).collect().size(), 1u);
  });
}

TEST(NaturalOrder, MinAndMaxPassOverNaNsAndKnowTheSmallerZero) {
  for (const std::vector<double>& numbers : {std::vector<double>{kNan, -0.0, 0.0}, {0.0, kNan, -0.0}, {-0.0, 0.0, kNan}}) {
    run_well([&](Flow& flow) {
      const auto [least, most] = flow.from_vector(numbers, 2).aggregate(weft::min(), weft::max());
      EXPECT_TRUE(*least == 0 && std::signbit(*least));
      EXPECT_TRUE(*most == 0 && !std::signbit(*most));
      const auto nothing = flow.from_vector(std::vector<double>{kNan, kNan}, 2).aggregate(weft::max());
      EXPECT_TRUE(nothing && std::isnan(*nothing)) << "there is nothing else";
    });
  }
}

TEST(Sums, OfWholeNumbersDoNotDependOnTheOrderAndFailWhereTheyDoNotFit) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(), kMin = std::numeric_limits<std::int64_t>::min();
  std::vector<std::int64_t> numbers{kMax, 7, kMax, kMin, kMin, 1, 1};
  for (int round = 0; round < 4; ++round) {
    std::next_permutation(numbers.begin(), numbers.end());
    run_well([&](Flow& flow) {
      const auto pairs = flow.from_vector(numbers, 3).map([](std::int64_t x) { return std::pair(1, x); });
      EXPECT_EQ(pairs.aggregate_by_key(weft::sum()).collect().at(0).second, 7);
      EXPECT_DOUBLE_EQ(flow.from_vector(numbers, 3).aggregate(weft::mean()).value(), 1.0);
      EXPECT_EQ(flow.from_vector(std::vector<std::uint64_t>{UINT64_MAX - 1, 1}, 2).aggregate(weft::sum()), UINT64_MAX);
    });
  }
  run_well([&](Flow& flow) {
    EXPECT_EQ(flow.from_vector(std::vector<int>{-1}, 1).aggregate(weft::mean()), -1.0);
    EXPECT_EQ(flow.from_vector(std::vector<int>{-1, -2, -3}, 2).aggregate(weft::mean()), -2.0);
    EXPECT_EQ(flow.from_vector(std::vector<int>{-5, 2, 1}, 3).aggregate(weft::mean()), -2.0 / 3);
    EXPECT_EQ(flow.from_vector(std::vector<std::int64_t>{kMin, kMin}, 2).aggregate(weft::mean()), static_cast<double>(kMin));
  });
  const auto failed = [](const std::function<void(Flow&)>& define) {
    const auto report = run_locally(define, {.threads = 2});
    return report ? std::string("it went well") : report.error().to_string();
  };
  for (const std::string& error :
       {failed([&](Flow& flow) {
          (void)flow.from_vector(std::vector<std::int64_t>{kMax, 1}, 2).aggregate(weft::sum());
        }),
        failed([&](Flow& flow) {
          (void)flow.from_vector(std::vector<std::uint64_t>{UINT64_MAX, 1}, 2).aggregate(weft::sum());
        }),
        failed([&](Flow& flow) {
          const auto pairs =
              flow.from_vector(std::vector<std::int64_t>{kMin, -1}, 2).map([](std::int64_t x) { return std::pair(1, x); });
          (void)pairs.aggregate_by_key(weft::sum()).collect();
        }),
        failed([&](Flow& flow) {
          using Time = std::chrono::nanoseconds;
          (void)flow.from_vector(std::vector<Time>{Time(kMax), Time(1)}, 2).aggregate(weft::sum());
        })}) {
    EXPECT_TRUE(has(error, "weft::sum: the total does not fit in 64 bits; sum floating-point numbers instead")) << error;
    EXPECT_FALSE(has(error, "failed 4 times")) << error;
  }
}

TEST(NaturalOrder, OfEnumsIsTheUsers) {
  run_well([](Flow& flow) {
    using enum Priority;
    const auto priorities = flow.from_vector(std::vector{high, low, middle, low, high}, 2);
    EXPECT_EQ(priorities.sort_by(std::identity()).collect(), (std::vector{low, low, middle, high, high}));
    EXPECT_EQ(priorities.aggregate(weft::min()), low);
    EXPECT_EQ(priorities.aggregate(weft::max()), high);
  });
}

}  // namespace
}  // namespace weft::test
