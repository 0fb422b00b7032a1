// The fields of a plain aggregate (no base classes, at most 25 fields, C arrays allowed) as a tuple of references.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

namespace weft {
namespace detail {

inline constexpr std::size_t kMaxFields = 25;
inline constexpr std::size_t kMaxInitialisers = 160;  // each element of a C array counts

/// Converts to any field of T, but to neither T nor a base of it: T{AnyField} must mean "initialise the first field". Never called;
/// it has a body because clang wants one where a field's type has no linkage.
template <class T>
struct AnyField {
  template <class U>
  requires(!std::same_as<std::remove_cv_t<U>, T> && !std::is_base_of_v<U, T>) operator U()
      const {  // NOLINT(google-explicit-constructor): the point
    __builtin_unreachable();
  }
};

/// Converts to bases of T only, so that it initialises T exactly when T has one.
template <class T>
struct AnyBase {
  template <class U>
  requires(!std::same_as<std::remove_cv_t<U>, T> && std::is_base_of_v<U, T>) operator U()
      const {  // NOLINT(google-explicit-constructor): the point
    __builtin_unreachable();
  }
};

template <class T>
inline constexpr bool kHasTupleSize = requires {
  std::tuple_size<T>::value;
};

template <class T>
inline constexpr bool kHasBase = requires {
  T{std::declval<AnyBase<T>>()};
};

template <class T, std::size_t>
using AnyFieldAt = AnyField<T>;

template <class T, std::size_t... I>
constexpr bool initialises(std::index_sequence<I...>) {
  return requires { T{std::declval<AnyFieldAt<T, I>>()...}; };
}

template <class T, std::size_t... Before, std::size_t... Inner, std::size_t... After>
constexpr bool initialises_nested(std::index_sequence<Before...>, std::index_sequence<Inner...>, std::index_sequence<After...>) {
  return requires {
    T{std::declval<AnyFieldAt<T, Before>>()..., {std::declval<AnyFieldAt<T, Inner>>()...}, std::declval<AnyFieldAt<T, After>>()...};
  };
}

/// How many initialisers T takes when braces around C arrays are left out.
template <class T, std::size_t N = 0>
constexpr std::size_t initialisers() {
  if constexpr (N < kMaxInitialisers && initialises<T>(std::make_index_sequence<N + 1>())) {
    return initialisers<T, N + 1>();
  } else {
    return N;
  }
}

/// How many of T's initialisers the field that begins with initialiser `At` takes: the length of a C array, otherwise 1.
template <class T, std::size_t All, std::size_t At, std::size_t Width = All - At>
constexpr std::size_t field_width() {
  if constexpr (Width < 2) {
    return 1;
  } else if constexpr (initialises_nested<T>(std::make_index_sequence<At>(), std::make_index_sequence<Width>(),
                                             std::make_index_sequence<All - At - Width>()) &&
                       !initialises_nested<T>(std::make_index_sequence<At>(), std::make_index_sequence<Width>(),
                                              std::make_index_sequence<All - At - Width + 1>())) {
    return Width;
  } else {
    return field_width<T, All, At, Width - 1>();
  }
}

template <class T, std::size_t All, std::size_t At = 0>
constexpr std::size_t count_fields() {
  if constexpr (At >= All) {
    return 0;
  } else {
    return 1 + count_fields<T, All, At + field_width<T, All, At>()>();
  }
}

template <class T>
inline constexpr std::size_t kFieldCount = count_fields<T, initialisers<T>()>();

}  // namespace detail

/// An aggregate whose fields can be enumerated (std::array has elements instead). A class without fields counts when it is empty.
template <class T>
concept PlainAggregate =
    std::is_class_v<T> && std::is_aggregate_v<T> && std::is_default_constructible_v<T> && !detail::kHasTupleSize<T> &&
    !detail::kHasBase<T> && detail::kFieldCount<T> <= detail::kMaxFields && (detail::kFieldCount<T> > 0 || std::is_empty_v<T>);

// clang-format off
/// References to the fields of `v`, in order.
template <class T>
  requires PlainAggregate<std::remove_const_t<T>>
constexpr auto fields_of(T& v) {
  constexpr std::size_t n = detail::kFieldCount<std::remove_const_t<T>>;
  if constexpr (n == 0) { (void)v; return std::tuple<>(); }
  else if constexpr (n == 1) { auto& [a] = v; return std::tie(a); }
  else if constexpr (n == 2) { auto& [a, b] = v; return std::tie(a, b); }
  else if constexpr (n == 3) { auto& [a, b, c] = v; return std::tie(a, b, c); }
  else if constexpr (n == 4) { auto& [a, b, c, d] = v; return std::tie(a, b, c, d); }
  else if constexpr (n == 5) { auto& [a, b, c, d, e] = v; return std::tie(a, b, c, d, e); }
  else if constexpr (n == 6) { auto& [a, b, c, d, e, f] = v; return std::tie(a, b, c, d, e, f); }
  else if constexpr (n == 7) { auto& [a, b, c, d, e, f, g] = v; return std::tie(a, b, c, d, e, f, g); }
  else if constexpr (n == 8) { auto& [a, b, c, d, e, f, g, h] = v; return std::tie(a, b, c, d, e, f, g, h); }
  else if constexpr (n == 9) { auto& [a, b, c, d, e, f, g, h, i] = v; return std::tie(a, b, c, d, e, f, g, h, i); }
  else if constexpr (n == 10) { auto& [a, b, c, d, e, f, g, h, i, j] = v; return std::tie(a, b, c, d, e, f, g, h, i, j); }
  else if constexpr (n == 11) { auto& [a, b, c, d, e, f, g, h, i, j, k] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k); }
  else if constexpr (n == 12) { auto& [a, b, c, d, e, f, g, h, i, j, k, l] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l); }
  else if constexpr (n == 13) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m); }
  else if constexpr (n == 14) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o); }
  else if constexpr (n == 15) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p); }
  else if constexpr (n == 16) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q); }
  else if constexpr (n == 17) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r); }
  else if constexpr (n == 18) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s); }
  else if constexpr (n == 19) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t); }
  else if constexpr (n == 20) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u); }
  else if constexpr (n == 21) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, w] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, w); }
  else if constexpr (n == 22) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, w, x] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, w, x); }
  else if constexpr (n == 23) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, w, x, y] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, w, x, y); }
  else if constexpr (n == 24) { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z); }
  else { auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z, aa] = v; return std::tie(a, b, c, d, e, f, g, h, i, j, k, l, m, o, p, q, r, s, t, u, w, x, y, z, aa); }
}
// clang-format on

template <class T>
using FieldsOf = decltype(fields_of(std::declval<T&>()));

}  // namespace weft
