// The operators of datasets of pairs: those of Dataset<std::pair<K, V>> that look at keys, except joins.
#pragma once

#include <concepts>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "weft/aggregators.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/aggregate.hpp"
#include "weft/detail/checks.hpp"
#include "weft/detail/compose.hpp"
#include "weft/detail/group.hpp"
#include "weft/detail/top_by_key.hpp"
#include "weft/detail/windows.hpp"
#include "weft/partitioning.hpp"

namespace weft {

/// A base of Dataset<T, Chain>. The last argument of each operator, optional, says into which partitions keys go: a number, or
/// partition_by(…).
template <class T, class Chain>
class KeyedOperators {
  using Where = std::source_location;
  using Refused = detail::Refused;

 public:
  /// The first and the second of each pair.
  auto keys(Where where = Where::current()) const {
    if constexpr (detail::check_pairs<T>()) {
      return self().map([](T&& record) { return KeyOf<T>(std::move(record.first)); }, where);
    } else {
      return Refused();
    }
  }
  auto values(Where where = Where::current()) const {
    if constexpr (detail::check_pairs<T>()) {
      return self().map([](T&& record) { return ValueOf<T>(std::move(record.second)); }, where);
    } else {
      return Refused();
    }
  }

  /// pair(key, f(value)). Records keep their keys, so that a later operator by key needs no further shuffle.
  template <class F>
  auto map_values(F f, Where where = Where::current()) const {
    if constexpr (detail::check_map_values<T, F>()) {
      using Node = detail::MapValues<Chain, F>;
      detail::check_captures(*self().graph(), f, "map_values", where);
      return self().keeping_keys("map_values", where, Node{self().chain(), std::move(f)});
    } else {
      return Refused();
    }
  }

  /// One record per key: its values reduced by f(a, b), which must be associative and commutative. Combined before the shuffle.
  template <class F, Partitioning<KeyOrSelf<T>> P = HashPartitions>
  auto reduce_by_key(F f, P how = {}, Where where = Where::current()) const {
    if constexpr (detail::check_reduce_by_key<T, F>()) {
      using Aggregation = detail::ReduceAggregation<ValueOf<T>, F>;
      detail::check_captures(*self().graph(), f, "reduce_by_key", where);
      detail::check_partitioning_captures(*self().graph(), how, where);
      return detail::aggregate(self(), Aggregation{std::move(f)}, detail::partitioning(how),
                               detail::operator_name("reduce_by_key", where));
    } else {
      return Refused();
    }
  }

  /// pair<K, result> of one aggregator, pair<K, tuple<results…>> of several: `aggregate_by_key(weft::sum(), weft::count())`.
  template <Aggregator First, class... More>
  auto aggregate_by_key(First first, More... more) const {
    if constexpr (detail::check_aggregated<T>()) {
      return with_last(std::tuple<First>(std::move(first)), std::move(more)...);
    } else {
      return Refused();
    }
  }
  /// One accumulator per key, which begins as a copy of `zero`. add(acc, value) adds a value, merge(acc, other) another
  /// accumulator. Each task begins its own, and a new one after it has sent what it had, so `zero` must be neutral: merge(zero, a)
  /// must give a. What a result is to begin with beyond that, as 100 + …, add to it by map_values.
  template <class Acc, class Add, class Merge, Partitioning<KeyOrSelf<T>> P = HashPartitions>
  requires(!Aggregator<Acc>) auto aggregate_by_key(Acc zero, Add add, Merge merge, P how = {},
                                                   Where where = Where::current()) const {
    if constexpr (detail::check_aggregate_by_key<T, Acc, Add, Merge>()) {
      using Aggregation = detail::FoldAggregation<ValueOf<T>, Acc, Add, Merge>;
      detail::check_captures(*self().graph(), add, "aggregate_by_key", where);
      detail::check_captures(*self().graph(), merge, "aggregate_by_key", where);
      detail::check_partitioning_captures(*self().graph(), how, where);
      return detail::aggregate(self(), Aggregation{std::move(zero), std::move(add), std::move(merge)}, detail::partitioning(how),
                               detail::operator_name("aggregate_by_key", where));
    } else {
      return Refused();
    }
  }
  /// The same with a user's class that has Value, Acc, and const init(value), add(acc, value) and merge(acc, other).
  template <class Agg, Partitioning<KeyOrSelf<T>> P = HashPartitions>
  requires(!Aggregator<Agg>) auto aggregate_by_key(Agg aggregation, P how = {}, Where where = Where::current()) const {
    if constexpr (detail::check_aggregation<T, Agg>()) {
      detail::check_captures(*self().graph(), aggregation, "aggregate_by_key", where);
      detail::check_partitioning_captures(*self().graph(), how, where);
      return detail::aggregate(self(), std::move(aggregation), detail::partitioning(how),
                               detail::operator_name("aggregate_by_key", where));
    } else {
      return Refused();
    }
  }

  /// pair<K, std::uint64_t>: how many records each key has.
  template <Partitioning<KeyOrSelf<T>> P = HashPartitions>
  auto count_by_key(P how = {}, Where where = Where::current()) const {
    if constexpr (detail::check_count_by_key<T>()) {
      detail::check_partitioning_captures(*self().graph(), how, where);
      return detail::aggregate(self(), detail::CountAggregation<ValueOf<T>>(), detail::partitioning(how),
                               detail::operator_name("count_by_key", where));
    } else {
      return Refused();
    }
  }

  /// pair<K, std::vector<V>>: the n largest values of each key under `less`, largest first. n values fit in memory.
  template <class Less = runtime::NaturalLess, Partitioning<KeyOrSelf<T>> P = HashPartitions>
  auto top_by_key(std::size_t n, Less less = {}, P how = {}, Where where = Where::current()) const {
    if constexpr (detail::check_top_by_key<T, Less>()) {
      detail::check_captures(*self().graph(), less, "top_by_key", where);
      detail::check_partitioning_captures(*self().graph(), how, where);
      return detail::aggregate(self(), detail::TopAggregation<ValueOf<T>, Less>{n, std::move(less)}, detail::partitioning(how),
                               detail::operator_name("top_by_key", where));
    } else {
      return Refused();
    }
  }

  /// pair<K, Values<V>>: the values of a key as a range that can be read once, of any length.
  template <Partitioning<KeyOrSelf<T>> P = HashPartitions>
  auto group_by_key(P how = {}, Where where = Where::current()) const {
    if constexpr (detail::check_group_by_key<T>()) {
      detail::check_partitioning_captures(*self().graph(), how, where);
      return detail::group(self(), detail::partitioning(how), detail::operator_name("group_by_key", where));
    } else {
      return Refused();
    }
  }

  /// The same among the records of each task only, without a shuffle: what a combiner sees.
  auto group_locally(Where where = Where::current()) const {
    if constexpr (detail::check_group_by_key<T>()) {
      return detail::group_locally(self(), detail::operator_name("group_locally", where));
    } else {
      return Refused();
    }
  }

  /// Directly behind group_by_key: the values of each group in the order of key(value); equal ones in any order. Sorted together
  /// with the keys, on disk when they don't fit in memory.
  template <class F>
  auto sorted_by(F key, Order order = Order::ascending, Where where = Where::current()) const {
    if constexpr (detail::check_sorted_by<T, Chain, F>()) {
      detail::check_captures(*self().graph(), key, "sorted_by", where);
      return self().keeping_keys("sorted_by", where, self().chain().sorted(std::move(key), order));
    } else {
      return Refused();
    }
  }

  /// Behind group_by_key, usually after sorted_by: pair<K, std::vector<V>> for every `size` neighbours of a group, one window every
  /// `step` values. Values at the end of a group that fill no window are dropped.
  auto windows(std::size_t size, std::size_t step = 1, Where where = Where::current()) const {
    if (size == 0 || step == 0) throw std::invalid_argument("windows: the size and the step are at least 1");
    return windowed(where, detail::FixedWindows{size, step});
  }
  /// The same for neighbours of which same(previous, next) is true: `windows([](const V& a, const V& b) { return b.time - a.time <
  /// gap; })` cuts sessions. Every value is in one window.
  template <std::copy_constructible F>
  requires(!std::integral<F>) auto windows(F same, Where where = Where::current()) const {
    return windowed(where, detail::WindowsWhile<F>{std::move(same)});
  }

  /// Behind group_by_key, usually after sorted_by: pair<K, f(state, value)> for every value, in order. Each group begins with a
  /// copy of `zero`, which f changes: `scan(0.0, [](double& sum, const Order& o) { return sum += o.price; })` makes running sums.
  /// Nothing else of a group is held.
  template <class State, class F>
  auto scan(State zero, F f, Where where = Where::current()) const {
    return scanned("scan", where, std::move(zero), std::move(f));
  }
  /// The same with pair<K, pair<V, std::optional<V>>>: each value, and the one `distance` values before it.
  auto lag(std::size_t distance = 1, Where where = Where::current()) const {
    if (distance == 0) throw std::invalid_argument("lag: the distance is at least 1");
    using V = detail::GroupedValue<T>;
    return scanned("lag", where, typename detail::Lag<V>::State(), detail::Lag<V>{distance});
  }
  /// The same with pair<K, pair<V, std::uint64_t>>: each value, and its number in its group, from 1 on.
  auto row_number(Where where = Where::current()) const {
    return scanned("row_number", where, std::uint64_t{0}, detail::RowNumber<detail::GroupedValue<T>>());
  }

 private:
  const Dataset<T, Chain>& self() const { return static_cast<const Dataset<T, Chain>&>(*this); }

  template <class How>
  auto windowed(const Where& where, How how) const {
    if constexpr (detail::check_windows<T, How>()) {
      using Node = detail::Windows<Chain, How>;
      detail::check_captures(*self().graph(), how, "windows", where);
      return self().keeping_keys("windows", where, Node{self().chain(), std::move(how)});
    } else {
      return Refused();
    }
  }

  template <class State, class F>
  auto scanned(std::string_view what, const Where& where, State zero, F f) const {
    if constexpr (detail::check_scan<T, State, F>()) {
      using Node = detail::Scan<Chain, State, F>;
      detail::check_captures(*self().graph(), f, what, where);
      return self().keeping_keys(what, where, Node{self().chain(), std::move(zero), std::move(f)});
    } else {
      return Refused();
    }
  }

  /// Separates the aggregators from the partitioning that may follow them.
  template <class... A, class Next, class... More>
  auto with_last(std::tuple<A...> parts, Next next, More... more) const {
    if constexpr (Aggregator<Next>) {
      return with_last(std::tuple_cat(std::move(parts), std::tuple<Next>(std::move(next))), std::move(more)...);
    } else {
      static_assert(
          sizeof...(More) == 0 && Partitioning<Next, KeyOrSelf<T>>,
          "weft aggregate_by_key: behind the aggregators stands a number of partitions or weft::partition_by(f, n), or nothing");
      return composed(std::move(parts), detail::partitioning(next));
    }
  }
  template <class... A>
  auto with_last(std::tuple<A...> parts) const {
    return composed(std::move(parts), HashPartitions{});
  }
  template <class P, class... A>
  auto composed(std::tuple<A...> parts, P how) const {
    if constexpr (!detail::check_aggregators<ValueOf<T>, A...>()) {
      return Refused();
    } else {
      std::string name = detail::operator_name("aggregate_by_key", std::get<0>(parts).where);
      std::apply([&](const A&... part) { (detail::check_aggregator_captures(*self().graph(), part, "aggregate_by_key"), ...); },
                 parts);
      return std::apply([&](A&... part) { return detail::aggregate_all(self(), how, std::move(name), std::move(part)...); }, parts);
    }
  }
};

}  // namespace weft
