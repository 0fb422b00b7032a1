// asof_join: what held at a time. <weft/weft.h> leaves this header out.
//
//   weft::asof_join(trades, quotes, &Trade::time, &Quote::time)     // pair<K, Joined<Trade, std::optional<Quote>>>
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/dataset.hpp"
#include "weft/joined.hpp"
#include "weft/partitioning.hpp"

namespace weft {
namespace detail {

/// A record of one of the sides, with its time.
template <class Time, class L, class R>
struct AsOfEntry {
  Time time;
  std::optional<R> right;
  std::optional<L> left;
};

template <class F, class V>
using TimeOf = Owned<std::remove_cvref_t<std::invoke_result_t<const F&, const V&>>>;

}  // namespace detail

/// Each left record of pairs, joined with the latest right record of its key whose time is not later than its own; without one, the
/// right side is empty. Of several right records at that time, one is taken. Both sides of a key are sorted by time, on disk where
/// they do not fit in memory; one right record is held. `how` is a number of partitions, or weft::partition_by(f, n).
template <class T, class Chain, class U, class Other, class LeftTime, class RightTime, class P = HashPartitions>
auto asof_join(const Dataset<T, Chain>& left, const Dataset<U, Other>& right, LeftTime left_time, RightTime right_time,
               P how = {}) {
  constexpr bool kPairs = KeyValue<T> && KeyValue<U>;
  static_assert(kPairs, "weft asof_join: both sides need records of std::pair<Key, Value>; make them with map()");
  if constexpr (kPairs) {
    using L = Owned<ValueOf<T>>;
    using R = Owned<ValueOf<U>>;
    constexpr bool kTimes = std::invocable<const LeftTime&, const L&> && std::invocable<const RightTime&, const R&>;
    static_assert(SameKey<T, U>,
                  "weft asof_join: the keys of the two sides are of different types; convert one of them with map()");
    static_assert(kTimes,
                  "weft asof_join: the third argument gives the time of a left value, the fourth that of a right value: functions, "
                  "or pointers to members");
    detail::check_kept<L>();
    detail::check_kept<R>();
    if constexpr (kTimes && SameKey<T, U>) {
      using Time = detail::TimeOf<LeftTime, L>;
      static_assert(std::same_as<Time, detail::TimeOf<RightTime, R>>, "weft asof_join: the times of the two sides are of one type");
      using K = Owned<KeyOf<T>>;
      using Entry = detail::AsOfEntry<Time, L, R>;
      using Out = std::pair<K, Joined<L, std::optional<R>>>;
      const auto lefts = left.map([left_time](const T& record) {
        L value = to_owned(ValueOf<T>(record.second));
        Time time = std::invoke(left_time, std::as_const(value));
        return std::pair<K, Entry>(to_owned(KeyOf<T>(record.first)), Entry{std::move(time), std::nullopt, std::move(value)});
      });
      const auto rights = right.map([right_time](const U& record) {
        R value = to_owned(ValueOf<U>(record.second));
        Time time = std::invoke(right_time, std::as_const(value));
        return std::pair<K, Entry>(to_owned(KeyOf<U>(record.first)), Entry{std::move(time), std::move(value), std::nullopt});
      });
      return lefts.union_with(rights)
          .group_by_key(how)
          .sorted_by([](const Entry& entry) { return std::pair(entry.time, entry.left.has_value()); })  // right ones first
          .template flat_map<Out>([](const std::pair<K, Values<Entry>>& group, auto&& emit) {
            std::optional<R> latest;
            for (const Entry& entry : group.second) {
              if (entry.left) {
                emit(Out(group.first, {*entry.left, latest}));
              } else {
                latest = entry.right;
              }
            }
          });
    }
  }
}

}  // namespace weft
