// How user functions take a record: whole, or in its parts.
#pragma once

#include <concepts>
#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft {
template <class L, class R>
struct Joined;
}

namespace weft::detail {

/// References to the parts of a pair, a tuple or a Joined.
template <class A, class B>
auto parts_of(std::pair<A, B>&& record) {
  return std::forward_as_tuple(std::move(record.first), std::move(record.second));
}
template <class A, class B>
auto parts_of(const std::pair<A, B>& record) {
  return std::tie(record.first, record.second);
}
template <class L, class R>
auto parts_of(Joined<L, R>&& record) {
  return std::forward_as_tuple(std::move(record.left), std::move(record.right));
}
template <class L, class R>
auto parts_of(const Joined<L, R>& record) {
  return std::tie(record.left, record.right);
}
template <class... T>
auto parts_of(std::tuple<T...>&& record) {
  return std::apply([](T&... part) { return std::forward_as_tuple(std::move(part)...); }, record);
}
template <class... T>
auto parts_of(const std::tuple<T...>& record) {
  return std::apply([](const T&... part) { return std::tie(part...); }, record);
}

template <class T>
concept HasParts = requires(T&& record) {
  parts_of(std::forward<T>(record));
};

/// The key of a pair, and the parts of its value.
template <class Record>
auto key_and_parts(Record&& record) {
  auto parts = parts_of(std::forward<Record>(record));
  using Key = std::tuple_element_t<0, decltype(parts)>;
  using Value = std::tuple_element_t<1, decltype(parts)>;
  return std::tuple_cat(std::tuple<Key>(std::forward<Key>(std::get<0>(parts))), parts_of(std::forward<Value>(std::get<1>(parts))));
}
template <class T>
inline constexpr bool kHasKeyAndParts = false;
template <class K, HasParts V>
inline constexpr bool kHasKeyAndParts<std::pair<K, V>> = true;

template <class F, class Parts>
inline constexpr bool kTakes = false;
template <class F, class... P>
inline constexpr bool kTakes<F, std::tuple<P...>> = std::invocable<F, P...>;

enum class CallForm { none, whole, parts, key_and_parts };

/// How F can be called with a T.
template <class F, class T>
constexpr CallForm call_form() {
  if constexpr (std::invocable<F, T>) {
    return CallForm::whole;
  } else {
    if constexpr (HasParts<T>) {
      if constexpr (kTakes<F, decltype(parts_of(std::declval<T>()))>) return CallForm::parts;
    }
    if constexpr (kHasKeyAndParts<std::remove_cvref_t<T>>) {
      if constexpr (kTakes<F, decltype(key_and_parts(std::declval<T>()))>) return CallForm::key_and_parts;
    }
    return CallForm::none;
  }
}

/// f(record), f(key, value), f(key, left, right), …: the first of these that f takes.
template <class F, class T>
requires(call_form<F&, T&&>() != CallForm::none) decltype(auto) call(F& f, T&& record) {
  constexpr CallForm kForm = call_form<F&, T&&>();
  if constexpr (kForm == CallForm::whole) {
    return std::invoke(f, std::forward<T>(record));
  } else if constexpr (kForm == CallForm::parts) {
    return std::apply(f, parts_of(std::forward<T>(record)));
  } else {
    return std::apply(f, key_and_parts(std::forward<T>(record)));
  }
}

template <class F, class T>
concept Callable = call_form<const F&, T>()
!= CallForm::none;
template <class F, class T>
using CallResult = decltype(call(std::declval<const F&>(), std::declval<T>()));

}  // namespace weft::detail
