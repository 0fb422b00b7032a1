// What operators check before they take part in a definition. A program that is wrong gets one error: its first line names the
// operator and says what to do instead. The operator then returns Refused, which accepts whatever follows, so that there is no
// second one.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <type_traits>

#include "runtime/operators/aggregation.hpp"
#include "runtime/operators/values.hpp"
#include "weft/concepts.hpp"
#include "weft/detail/refused.hpp"
#include "weft/detail/variant.hpp"
#include "weft/key.hpp"
#include "weft/text.hpp"

namespace weft::detail {

// Conditions as variables: of a concept in a static_assert the compiler explains every part.
template <class T>
inline constexpr bool kEncodes = Encodable<T>;
template <class F, class T>
inline constexpr bool kFlatMaps = FlatMapFunction<F, T>;
template <class F, class T>
inline constexpr bool kGivesSortKey = SortKeyFunction<F, T>;

/// A lambda that is `mutable`: callable, but not as const.
template <class F, class T>
concept Mutable = !Callable<F, T> && call_form<F&, T>() != CallForm::none;

// Each check is a function, so that the compiler's report has one frame.

#define WEFT_NO_STATE                                                                                                        \
  "the function changes its own state (a mutable lambda, or an operator() that is not const), but several threads call it; " \
  "use weft::counter, or keep the state in map_partitions"

template <class T, class F>
constexpr bool check_map() {
  static_assert(!Mutable<F, T>, "weft map: " WEFT_NO_STATE);
  if constexpr (!Mutable<F, T>) {
    static_assert(Callable<F, T>,
                  "weft map: the function cannot be called with a record of this dataset (T below); take it by value or const "
                  "reference, or take the parts of a pair: [](const auto& key, const auto& value)");
    if constexpr (Callable<F, T>) {
      static_assert(MapFunction<F, T>,
                    "weft map: the function returns nothing, so there is no new record; return one, or use "
                    "flat_map<Out>([](record, auto&& emit) { … }) for any number of them");
    }
  }
  return MapFunction<F, T>;
}

template <class T, class F>
constexpr bool check_filter() {
  static_assert(!Mutable<F, const T&>, "weft filter: " WEFT_NO_STATE);
  if constexpr (!Mutable<F, const T&>) {
    static_assert(PredicateFunction<F, T>,
                  "weft filter: the function must be callable with a record of this dataset (T below), by value or const "
                  "reference, and return bool: true keeps the record");
  }
  return PredicateFunction<F, T>;
}

template <class T, class F>
constexpr bool check_flat_map() {
  static_assert(!Mutable<F, T>, "weft flat_map: " WEFT_NO_STATE);
  if constexpr (!Mutable<F, T>) {
    static_assert(kFlatMaps<F, T>,
                  "weft flat_map: the function must take a record of this dataset (T below) and return a range of new records (a "
                  "std::vector, a view, weft::words(line)); with [](record, auto&& emit) name their type: flat_map<Out>(f)");
  }
  return FlatMapFunction<F, T>;
}

template <class T, class Out, class F>
constexpr bool check_flat_map_emit() {
  static_assert(
      EmitFunction<F, T, Out>,
      "weft flat_map<Out>: the function must be callable as f(record, emit), take a record of this dataset (T below), and "
      "call emit(out) with something that converts to Out");
  return EmitFunction<F, T, Out>;
}

template <class T, class Out, class F>
constexpr bool check_map_partitions() {
  static_assert(PartitionFunction<F, T, Out>,
                "weft map_partitions<Out>: the function must be callable as f(records, emit), with both as auto&&: "
                "records([&](auto&& record) { … }) visits the records of the task, emit(out) gives a new one");
  return PartitionFunction<F, T, Out>;
}

#define WEFT_PAIRS                                                                               \
  "needs records of std::pair<Key, Value>, and these (T below) are none; make them with map(): " \
  "[](const auto& record) { return std::pair(record.key, record); }"
#define WEFT_KEY_CODEC                                                                                                             \
  "the key has no codec, so it cannot be sent to its partition; keys are made of numbers, enums, strings, pairs, tuples, arrays, " \
  "vectors, optionals and plain structs (up to 24 fields) of those; for other types specialise weft::Codec<Key>"
#define WEFT_FLOAT_KEY                                                                                                             \
  "the key is or contains a floating-point number; keys are compared by their bytes, so 0.0 and -0.0 would be two keys; round it " \
  "to an integer, or wrap it: weft::by_value(x)"
#define WEFT_VALUE_CODEC                                                                                                       \
  "the value has no codec, so it cannot be sent to its partition; values are made of numbers, enums, strings, pairs, tuples, " \
  "arrays, vectors, optionals and plain structs (up to 24 fields) of those; for other types specialise weft::Codec<Value>"

#define WEFT_KEPT_VIEWS \
  "has std::string_view members, which it keeps longer than the record that has their text; use std::string, or map() it before"

template <class T>
constexpr bool keys_fit() {
  if constexpr (KeyValue<T>) return Encodable<KeyOf<T>> && !kHasFloat<KeyOf<T>>;
  return false;
}
template <class T>
constexpr bool values_fit() {
  if constexpr (KeyValue<T>) return Encodable<Owned<ValueOf<T>>>;
  return false;
}

// A check of records, keys and values for an operator by key: pairs first, then the key, then (with `sends`) the value.
#define WEFT_CHECK_KEYED(op, T, sends)                                                              \
  static_assert(KeyValue<T>, "weft " op ": it " WEFT_PAIRS);                                        \
  if constexpr (KeyValue<T>) {                                                                      \
    static_assert(kEncodes<KeyOf<T>>, "weft " op ": " WEFT_KEY_CODEC);                              \
    static_assert(!kEncodes<KeyOf<T>> || !kHasFloat<KeyOf<T>>, "weft " op ": " WEFT_FLOAT_KEY);     \
    static_assert(!(sends) || !keys_fit<T>() || values_fit<T>(), "weft " op ": " WEFT_VALUE_CODEC); \
  }

template <class T>
constexpr bool check_pairs() {
  static_assert(KeyValue<T>, "weft keys, values, map_values: it " WEFT_PAIRS);
  return KeyValue<T>;
}

template <class T, class F>
constexpr bool check_map_values() {
  static_assert(KeyValue<T>, "weft map_values: it " WEFT_PAIRS);
  if constexpr (KeyValue<T>) {
    static_assert(!Mutable<F, ValueOf<T>>, "weft map_values: " WEFT_NO_STATE);
    static_assert(Mutable<F, ValueOf<T>> || MapFunction<F, ValueOf<T>>,
                  "weft map_values: the function must take the value of a record (the second of the pair T below) and return the "
                  "new one; for a function of key and value use map()");
    return MapFunction<F, ValueOf<T>>;
  }
  return false;
}

template <class T, class F>
constexpr bool check_reduce_by_key() {
  WEFT_CHECK_KEYED("reduce_by_key", T, true)
  if constexpr (KeyValue<T>) {
    static_assert(
        !(keys_fit<T>() && values_fit<T>()) || ReduceFunction<F, ValueOf<T>>,
        "weft reduce_by_key: the function must be callable as f(a, b) with two values (the second of the pair T below), and "
        "return a value of the same type; for another type of result use aggregate_by_key");
    static_assert(!kHoldsViews<Owned<ValueOf<T>>>,
                  "weft reduce_by_key: the value (the second of the pair T below) " WEFT_KEPT_VIEWS);
    return keys_fit<T>() && values_fit<T>() && ReduceFunction<F, ValueOf<T>>;
  }
  return false;
}

template <class T, class Acc, class Add, class Merge>
constexpr bool check_aggregate_by_key() {
  WEFT_CHECK_KEYED("aggregate_by_key", T, false)
  if constexpr (keys_fit<T>()) {
    static_assert(kEncodes<Acc>,
                  "weft aggregate_by_key: the accumulator (the first argument) has no codec; it is made of numbers, "
                  "strings, containers and plain structs of those, or specialise weft::Codec<Acc>");
    static_assert(
        AddFunction<Add, Acc, ValueOf<T>>,
        "weft aggregate_by_key: the second argument must be callable as add(accumulator, value), and change the accumulator "
        "in place (return nothing) or return the new one");
    static_assert(AddFunction<Merge, Acc, Acc>,
                  "weft aggregate_by_key: the third argument must be callable as merge(accumulator, accumulator), and change the "
                  "first in place (return nothing) or return the new one");
    static_assert(!kHoldsViews<Acc>, "weft aggregate_by_key: the accumulator (the first argument) " WEFT_KEPT_VIEWS);
    return Encodable<Acc> && AddFunction<Add, Acc, ValueOf<T>> && AddFunction<Merge, Acc, Acc>;
  }
  return false;
}

template <class T, class Agg>
constexpr bool check_aggregation() {
  WEFT_CHECK_KEYED("aggregate_by_key", T, false)
  if constexpr (keys_fit<T>()) {
    constexpr bool kFits = requires {
      requires runtime::Aggregation<Agg>;
      requires std::same_as<typename Agg::Value, ValueOf<T>>;
    };
    static_assert(
        kFits,
        "weft aggregate_by_key: it takes aggregators (weft::sum(), weft::mean(f), …), or a zero with functions to add and "
        "merge, or a class with Value (the second of the pair T below), Acc, and const init, add and merge");
    if constexpr (kFits)
      static_assert(!kHoldsViews<typename Agg::Acc>, "weft aggregate_by_key: the accumulator (Acc) " WEFT_KEPT_VIEWS);
    return kFits;
  }
  return false;
}

/// Of aggregate_by_key(count(), …); the aggregators have their own check.
template <class T>
constexpr bool check_aggregated() {
  WEFT_CHECK_KEYED("aggregate_by_key", T, false)
  return keys_fit<T>();
}
template <class T>
constexpr bool check_count_by_key() {
  WEFT_CHECK_KEYED("count_by_key", T, false)
  return keys_fit<T>();
}
template <class T, class Less>
constexpr bool check_top_by_key() {
  WEFT_CHECK_KEYED("top_by_key", T, true)
  if constexpr (keys_fit<T>() && values_fit<T>()) {
    static_assert(LessFunction<Less, Owned<ValueOf<T>>>,
                  "weft top_by_key: the values (the second of the pair T below) have no operator<; give an order: "
                  "top_by_key(n, [](const Value& a, const Value& b) { return …; })");
    static_assert(!kHoldsViews<Owned<ValueOf<T>>>, "weft top_by_key: the value (the second of the pair T below) " WEFT_KEPT_VIEWS);
    return LessFunction<Less, Owned<ValueOf<T>>>;
  }
  return false;
}
template <class T>
constexpr bool check_group_by_key() {
  WEFT_CHECK_KEYED("group_by_key", T, true)
  return keys_fit<T>() && values_fit<T>();
}

template <class T>
struct GroupedTraits : std::false_type {};
template <class K, class V>
struct GroupedTraits<std::pair<K, runtime::Values<V>>> : std::true_type {
  using Value = V;
};

/// V of pair<K, Values<V>>, as a record that owns its content; T itself where operators of groups refuse it.
template <class T>
struct GroupedValueOf {
  using type = T;
};
template <class K, class V>
struct GroupedValueOf<std::pair<K, runtime::Values<V>>> {
  using type = Owned<V>;
};
template <class T>
using GroupedValue = typename GroupedValueOf<T>::type;

template <class T, class Chain, class F>
constexpr bool check_sorted_by() {
  constexpr bool kGroups = requires { requires Chain::kCanSort; };
  static_assert(kGroups,
                "weft sorted_by: it sorts the values of each group, so it stands directly behind group_by_key(); to sort all "
                "records use sort_by()");
  if constexpr (kGroups) {
    using V = typename GroupedTraits<T>::Value;
    static_assert(kGivesSortKey<F, V>,
                  "weft sorted_by: the function must take a value of the group (V of Values<V> below) and return "
                  "what to sort by, which has <: a number, a text, a pair or tuple of those");
    return SortKeyFunction<F, V>;
  }
  return false;
}
/// `How` says which windows there are (windows.hpp).
template <class T, class How>
constexpr bool check_windows() {
  static_assert(GroupedTraits<T>::value,
                "weft windows: it cuts the values of each group into windows, so it stands behind "
                "group_by_key() or group_by_key().sorted_by(f)");
  if constexpr (GroupedTraits<T>::value) {
    constexpr bool kFits = How::template kFits<Owned<typename GroupedTraits<T>::Value>>;
    static_assert(
        kFits,
        "weft windows: it takes a size, a size and a step, or a function of two neighbours (V of Values<V> below) that says "
        "whether they belong together: [](const V& before, const V& after) { return …; }");
    static_assert(!kHoldsViews<Owned<typename GroupedTraits<T>::Value>>,
                  "weft windows: the value of a group (V of Values<V> below) " WEFT_KEPT_VIEWS);
    return kFits;
  }
  return false;
}

template <class T, class State, class F>
constexpr bool check_scan() {
  static_assert(GroupedTraits<T>::value,
                "weft scan, lag, row_number: they go through the values of each group in order, so they stand behind "
                "group_by_key().sorted_by(f)");
  if constexpr (GroupedTraits<T>::value) {
    using V = typename GroupedTraits<T>::Value;
    constexpr bool kFits = std::invocable<const F&, State&, const V&>;
    static_assert(kFits,
                  "weft scan: it takes the state that each group begins with, and a function of the state and a value (V of "
                  "Values<V> below), [](State& state, const V& value) { return …; }, which changes the state and returns a record");
    if constexpr (kFits) {
      constexpr bool kReturns = !std::is_void_v<std::invoke_result_t<const F&, State&, const V&>>;
      static_assert(kReturns, "weft scan: the function returns nothing, but it makes the record of each value");
      static_assert(!kHoldsViews<State>, "weft scan, lag: the state " WEFT_KEPT_VIEWS);
      return kReturns;
    }
  }
  return false;
}

template <class T, class U, bool kHow>
constexpr bool check_join() {
  static_assert(KeyValue<T>, "weft join, cogroup: the left side " WEFT_PAIRS);
  static_assert(!KeyValue<T> || KeyValue<U>,
                "weft join, cogroup: the right side needs records of std::pair<Key, Value>, and these (U below) "
                "are none; make them with map(): [](const auto& record) { return std::pair(record.key, record); }");
  if constexpr (KeyValue<T> && KeyValue<U>) {
    static_assert(SameKey<T, U>,
                  "weft join, cogroup: the keys of the two sides are of different types (the first of the pairs T and U "
                  "below); convert one of them with map()");
    static_assert(!SameKey<T, U> || Encodable<KeyOf<T>>, "weft join, cogroup: " WEFT_KEY_CODEC);
    static_assert(!SameKey<T, U> || !kEncodes<KeyOf<T>> || !kHasFloat<KeyOf<T>>, "weft join, cogroup: " WEFT_FLOAT_KEY);
    static_assert(!SameKey<T, U> || !keys_fit<T>() || (values_fit<T>() && values_fit<U>()),
                  "weft join, cogroup: " WEFT_VALUE_CODEC);
    constexpr bool kSides = SameKey<T, U> && keys_fit<T>() && values_fit<T>() && values_fit<U>();
    static_assert(!kSides || kHow,
                  "weft join, cogroup: the last argument is a number of partitions, weft::partition_by(f, n), a "
                  "weft::JoinStrategy, or weft::JoinHow{strategy, partitions}");
    return kSides && kHow;
  }
  return false;
}

template <class T, class F>
constexpr bool check_sort_by() {
  static_assert(kGivesSortKey<F, T>,
                "weft sort_by: the function must take a record of this dataset (T below) and return what to sort by, "
                "which has <: a number, a text, a pair or tuple of those");
  static_assert(!kGivesSortKey<F, T> || kEncodes<T>,
                "weft sort_by: the records (T below) have no codec, so they cannot be sent to their partition; they are made of "
                "numbers, strings, containers and plain structs of those, or specialise weft::Codec<T>");
  if constexpr (SortKeyFunction<F, T>)
    static_assert(!kHoldsViews<Owned<std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>>>,
                  "weft sort_by: what the function returns " WEFT_KEPT_VIEWS);
  return SortKeyFunction<F, T> && Encodable<T>;
}
template <class T, class Less>
constexpr bool check_top() {
  static_assert(LessFunction<Less, Owned<T>>,
                "weft top: the records (T below) have no operator<; give an order: top(n, [](const T& a, const "
                "T& b) { return …; })");
  static_assert(!LessFunction<Less, Owned<T>> || Encodable<Owned<T>>,
                "weft top: the records (T below) have no codec; specialise weft::Codec<T>");
  return LessFunction<Less, Owned<T>> && Encodable<Owned<T>>;
}
template <class T>
constexpr bool check_stored() {
  static_assert(kEncodes<Owned<T>>,
                "weft distinct, cache, repartition, collect, first: the records (T below) have no codec, so they cannot be "
                "stored or sent; map() them to numbers, strings, containers or plain structs of those, or specialise "
                "weft::Codec<T>");
  return Encodable<Owned<T>>;
}
/// What leaves the task must own its content.
template <class T>
constexpr bool check_owned() {
  static_assert(!kHoldsViews<Owned<T>>,
                "weft collect, first, reduce, top: the records (T below) have std::string_view members, whose text ends "
                "with the task; use std::string");
  return !kHoldsViews<Owned<T>>;
}
/// Of aggregators, and of both sides of an as-of join.
template <class T>
constexpr bool check_kept() {
  static_assert(!kHoldsViews<T>,
                "weft aggregate, aggregate_by_key, asof_join: what it keeps of a value (T below) " WEFT_KEPT_VIEWS);
  return !kHoldsViews<T>;
}
template <class Chain, class G>
constexpr bool check_on() {
  constexpr bool kSame = OtherFunction<G, Chain>;
  static_assert(kSame,
                "weft on: the other function must be callable like the operator's own and return the same type; it stands directly "
                "behind generate, map, map_values, filter, flat_map or map_partitions, and the records have a codec");
  return kSame;
}
template <class T, class F>
constexpr bool check_reduce() {
  static_assert(ReduceFunction<F, T>,
                "weft reduce: the function must be callable as f(a, b) with two records of this dataset (T below), and "
                "return one; for another type of result use aggregate()");
  return ReduceFunction<F, T>;
}
template <class T, class U>
constexpr bool check_union() {
  static_assert(std::same_as<T, U>,
                "weft union_with: the two datasets have records of different types (T and U below); map() one of them to "
                "the type of the other");
  return std::same_as<T, U>;
}
template <class F>
constexpr bool check_generate() {
  constexpr bool kFits = MapFunction<F, std::uint64_t>;
  static_assert(
      kFits, "weft generate: the function must be callable as f(std::uint64_t index), also where it is const, and return a record");
  return kFits;
}

#undef WEFT_NO_STATE
#undef WEFT_PAIRS
#undef WEFT_KEY_CODEC
#undef WEFT_FLOAT_KEY
#undef WEFT_VALUE_CODEC
#undef WEFT_KEPT_VIEWS
#undef WEFT_CHECK_KEYED

}  // namespace weft::detail
