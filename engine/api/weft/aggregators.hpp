// Aggregators: results of many values, to be composed freely.
//
//   orders.aggregate_by_key(weft::count(), weft::sum(&Order::price), weft::max(&Order::time))   // pair<Key, tuple<…>>
//   orders.aggregate(weft::mean(&Order::price))                                                 // of all records, at once
//
// Each takes a function of a record (by key: of a value), or none for the record itself. Values are combined before they are sent.
// Integers are added in 128 bits, and a sum that does not fit in 64 bits fails the job. Sums and means of floating-point numbers
// depend in their last digits on the order of the additions. min and max pass over empty optionals, and over NaNs unless there is
// nothing else; for them -0.0 is smaller than 0.0.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/codec.hpp"
#include "runtime/operators/natural_order.hpp"

namespace weft {
namespace detail {

/// Not integers of 128 bits, which there are with GNU's extensions.
template <class T>
concept NarrowIntegral = std::integral<T> && sizeof(T) <= 8;

/// The type of a sum: 64 bits for integers, double for floating-point numbers, T itself for the rest.
template <class T>
struct WideType {
  using type = T;
};
template <NarrowIntegral T>
requires std::signed_integral<T>
struct WideType<T> {
  using type = std::int64_t;
};
template <NarrowIntegral T>
requires std::unsigned_integral<T>
struct WideType<T> {
  using type = std::uint64_t;
};
template <std::floating_point T>
struct WideType<T> {
  using type = double;
};
template <class T>
using Wide = typename WideType<T>::type;

/// Fails the job: a sum needs more than 64 bits.
[[noreturn]] void refuse_total();

/// A partial sum of integers, in 128 bits: depending on the order, it may be larger than the total.
template <NarrowIntegral W>
struct WideSum {
  std::uint64_t low = 0;
  std::int64_t high = 0;

  static WideSum of(W value) { return {static_cast<std::uint64_t>(value), value < W{0} ? -1 : 0}; }
  WideSum operator+(const WideSum& other) const {
    WideSum sum{low + other.low, high + other.high};
    if (sum.low < low) ++sum.high;
    return sum;
  }
  W total() const {
    const W narrow = static_cast<W>(low);
    if (high != (narrow < W{0} ? -1 : 0)) refuse_total();
    return narrow;
  }
  explicit operator double() const {
    if (high >= 0) return static_cast<double>(high) * 0x1p64 + static_cast<double>(low);
    // Converts the magnitude: for a small negative sum, `low` alone is near 2^64 and would lose its last digits.
    const std::uint64_t up = ~static_cast<std::uint64_t>(high) + (low == 0 ? 1 : 0);
    return -(static_cast<double>(up) * 0x1p64 + static_cast<double>(~low + 1));
  }
};
/// The accumulator of a sum.
template <class W>
struct SumAcc {
  using type = W;
  static const W& of(const W& value) { return value; }
};
template <NarrowIntegral W>
struct SumAcc<W> {
  using type = WideSum<W>;
  static WideSum<W> of(W value) { return WideSum<W>::of(value); }
};

template <class T>
void add_to(T& sum, const T& value) {
  if constexpr (requires {
                  typename T::period;
                  requires std::integral<typename T::rep>;
                }) {
    typename T::rep total{};
    if (__builtin_add_overflow(sum.count(), value.count(), &total)) refuse_total();
    sum = T(total);
  } else {
    sum = static_cast<T>(sum + value);
  }
}

template <class F, class V>
using Projected = Owned<std::remove_cvref_t<std::invoke_result_t<const F&, const V&>>>;

/// The base of all aggregators: its place in the program.
struct AggregatorBase {
  std::source_location where;
};

struct Count : AggregatorBase {
  template <class V>
  static constexpr bool kFits = true;
  template <class V>
  using Acc = std::uint64_t;
  template <class V>
  std::uint64_t init(const V&) const {
    return 1;
  }
  void merge(std::uint64_t& acc, std::uint64_t other) const { acc += other; }
  static std::uint64_t result(std::uint64_t acc) { return acc; }
  template <class V>
  static std::uint64_t of_nothing() {
    return 0;
  }
};

template <class F>
struct Sum : AggregatorBase {
  F function;
  template <class V>
  static constexpr bool kFits =
      !std::convertible_to<Projected<F, V>, std::string_view> && requires(const Wide<Projected<F, V>>& sum) {
    { sum + sum } -> std::convertible_to<Wide<Projected<F, V>>>;
  };
  template <class V>
  using Acc = typename SumAcc<Wide<Projected<F, V>>>::type;
  template <class V>
  Acc<V> init(const V& value) const {
    return SumAcc<Wide<Projected<F, V>>>::of(static_cast<Wide<Projected<F, V>>>(std::invoke(function, value)));
  }
  template <class A>
  void merge(A& acc, const A& other) const {
    add_to(acc, other);
  }
  template <class A>
  static A result(A acc) {
    return acc;
  }
  template <NarrowIntegral W>
  static W result(const WideSum<W>& acc) {
    return acc.total();
  }
  template <class V>
  static Wide<Projected<F, V>> of_nothing() {
    return Wide<Projected<F, V>>();
  }
};

template <class S>
struct MeanParts {
  S sum{};
  std::uint64_t count = 0;
};
template <class F>
struct Mean : AggregatorBase {
  F function;
  template <class V>
  static constexpr bool kFits = std::is_arithmetic_v<Projected<F, V>>;
  template <class V>
  using Acc = MeanParts<typename SumAcc<Wide<Projected<F, V>>>::type>;
  template <class V>
  Acc<V> init(const V& value) const {
    return {SumAcc<Wide<Projected<F, V>>>::of(static_cast<Wide<Projected<F, V>>>(std::invoke(function, value))), 1};
  }
  template <class S>
  void merge(MeanParts<S>& acc, const MeanParts<S>& other) const {
    add_to(acc.sum, other.sum);
    acc.count += other.count;
  }
  template <class S>
  static double result(const MeanParts<S>& acc) {
    return static_cast<double>(acc.sum) / static_cast<double>(acc.count);
  }
  template <class V>
  static std::optional<double> of_nothing() {
    return std::nullopt;
  }
};

/// Above 0: a is to be chosen before b, as the smallest value or as the largest one. Numbers go before NaNs, and all that is there
/// before empty optionals. With kSignsOfZero, -0.0 is smaller than 0.0.
template <bool kLargest, bool kSignsOfZero, class T>
int preference(const T& a, const T& b) {
  if constexpr (runtime::detail::IsOptional<T>::value) {
    if (a && b) return preference<kLargest, kSignsOfZero>(*a, *b);
    return static_cast<int>(a.has_value()) - static_cast<int>(b.has_value());
  } else {
    constexpr auto kNaNs = kLargest ? runtime::NaNs::smallest : runtime::NaNs::largest;
    int order = runtime::compare_naturally<kNaNs>(a, b);
    if constexpr (kSignsOfZero && std::floating_point<T>) {
      if (order == 0) order = static_cast<int>(__builtin_signbit(b) != 0) - static_cast<int>(__builtin_signbit(a) != 0);
    }
    return kLargest ? order : -order;
  }
}

/// The smallest (or the largest) of f(value). NaNs lose against all numbers, and empty optionals against all values, whatever the
/// order of the values.
template <class F, bool kLargest>
struct Extreme : AggregatorBase {
  F function;
  template <class V>
  static constexpr bool kFits = std::totally_ordered<Projected<F, V>>;
  template <class V>
  using Acc = Projected<F, V>;
  template <class V>
  Acc<V> init(const V& value) const {
    return to_owned(std::remove_cvref_t<std::invoke_result_t<const F&, const V&>>(std::invoke(function, value)));
  }
  template <class A>
  void merge(A& acc, const A& other) const {
    if (preference<kLargest, true>(other, acc) > 0) acc = other;
  }
  template <class A>
  static A result(A acc) {
    return acc;
  }
  template <class V>
  static std::optional<Acc<V>> of_nothing() {
    return std::nullopt;
  }
};

}  // namespace detail

/// The number of values.
inline detail::Count count(std::source_location where = std::source_location::current()) { return {{where}}; }
/// The sum: integers in 64 bits (the job fails if it does not fit), other numbers as double.
template <class F = std::identity>
detail::Sum<F> sum(F f = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(f)};
}
/// The arithmetic mean, a double.
template <class F = std::identity>
detail::Mean<F> mean(F f = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(f)};
}
/// The smallest f(value). Empty optionals are passed over: the result is an empty one only if all of them are.
template <class F = std::identity>
detail::Extreme<F, false> min(F f = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(f)};
}
/// The largest f(value). Empty optionals are passed over, as by min().
template <class F = std::identity>
detail::Extreme<F, true> max(F f = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(f)};
}

template <class A>
concept Aggregator = std::derived_from<A, detail::AggregatorBase>;

}  // namespace weft
