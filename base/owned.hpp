// Owned<T> is the type that holds a record of type T after the memory behind its views is gone: string_view becomes string; pairs,
// tuples, optionals, arrays and vectors change with their parts; every other type stays the same.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/fields.hpp"

namespace weft {

/// Specialise for further view types: `using type = …; static type from(T value);`
template <class T>
struct OwnedType {
  using type = T;
  static type from(T value) { return value; }
};

template <class T>
using Owned = typename OwnedType<T>::type;

/// Returns a copy of the record that owns everything to which it refers.
template <class T>
Owned<T> to_owned(T value) {
  return OwnedType<T>::from(std::move(value));
}

template <>
struct OwnedType<std::string_view> {
  using type = std::string;
  static type from(std::string_view text) { return std::string(text); }
};

template <class A, class B>
struct OwnedType<std::pair<A, B>> {
  using type = std::pair<Owned<A>, Owned<B>>;
  static type from(std::pair<A, B> value) { return type(to_owned(std::move(value.first)), to_owned(std::move(value.second))); }
};

template <class... T>
struct OwnedType<std::tuple<T...>> {
  using type = std::tuple<Owned<T>...>;
  static type from(std::tuple<T...> value) {
    return std::apply([](T&... part) { return type(to_owned(std::move(part))...); }, value);
  }
};

template <class T>
struct OwnedType<std::optional<T>> {
  using type = std::optional<Owned<T>>;
  static type from(std::optional<T> value) { return value ? type(to_owned(std::move(*value))) : type(); }
};

template <class T, std::size_t N>
struct OwnedType<std::array<T, N>> {
  using type = std::array<Owned<T>, N>;
  static type from(std::array<T, N> value) {
    return std::apply([](auto&... part) { return type{to_owned(std::move(part))...}; }, value);
  }
};

template <class T, class Allocator>
struct OwnedType<std::vector<T, Allocator>> {
  using type = std::conditional_t<std::is_same_v<T, Owned<T>>, std::vector<T, Allocator>, std::vector<Owned<T>>>;
  static type from(std::vector<T, Allocator> value) {
    if constexpr (std::is_same_v<T, Owned<T>>) {
      return value;
    } else {
      type owned;
      owned.reserve(value.size());
      for (T& element : value) owned.push_back(to_owned(std::move(element)));
      return owned;
    }
  }
};

namespace detail {
template <class T>
struct HoldsView;
template <class... F>
struct HoldsView<std::tuple<F...>> {
  static constexpr bool value = (HoldsView<std::remove_cvref_t<F>>::value || ...);
};
template <class A, class B>
struct HoldsView<std::pair<A, B>>
    : std::bool_constant<HoldsView<std::remove_cv_t<A>>::value || HoldsView<std::remove_cv_t<B>>::value> {};
template <class T>
struct HoldsView {
  static constexpr bool test() {
    if constexpr (std::is_array_v<T>) {
      return HoldsView<std::remove_cv_t<std::remove_extent_t<T>>>::value;
    } else if constexpr (!std::is_same_v<T, Owned<T>>) {
      return true;
    } else if constexpr (PlainAggregate<T>) {
      return HoldsView<decltype(fields_of(std::declval<T&>()))>::value;
    } else if constexpr (requires { typename T::value_type; }) {  // an optional, or a container
      return HoldsView<std::remove_cv_t<typename T::value_type>>::value;
    } else {
      return false;
    }
  }
  static constexpr bool value = test();
};
template <class T>
struct HoldsNumbersOnly;
template <class... F>
struct HoldsNumbersOnly<std::tuple<F&...>> {
  static constexpr bool value = (HoldsNumbersOnly<std::remove_cv_t<F>>::value && ...);
};
template <class T>
struct HoldsNumbersOnly<std::optional<T>> : HoldsNumbersOnly<T> {};
template <class T, std::size_t N>
struct HoldsNumbersOnly<std::array<T, N>> : HoldsNumbersOnly<T> {};
template <class T>
struct HoldsNumbersOnly {
  static constexpr bool test() {
    if constexpr (std::is_array_v<T>) {
      return HoldsNumbersOnly<std::remove_cv_t<std::remove_extent_t<T>>>::value;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_empty_v<T>) {
      return true;
    } else if constexpr (PlainAggregate<T>) {
      return HoldsNumbersOnly<decltype(fields_of(std::declval<T&>()))>::value;
    } else {
      return false;
    }
  }
  static constexpr bool value = test();
};
}  // namespace detail

/// True of numbers, enums, and what plainly consists of them: a copy is good for as long as it is kept. False where that is not
/// known, as of pointers and of classes with private members.
template <class T>
inline constexpr bool kHoldsNumbersOnly = detail::HoldsNumbersOnly<T>::value;

/// True when records of type T refer to memory that they do not own. A plain struct with a string_view field does, and Owned<T>
/// does not change that.
template <class T>
inline constexpr bool kHoldsViews = detail::HoldsView<T>::value;

}  // namespace weft
