// The requirements on user functions; detail/checks.hpp has their error messages. User functions are called as
// const from several threads at once: a lambda must not be `mutable`. Those of one record may take its parts instead
// (detail/call.hpp).
#pragma once

#include <concepts>
#include <functional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/codec.hpp"
#include "base/lean/ranges.hpp"
#include "runtime/operators/natural_order.hpp"
#include "weft/detail/call.hpp"

namespace weft {

/// f(record) returns something: the new record.
template <class F, class T>
concept MapFunction = detail::Callable<F, T> && !std::is_void_v<detail::CallResult<F, T>>;

/// f(record) is true for records to keep.
template <class F, class T>
concept PredicateFunction = detail::Callable<F, const T&> && std::convertible_to < detail::CallResult<F, const T&>,
bool > ;

/// f(record) returns a range: the new records.
template <class F, class T>
concept FlatMapFunction = MapFunction<F, T> && std::ranges::input_range<detail::CallResult<F, T>>;

namespace detail {
template <class Out>
struct EmitProbe {
  void operator()(Out) const {}
};
template <class Out>
using Emitter = const EmitProbe<Out>&;
template <class T>
struct RecordsProbe {
  using value_type = T;
  template <class F>
  void operator()(F&&) const {}
};
/// Values of this type that are equal by their natural order are the same.
template <class T>
inline constexpr bool kOrderedWhole =
    std::is_integral_v<T> || runtime::kOrderedByNumber<T> || std::is_convertible_v<const T&, std::string_view>;
template <class A, class B>
inline constexpr bool kOrderedWhole<std::pair<A, B>> = kOrderedWhole<A>&& kOrderedWhole<B>;
template <class... T>
inline constexpr bool kOrderedWhole<std::tuple<T...>> = (kOrderedWhole<T> && ...);
/// An aggregation gives the same whatever the order in which it is given values, and accumulators to merge. Of a user's function
/// that is not known.
template <class Agg>
inline constexpr bool kSameInAnyOrder = false;
template <class T>
struct PairTraits : std::false_type {};
template <class K, class V>
struct PairTraits<std::pair<K, V>> : std::true_type {
  using Key = K;
  using Value = V;
};
}  // namespace detail

/// f(record, emit) calls emit(new record) any number of times.
template <class F, class T, class Out>
concept EmitFunction = std::invocable<const F&, T, detail::Emitter<Out>>;

/// f(records, emit) calls records(visit) to see every record of the task, and emit(new record) any number of times.
template <class F, class T, class Out>
concept PartitionFunction = std::invocable<const F&, detail::RecordsProbe<T>, detail::Emitter<Out>>;

/// A record that operators "by key" accept: std::pair<Key, Value>.
template <class T>
concept KeyValue = detail::PairTraits<T>::value;
template <KeyValue T>
using KeyOf = typename detail::PairTraits<T>::Key;
template <KeyValue T>
using ValueOf = typename detail::PairTraits<T>::Value;

/// The key of a pair. For other records it is the record itself, so that declarations of operators that refuse them compile.
namespace detail {
template <class T>
struct KeyOrSelfOf {
  using type = T;
};
template <KeyValue T>
struct KeyOrSelfOf<T> {
  using type = KeyOf<T>;
};
}  // namespace detail
template <class T>
using KeyOrSelf = typename detail::KeyOrSelfOf<T>::type;

/// f(a, b) makes one value of two. Must be associative and commutative; applied in any grouping and order.
template <class F, class V>
concept ReduceFunction = requires(const F& f, Owned<V> acc, const Owned<V>& other) {
  { std::invoke(f, std::move(acc), other) } -> std::convertible_to<Owned<V>>;
};

/// add(acc, value): changes the accumulator in place or returns the new one.
template <class F, class Acc, class V>
concept AddFunction = std::invocable<const F&, Acc&, const V&> &&
    (std::is_void_v<std::invoke_result_t<const F&, Acc&, const V&>> ||
     std::convertible_to<std::invoke_result_t<const F&, Acc&, const V&>, Acc>);

/// f(record) gives the key to sort by.
template <class F, class T>
concept SortKeyFunction =
    std::invocable<const F&, const T&> && std::totally_ordered<std::remove_cvref_t<std::invoke_result_t<const F&, const T&>>>;

/// `a.join(b)` needs both sides to be pairs with the same kind of key.
template <class T, class U>
concept SameKey = KeyValue<T> && KeyValue<U> && std::same_as<Owned<KeyOf<T>>, Owned<KeyOf<U>>>;

/// less(a, b), a strict weak order.
template <class F, class T>
concept LessFunction = std::predicate<const F&, const T&, const T&>;

}  // namespace weft
