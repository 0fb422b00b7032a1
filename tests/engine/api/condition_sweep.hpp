// Every comparison with numbers of every kind, at the edges of what kinds hold, and whether it holds: as numbers of 64 digits in
// base 2, which have all doubles and all whole numbers of 64 bits.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <weft/weft.h>

namespace weft::test {

static_assert(std::numeric_limits<long double>::digits >= 64);

using Condition = storage::parquet::Condition;
using Comparison = storage::parquet::Comparison;

template <class T>
bool holds(Comparison comparison, const T& value, const T& bound) {
  switch (comparison) {
    case Comparison::equal:
      return value == bound;
    case Comparison::not_equal:
      return value != bound;
    case Comparison::less:
      return value < bound;
    case Comparison::less_or_equal:
      return value <= bound;
    case Comparison::greater:
      return value > bound;
    default:
      return value >= bound;
  }
}

/// Calls visit(condition, comparison, words) for each comparison of the column with the constant.
template <class V, class F>
void each_comparison(const std::string& name, const V& constant, F visit) {
  const auto column = weft::column(name);
  const auto one = [&](const Condition& condition, Comparison comparison, const char* sign) {
    visit(condition, comparison, fmt::format("{} {} {} ({})", name, sign, constant, detail::type_name<V>()));
  };
  one(column == constant, Comparison::equal, "==");
  one(column != constant, Comparison::not_equal, "!=");
  one(column < constant, Comparison::less, "<");
  one(column <= constant, Comparison::less_or_equal, "<=");
  one(column > constant, Comparison::greater, ">");
  one(column >= constant, Comparison::greater_or_equal, ">=");
}

/// Calls visit(condition, holds, words), where holds(value) says whether the condition should hold for the number.
template <class F>
void each_condition(const std::string& name, F visit) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min(), kMost = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  constexpr std::uint64_t kHalf = std::uint64_t{1} << 63, kWhole = std::numeric_limits<std::uint64_t>::max();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto with = [&](auto constants) {
    for (const auto constant : constants)
      each_comparison(name, constant, [&](const Condition& condition, Comparison comparison, const std::string& words) {
        visit(
            condition, [&](long double value) { return holds(comparison, value, static_cast<long double>(constant)); }, words);
      });
  };
  with(std::initializer_list<std::int64_t>{kLeast,     kLeast + 1, -kExact - 1, -129,       -128,      -1,   0,   1,
                                           5,          7,          10,          127,        128,       255,  256, 0x7fffffff,
                                           0x80000000, 0xffffffff, kExact,      kExact + 1, kMost - 1, kMost});
  with(std::initializer_list<std::uint64_t>{0, 5, 7, 255, 0xffffffff, (1u << 24) + 1, kExact + 1, kHalf - 1, kHalf, kHalf + 1,
                                            kHalf + 5, kHalf + 6, kWhole - 1, kWhole});
  with(std::initializer_list<std::uint8_t>{0, 5, 255});
  with(std::initializer_list<double>{-kInfinity,
                                     -1e300,
                                     -0x1p63,
                                     std::nextafter(-0x1p63, 0.0),
                                     -128.5,
                                     -1,
                                     -0.5,
                                     -1e-300,
                                     -0.0,
                                     0,
                                     0.1,
                                     5,
                                     5.5,
                                     6.999999,
                                     7,
                                     254.5,
                                     0x1p53,
                                     0x1p53 + 2,
                                     std::nextafter(0x1p63, 0.0),
                                     0x1p63,
                                     std::nextafter(0x1p64, 0.0),
                                     0x1p64,
                                     std::numeric_limits<float>::max(),
                                     1e300,
                                     kInfinity,
                                     std::nan("")});
}

}  // namespace weft::test
