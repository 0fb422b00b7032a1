// Aggregators that keep or choose values, against the standard library: with memory to spare, and with so little that they spill.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <weft/statistics.hpp>
#include <weft/weft.h>

#include "tests/engine/api/memory_budgets.hpp"
#include "tests/support/process.hpp"

namespace weft::test {
namespace {

using detail::DistinctSketch;
using detail::QuantileDigest;
using detail::ValueSet;

struct Offer {
  std::string shop;
  double price = 0;
  std::optional<std::uint32_t> buyer;
  friend auto operator<=>(const Offer&, const Offer&) = default;
};
using Offers = std::vector<std::pair<std::uint32_t, Offer>>;

Offers some_offers(std::size_t n, std::uint64_t seed) {
  Offers offers;
  Random random(seed);
  for (std::size_t i = 0; i < n; ++i) {
    const auto item = static_cast<std::uint32_t>(random.below(2) == 0 ? 0 : random.below(40));  // one item has half of them
    offers.emplace_back(item, Offer{"shop " + std::to_string(random.below(700)), static_cast<double>(random.below(3000)) / 8,
                                    random.below(5) == 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(random()))});
  }
  return offers;
}

/// The number at nearest rank.
double quantile_of(std::vector<double> numbers, double part) {
  std::sort(numbers.begin(), numbers.end());
  const auto rank = static_cast<std::size_t>(std::ceil(part * static_cast<double>(numbers.size())));
  return numbers[std::max<std::size_t>(rank, 1) - 1];
}
/// How far a quantile's rank is from the wanted one, as a part of all.
double rank_error(const std::vector<double>& sorted, double number, double part) {
  const auto n = static_cast<double>(sorted.size());
  const auto least = static_cast<double>(std::lower_bound(sorted.begin(), sorted.end(), number) - sorted.begin()) + 1;
  const auto most = static_cast<double>(std::upper_bound(sorted.begin(), sorted.end(), number) - sorted.begin());
  EXPECT_LE(least, most) << "no number of the input: " << number;
  const double wanted = part * n;
  return std::max({0.0, least - wanted - 1, wanted - most}) / n;
}

class Aggregators : public MemoryBudgets {};

TEST_P(Aggregators, CountDifferentValuesOfEachKey) {
  const Offers offers = some_offers(records(), 1);
  std::map<std::uint32_t, std::pair<std::set<std::string>, std::set<std::uint32_t>>> seen;
  for (const auto& [item, offer] : offers) {
    auto& [shops, buyers] = seen[item];
    shops.insert(offer.shop);
    if (offer.buyer) buyers.insert(*offer.buyer);
  }
  run([&](Flow& flow) {
    const auto data = flow.from_vector(offers, 5);
    const auto counts = data.aggregate_by_key(count(), count_distinct(&Offer::shop), count_distinct(&Offer::buyer),
                                              approx_count_distinct(&Offer::buyer), sum(&Offer::price), max(&Offer::shop));
    std::size_t keys = 0;
    for (const auto& [item, row] : counts.collect()) {
      const auto& [shops, buyers] = seen.at(item);
      EXPECT_EQ(std::get<1>(row), shops.size());
      EXPECT_EQ(std::get<2>(row), buyers.size()) << "an empty optional is no value";
      EXPECT_NEAR(static_cast<double>(std::get<3>(row)), static_cast<double>(buyers.size()),
                  buyers.size() <= 256 ? 0 : 0.064 * static_cast<double>(buyers.size()));
      EXPECT_EQ(std::get<5>(row), *shops.rbegin());
      ++keys;
    }
    EXPECT_EQ(keys, seen.size());
  });
}

TEST_P(Aggregators, QuantilesOfEachKey) {
  const Offers offers = some_offers(records(), 2);
  std::map<std::uint32_t, std::vector<double>> prices;
  for (const auto& [item, offer] : offers) prices[item].push_back(offer.price);
  run([&](Flow& flow) {
    const auto data = flow.from_vector(offers, 5);
    for (const auto& [item, row] :
         data.aggregate_by_key(quantile(0.5, &Offer::price), quantiles({0, 0.9, 1}, &Offer::price), 3).collect()) {
      std::vector<double>& all = prices.at(item);
      std::sort(all.begin(), all.end());
      const auto& [median, several] = row;
      if (all.size() < 512) {
        EXPECT_EQ(median, quantile_of(all, 0.5));
      }
      EXPECT_LE(rank_error(all, median, 0.5), 0.006);
      ASSERT_EQ(several.size(), 3u);
      EXPECT_EQ(several[0], all.front());
      EXPECT_LE(rank_error(all, several[1], 0.9), 0.006);
      EXPECT_EQ(several[2], all.back());
    }
  });
}

TEST_P(Aggregators, ChooseTheSameValueWhateverTheOrder) {
  const Offers offers = some_offers(records(), 3);
  std::map<std::uint32_t, std::pair<Offer, Offer>> wanted;  // cheapest, dearest; of equal prices the smallest encoding
  const auto bytes = [](const Offer& offer) {
    Encoder out;
    encode(offer, out);
    return std::vector<std::byte>(out.view().begin(), out.view().end());
  };
  for (const auto& [item, offer] : offers) {
    auto [at, fresh] = wanted.try_emplace(item, offer, offer);
    auto& [low, high] = at->second;
    if (offer.price < low.price || (offer.price == low.price && bytes(offer) < bytes(low))) low = offer;
    if (offer.price > high.price || (offer.price == high.price && bytes(offer) < bytes(high))) high = offer;
  }
  Offers turned(offers.rbegin(), offers.rend());
  run([&](Flow& flow) {
    for (const Offers& order : {offers, turned}) {
      const auto chosen = flow.from_vector(order, 4)
                              .aggregate_by_key(min_by(&Offer::price), max_by(&Offer::price),
                                                max_by(&Offer::price, [](const Offer& offer) { return offer.shop.size(); }))
                              .collect();
      EXPECT_EQ(chosen.size(), wanted.size());
      for (const auto& [item, row] : chosen) {
        EXPECT_EQ(std::get<0>(row), wanted.at(item).first);
        EXPECT_EQ(std::get<1>(row), wanted.at(item).second);
      }
    }
  });
}

TEST_P(Aggregators, FirstAndLastAreThoseOfTheInput) {
  const Offers offers = some_offers(records(), 4);
  std::map<std::uint32_t, std::pair<Offer, Offer>> wanted;
  for (const auto& [item, offer] : offers) wanted.try_emplace(item, offer, offer).first->second.second = offer;
  run([&](Flow& flow) {
    const auto data = flow.from_vector(offers, 7);
    const auto chosen = data.aggregate_by_key(first(), last(), count(), 3).collect();
    EXPECT_EQ(chosen.size(), wanted.size());
    for (const auto& [item, row] : chosen) {
      EXPECT_EQ(std::get<0>(row), wanted.at(item).first);
      EXPECT_EQ(std::get<1>(row), wanted.at(item).second);
    }
    const auto [head, tail] = data.values().aggregate(first(&Offer::shop), last(&Offer::shop));
    EXPECT_EQ(head, offers.front().second.shop);
    EXPECT_EQ(tail, offers.back().second.shop);
  });
}

INSTANTIATE_TEST_SUITE_P(Memory, Aggregators, testing::Values(256u << 20, 2u << 20));

struct Reading {
  std::uint32_t place = 0;
  std::optional<double> value;
  std::optional<std::string> name;
};

TEST(AggregatorsOfAllRecords, SmallestAndLargestPassOverMissingValues) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<Reading> all{{1, std::nullopt, "b"}, {1, 0.0, std::nullopt}, {1, -0.0, "c"}, {1, 7, "a"}, {1, nan, "d"},
                                 {1, std::nullopt, {}},  {2, std::nullopt, {}},  {3, nan, "x"},  {3, {}, {}}};
  const auto report = run_locally([&](Flow& flow) {
    for (const std::uint32_t partitions : {1u, 4u}) {
      const auto data = flow.from_vector(all, partitions);
      const auto [low, high, first_name, last_name, lowest, highest] =
          data.aggregate(min(&Reading::value), max(&Reading::value), min(&Reading::name), max(&Reading::name),
                         min_by(&Reading::value, &Reading::name), max_by(&Reading::value, &Reading::place));
      ASSERT_TRUE(low && *low);
      EXPECT_TRUE(**low == 0 && std::signbit(**low));
      EXPECT_EQ(high.value(), 7.0);
      EXPECT_EQ(first_name.value(), "a");
      EXPECT_EQ(last_name.value(), "x");
      EXPECT_TRUE(lowest.has_value());
      EXPECT_EQ(highest, 1u);
      const auto by_place = data.map([](const Reading& reading) { return std::pair(reading.place, reading.value); });
      for (const auto& [place, row] : by_place.aggregate_by_key(min(), max(), min_by(std::identity())).collect()) {
        const auto& [least, most, chosen] = row;
        EXPECT_EQ(least.has_value(), place != 2) << "of place 2 all are missing";
        EXPECT_EQ(most.has_value(), place != 2);
        EXPECT_EQ(chosen.has_value(), place != 2);
        if (place == 1) {
          EXPECT_EQ(least, 0.0);
          EXPECT_EQ(most, 7.0);
          EXPECT_EQ(chosen, 0.0);
        } else if (place == 3) {
          EXPECT_TRUE(least && std::isnan(*least)) << "a NaN is a value";
        }
      }
    }
  });
  ASSERT_TRUE(report) << report.error().to_string();
}

TEST(AggregatorsOfAllRecords, KnowNothingAndNaNs) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto report = run_locally([&](Flow& flow) {
    const auto none = flow.from_vector(std::vector<double>{}, 2);
    const auto [different, about, median, least] =
        none.aggregate(count_distinct(), approx_count_distinct(), quantile(0.5), min_by(std::identity()));
    EXPECT_EQ(different, 0u);
    EXPECT_EQ(about, 0u);
    EXPECT_EQ(median, std::nullopt);
    EXPECT_EQ(least, std::nullopt);
    const auto odd = flow.from_vector(std::vector<double>{nan, 0.0, -0.0, 7, -nan}, 3);
    const auto [values, hashes, low, high, small, large] = odd.aggregate(
        count_distinct(), approx_count_distinct(), quantile(0.2), quantile(0.8), min_by(std::identity()), max_by(std::identity()));
    EXPECT_EQ(values, 3u);
    EXPECT_EQ(hashes, 3u);
    EXPECT_EQ(low, 0.0);
    EXPECT_TRUE(high.has_value() && std::isnan(*high)) << "NaNs are larger than all numbers";
    EXPECT_EQ(small, 0.0);
    EXPECT_EQ(large, 7.0);
    EXPECT_THROW(quantile(95), std::invalid_argument);
    EXPECT_THROW(quantile(nan), std::invalid_argument);
    EXPECT_THROW(quantiles({0.5, -0.1}), std::invalid_argument);
  });
  ASSERT_TRUE(report) << report.error().to_string();
}

TEST(AggregatorsOfAllRecords, FindQuantilesAtTheNearestRankExactly) {
  std::vector<int> numbers(100);
  std::iota(numbers.begin(), numbers.end(), 1);
  const auto report = run_locally([&](Flow& flow) {
    const auto all = flow.from_vector(numbers, 3);
    for (int i = 1; i <= 100; ++i) EXPECT_EQ(all.aggregate(quantile(i / 100.0)), i);
  });
  ASSERT_TRUE(report) << report.error().to_string();
}

/// Of views, whose text is gone when the next record is read.
TEST(AggregatorsOfAllRecords, AddValuesThatAreViews) {
  const ScratchDirectory scratch;
  std::map<int, std::int64_t> expected;
  {
    std::ofstream lines(scratch / "in");
    for (int i = 0; i < 100'000; ++i) {
      lines << i % 3 << ';' << i << '\n';
      expected[i % 3] += i;
    }
  }
  const auto report = run_locally([&](Flow& flow) {
    const auto sums =
        flow.read_text(scratch / "in")
            .map([](std::string_view line) {
              const auto [key, value] = weft::columns<2>(line, ';');
              return std::pair(weft::parse_number<int>(key).value(), value);
            })
            .aggregate_by_key(weft::sum([](std::string_view value) { return weft::parse_number<std::int64_t>(value).value(); }))
            .collect();
    EXPECT_EQ((std::map<int, std::int64_t>(sums.begin(), sums.end())), expected);
  });
  ASSERT_TRUE(report) << report.error().to_string();
}

TEST(AggregatorsOfAllRecords, RefuseToKeepMoreValuesThanFit) {
  const auto fails = [](const std::function<void(Flow&)>& define) {
    const auto report = run_locally(define, {.threads = 2, .memory_bytes = 2u << 20});
    ASSERT_FALSE(report);
    EXPECT_NE(report.error().to_string().find("approx_count_distinct"), std::string::npos) << report.error().to_string();
  };
  const auto numbers = [](Flow& flow) {
    return flow.generate(
        400'000, [](std::uint64_t i) { return i; }, 2);
  };
  fails([&](Flow& flow) { (void)numbers(flow).aggregate(count_distinct()); });
  fails([&](Flow& flow) {
    (void)numbers(flow).map([](std::uint64_t i) { return std::pair('k', i); }).aggregate_by_key(count_distinct()).collect();
  });
  const auto report = run_locally(
      [&](Flow& flow) {
        EXPECT_NEAR(static_cast<double>(numbers(flow).aggregate(approx_count_distinct())), 400'000, 4 * 0.016 * 400'000);
      },
      {.threads = 2, .memory_bytes = 2u << 20});
  EXPECT_TRUE(report) << report.error().to_string();
}

template <class T>
std::vector<std::byte> bytes_of(const T& value) {
  Encoder out;
  encode(value, out);
  return {out.view().begin(), out.view().end()};
}
template <class T>
T read_back(ByteView bytes) {
  Decoder in(bytes);
  T value = decode<T>(in);
  EXPECT_TRUE(in.empty());
  return value;
}

/// Cut anywhere it is refused; damaged anywhere it is refused or another value, but never read beyond its end.
template <class T, class Use>
void expect_bounded(const T& value, Use use) {
  const std::vector<std::byte> bytes = bytes_of(value);
  EXPECT_EQ(bytes_of(read_back<T>(bytes)), bytes);
  const std::size_t step = std::max<std::size_t>(1, bytes.size() / 500);
  for (std::size_t size = 0; size < bytes.size(); size += step) {
    Decoder in(ByteView(bytes).first(size));
    EXPECT_THROW(decode<T>(in), CodecError) << size;
  }
  Random random(9);
  for (int i = 0; i < 500; ++i) {
    std::vector<std::byte> damaged = bytes;
    damaged[random.below(2) == 0 ? random.below(std::min<std::size_t>(8, damaged.size())) : random.below(damaged.size())] ^=
        static_cast<std::byte>(1 + random.below(255));
    Decoder in(damaged);
    try {
      T other = decode<T>(in);
      use(other);
      other.merge(value);
      use(other);
    } catch (const CodecError&) {
    }
  }
}

TEST(DistinctSketchTest, IsWithinItsErrorAndMergesAsIfItHadSeenAll) {
  for (const std::size_t n : {0u, 1u, 256u, 257u, 1000u, 10'000u, 1'000'000u}) {
    DistinctSketch all, left, right;
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::uint64_t hash = key_hash(i);
      all.add(hash);
      all.add(hash);
      if (i % 3 != 0) left.add(hash);
      if (i % 3 != 1) right.add(hash);
    }
    const double allowed = n <= 256 ? 0 : 3 * 0.01625 * static_cast<double>(n);
    EXPECT_NEAR(static_cast<double>(all.estimate()), static_cast<double>(n), allowed);
    left.merge(read_back<DistinctSketch>(bytes_of(right)));
    EXPECT_EQ(bytes_of(left), bytes_of(all)) << n;
    right.merge(all);
    EXPECT_EQ(bytes_of(right), bytes_of(all)) << n;
  }
}

TEST(DistinctSketchTest, HasTheStandardErrorThatIsPromised) {
  double squares = 0;
  constexpr int kRuns = 200;
  for (std::uint64_t run = 0; run < kRuns; ++run) {
    DistinctSketch sketch;
    for (std::uint64_t i = 0; i < 5000; ++i) sketch.add(key_hash(run << 32 | i));
    const double error = static_cast<double>(sketch.estimate()) / 5000 - 1;
    squares += error * error;
  }
  EXPECT_LT(std::sqrt(squares / kRuns), 0.018);
  EXPECT_GT(std::sqrt(squares / kRuns), 0.008) << "better than possible: the test measures something else";
}

/// Hashes of short keys are even: good for partitions, and not random enough for a sketch.
TEST(ApproxCountDistinct, OfKeysOfEveryKindHasTheErrorThatIsPromised) {
  const auto error_of = [](std::uint64_t count, const auto& key) {
    double error = 1;
    const auto ran = run_locally(
        [&](Flow& flow) {
          const std::uint64_t found = flow.generate(count, key).aggregate(approx_count_distinct());
          error = std::abs(static_cast<double>(found) / static_cast<double>(count) - 1);
        },
        {.threads = 1});
    EXPECT_TRUE(ran) << ran.error().to_string();
    return error;
  };
  constexpr double kAllowed = 4 * 0.01625;
  for (const std::uint64_t count : {5'000u, 20'000u, 100'000u}) {
    EXPECT_LT(error_of(count, [](std::uint64_t i) { return Date{static_cast<std::int32_t>(7305 + i)}; }), kAllowed) << count;
    EXPECT_LT(error_of(count,
                       [](std::uint64_t i) {
                         return std::pair(static_cast<std::uint32_t>(i / 100), static_cast<std::uint32_t>(i % 100));
                       }),
              kAllowed)
        << count;
    EXPECT_LT(error_of(count, [](std::uint64_t i) { return std::pair(static_cast<std::uint32_t>(i), 1u); }), kAllowed) << count;
    EXPECT_LT(error_of(count, [](std::uint64_t i) { return fmt::format("2026-{:07}", i); }), kAllowed) << count;
  }
}

TEST(ValueSetTest, KeepsEachValueOnceAndDamageIsNoticed) {
  ValueSet set;
  std::set<std::string> wanted;
  Random random(5);
  for (int i = 0; i < 20'000; ++i) {
    const std::string text(random.below(300), static_cast<char>('a' + random.below(26)));
    set.add(as_bytes(text));
    wanted.insert(text);
    if (i < 30 || i % 1000 == 0) {
      ASSERT_EQ(set.size(), wanted.size());
    }
  }
  EXPECT_EQ(set.size(), wanted.size());
  ValueSet few;
  for (const char* text : {"", "a", "bb", "", "a"}) few.add(as_bytes(std::string_view(text)));
  EXPECT_EQ(few.size(), 3u);
  few.merge(set);
  few.merge(set);
  EXPECT_EQ(few.size(),
            wanted.size() + (wanted.contains("") ? 0 : 1) + (wanted.contains("a") ? 0 : 1) + (wanted.contains("bb") ? 0 : 1));
  expect_bounded(set, [](const ValueSet& other) { (void)other.size(); });
}

TEST(DistinctSketchTest, DamageIsNoticed) {
  DistinctSketch few, many;
  for (std::uint64_t i = 0; i < 100; ++i) few.add(key_hash(i));
  for (std::uint64_t i = 0; i < 1000; ++i) many.add(key_hash(i));
  expect_bounded(few, [](const DistinctSketch& other) { (void)other.estimate(); });
  expect_bounded(many, [](const DistinctSketch& other) { (void)other.estimate(); });
}

TEST(QuantileDigestTest, IsWithinItsErrorWhateverTheOrder) {
  Random random(6);
  const std::vector<std::function<double(std::size_t)>> shapes = {
      [](std::size_t i) { return static_cast<double>(i); },
      [](std::size_t i) { return -static_cast<double>(i); },
      [&](std::size_t) { return std::exp(static_cast<double>(random.below(1000)) / 20); },
      [&](std::size_t) { return static_cast<double>(random.below(4)); },
      [](std::size_t i) { return i % 2 == 0 ? static_cast<double>(i) : 1e9 - static_cast<double>(i); },
  };
  for (std::size_t shape = 0; shape < shapes.size(); ++shape) {
    std::vector<double> numbers;
    QuantileDigest whole;
    std::vector<QuantileDigest> parts(30);
    for (std::size_t i = 0; i < 200'000; ++i) {
      numbers.push_back(shapes[shape](i));
      whole.add(numbers.back());
      parts[i * parts.size() / 200'000].add(numbers.back());
    }
    QuantileDigest merged;
    for (const QuantileDigest& part : parts) merged.merge(read_back<QuantileDigest>(bytes_of(part)));
    EXPECT_EQ(merged.count(), numbers.size());
    std::sort(numbers.begin(), numbers.end());
    for (const QuantileDigest& digest : {whole, merged}) {
      EXPECT_LT(digest.held_bytes(), 40'000u);
      EXPECT_LT(bytes_of(digest).size(), 17'000u);
      EXPECT_EQ(digest.quantile(0), numbers.front());
      EXPECT_EQ(digest.quantile(1), numbers.back());
      for (const double part : {0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999})
        EXPECT_LE(rank_error(numbers, digest.quantile(part), part), 0.006) << "shape " << shape << " at " << part;
    }
  }
}

TEST(QuantileDigestTest, OfFewNumbersIsExactAndDamageIsNoticed) {
  QuantileDigest digest;
  std::vector<double> numbers;
  Random random(7);
  for (int i = 0; i < 511; ++i) {
    numbers.push_back(static_cast<double>(random.below(1000)) - 500);
    digest.add(numbers.back());
    if (i % 50 != 0 && i != 510) continue;
    for (const double part : {0.0, 0.01, 0.5, 0.9, 1.0}) EXPECT_EQ(digest.quantile(part), quantile_of(numbers, part));
  }
  const auto use = [](const QuantileDigest& other) {
    if (other.count() > 0) (void)other.quantile(0.5);
  };
  expect_bounded(digest, use);
  for (int i = 0; i < 100'000; ++i) digest.add(i);
  expect_bounded(digest, use);
}

}  // namespace
}  // namespace weft::test
