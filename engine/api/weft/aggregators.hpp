// Aggregators: what is wanted of many values, to be composed freely.
//
//   orders.aggregate_by_key(weft::count(), weft::sum(&Order::price), weft::max(&Order::time))   // pair<Key, tuple<…>>
//   orders.aggregate(weft::mean(&Order::price))                                                 // of all records, at once
//
// Each takes a function of a record (by key: of a value), or none for the record itself. Values are combined before they are sent.
// Sums and means of floating-point numbers depend on the order of the additions in their last digits.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <type_traits>
#include <utility>

#include "base/codec.hpp"

namespace weft {
namespace detail {

/// What sums are kept in: 64 bits for whole numbers (an overflow fails the task), double for others, T itself for the rest.
template <class T>
struct WideType {
  using type = T;
};
template <std::signed_integral T>
struct WideType<T> {
  using type = std::int64_t;
};
template <std::unsigned_integral T>
struct WideType<T> {
  using type = std::uint64_t;
};
template <std::floating_point T>
struct WideType<T> {
  using type = double;
};
template <class T>
using Wide = typename WideType<T>::type;

template <class T>
void add_to(T& sum, const T& value) {
  if constexpr (std::integral<T>) {
    if (__builtin_add_overflow(sum, value, &sum)) throw std::overflow_error("sum, mean: the total does not fit in 64 bits");
  } else {
    sum = static_cast<T>(sum + value);
  }
}

template <class F, class V>
using Projected = Owned<std::remove_cvref_t<std::invoke_result_t<const F&, const V&>>>;

/// Common to all: where it stands in the program.
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
  static constexpr bool kFits = requires(const Wide<Projected<F, V>>& sum) {
    { sum + sum } -> std::convertible_to<Wide<Projected<F, V>>>;
  };
  template <class V>
  using Acc = Wide<Projected<F, V>>;
  template <class V>
  Acc<V> init(const V& value) const {
    return static_cast<Acc<V>>(std::invoke(function, value));
  }
  template <class A>
  void merge(A& acc, const A& other) const {
    add_to(acc, other);
  }
  template <class A>
  static A result(A acc) {
    return acc;
  }
  template <class V>
  static Acc<V> of_nothing() {
    return Acc<V>();
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
  using Acc = MeanParts<Wide<Projected<F, V>>>;
  template <class V>
  Acc<V> init(const V& value) const {
    return {static_cast<Wide<Projected<F, V>>>(std::invoke(function, value)), 1};
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

/// The smallest (or the largest) of f(value).
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
    if (kLargest ? acc < other : other < acc) acc = other;
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

/// How many there are.
inline detail::Count count(std::source_location where = std::source_location::current()) { return {{where}}; }
/// The sum: of whole numbers in 64 bits, of others as double.
template <class F = std::identity>
detail::Sum<F> sum(F f = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(f)};
}
/// The arithmetic mean, a double.
template <class F = std::identity>
detail::Mean<F> mean(F f = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(f)};
}
template <class F = std::identity>
detail::Extreme<F, false> min(F f = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(f)};
}
template <class F = std::identity>
detail::Extreme<F, true> max(F f = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(f)};
}

template <class A>
concept Aggregator = std::derived_from<A, detail::AggregatorBase>;

}  // namespace weft
