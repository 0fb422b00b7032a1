// Aggregators that choose one of the values. Beside count, sum and the others (aggregators.hpp):
//
//   visits.aggregate_by_key(weft::count(), weft::max_by(&Visit::time, &Visit::page))   // the page that was visited last
//
// min_by and max_by order as sort_by does, except that NaNs lose against all numbers, and empty optionals against everything, as in
// min and max. Of several values that are equal, they choose that whose encoding is the smallest, so that the result does not
// depend on the order of the records.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <source_location>
#include <utility>

#include "weft/aggregators.hpp"

namespace weft {
namespace detail {

/// Below 0: the encoding of a is the smaller one.
int compare_encodings(const Encoder& a, const Encoder& b);
/// Its place among the records of all tasks: the tasks' numbers are in the order of the partitions.
struct RecordPlace {
  std::uint64_t task = 0, number = 0;
};
/// The place of a record that comes now. Throws std::logic_error outside of tasks.
RecordPlace next_place();

template <class F, class V>
Projected<F, V> projected(const F& function, const V& value) {
  return to_owned(std::remove_cvref_t<std::invoke_result_t<const F&, const V&>>(std::invoke(function, value)));
}

template <class K, class R>
struct Candidate {
  K key;
  R result;
};

template <class By, class What, bool kLargest>
struct ChosenBy : AggregatorBase {
  By function;
  What what;
  template <class V>
  static constexpr bool kFits = std::totally_ordered<Projected<By, V>>&& Encodable<Projected<What, V>>;
  template <class V>
  using Acc = Candidate<Projected<By, V>, Projected<What, V>>;
  template <class V>
  Acc<V> init(const V& value) const {
    return {projected(function, value), projected(what, value)};
  }
  template <class V>
  void add(Acc<V>& acc, const V& value) const {
    auto key = projected(function, value);
    if (preference<kLargest, false>(acc.key, key) > 0) return;  // most values: their results are not made
    merge(acc, Acc<V>{std::move(key), projected(what, value)});
  }
  template <class A>
  void merge(A& acc, const A& other) const {
    const int order = preference<kLargest, false>(acc.key, other.key);
    if (order < 0 || (order == 0 && encodes_smaller(other.result, acc.result))) acc = other;
  }
  template <class A>
  static auto result(A&& acc) {
    return std::forward<A>(acc).result;
  }
  template <class V>
  static std::optional<Projected<What, V>> of_nothing() {
    return std::nullopt;
  }

 private:
  template <class R>
  static bool encodes_smaller(const R& a, const R& b) {
    Encoder mine, other;
    encode(a, mine), encode(b, other);
    return compare_encodings(mine, other) < 0;
  }
};

template <class R>
struct Placed {
  std::uint64_t task, number;
  R result;
};

template <class F, bool kLast>
struct ChosenByPlace : AggregatorBase {
  F function;
  template <class V>
  static constexpr bool kFits = Encodable<Projected<F, V>>;
  template <class V>
  using Acc = Placed<Projected<F, V>>;
  template <class V>
  Acc<V> init(const V& value) const {
    const RecordPlace place = next_place();
    return {place.task, place.number, projected(function, value)};
  }
  /// A value of the same task, which comes behind those that are there.
  template <class V>
  void add(Acc<V>& acc, const V& value) const {
    if constexpr (kLast) acc = init(value);
  }
  template <class A>
  void merge(A& acc, const A& other) const {
    const std::pair mine(acc.task, acc.number), its(other.task, other.number);
    if (kLast ? mine < its : its < mine) acc = other;
  }
  template <class A>
  static auto result(A&& acc) {
    return std::forward<A>(acc).result;
  }
  template <class V>
  static std::optional<Projected<F, V>> of_nothing() {
    return std::nullopt;
  }
};

}  // namespace detail

/// what(value) of the value with the smallest by(value): `min_by(&Offer::price, &Offer::shop)`. Without `what` the value itself.
/// A value whose by(value) is an empty optional is chosen only if there are no others.
template <class By, class What = std::identity>
detail::ChosenBy<By, What, false> min_by(By by, What what = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(by), std::move(what)};
}
/// The same of the value with the largest by(value).
template <class By, class What = std::identity>
detail::ChosenBy<By, What, true> max_by(By by, What what = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(by), std::move(what)};
}
/// f(value) of the value that comes first in the order of the input: file after file, line after line. Behind a shuffle records are
/// in no order; there use min_by().
template <class F = std::identity>
detail::ChosenByPlace<F, false> first(F f = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(f)};
}
/// The same of the value that comes last.
template <class F = std::identity>
detail::ChosenByPlace<F, true> last(F f = {}, std::source_location where = std::source_location::current()) {
  return {{where}, std::move(f)};
}

}  // namespace weft
