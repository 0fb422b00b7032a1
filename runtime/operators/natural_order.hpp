// The order of records and keys where the user gives none: operator<, made total where floating-point numbers are in it.
//
// A NaN is larger than every number, all NaNs are equal, and so are 0.0 and -0.0: alone, and as parts of pairs, tuples, optionals,
// arrays and vectors, which are compared part by part. A struct with floating-point members is compared by its own operators; where
// these say that it is unordered with itself (a defaulted <=>, and a NaN in it), it is larger than all that are not, and equal to
// those that are, too. A struct of which only operator< is known orders its NaNs itself.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/codec.hpp"

namespace weft::runtime {

/// An enum for which the user has declared no order: that of its numbers.
template <class T>
inline constexpr bool kOrderedByNumber = std::is_enum_v<T> && !requires(const T& value) {
  operator<(value, value);
}
&&!requires(const T& value) { operator<=>(value, value); };

/// For types with a codec of their own that are made of parts: specialise it with a function `of(value)` that ties them together.
template <class T>
struct RecordParts {};
template <class T>
concept HasParts = requires(const T& value) {
  RecordParts<T>::of(value);
};

/// Whether values of type T have floating-point numbers in them. What has a codec of its own, and no RecordParts, has none.
template <class T>
struct HasFloat {
  static constexpr bool test() {
    if constexpr (std::is_array_v<T>) {
      return HasFloat<std::remove_cv_t<std::remove_extent_t<T>>>::value;
    } else if constexpr (HasParts<T>) {
      return HasFloat<decltype(RecordParts<T>::of(std::declval<const T&>()))>::value;
    } else if constexpr (std::is_class_v<T> && requires { typename Codec<T>::Traits; }) {
      return HasFloat<FieldsOf<T>>::value;
    } else if constexpr (requires {
                           typename T::key_type;
                           typename T::mapped_type;
                         }) {
      return HasFloat<typename T::key_type>::value || HasFloat<typename T::mapped_type>::value;
    } else if constexpr (requires { typename T::key_type; }) {
      return HasFloat<typename T::key_type>::value;
    } else {
      return std::is_floating_point_v<T>;
    }
  }
  static constexpr bool value = test();
};
template <class A, class B>
struct HasFloat<std::pair<A, B>>
    : std::bool_constant<HasFloat<std::remove_cvref_t<A>>::value || HasFloat<std::remove_cvref_t<B>>::value> {};
template <class... T>
struct HasFloat<std::tuple<T...>> : std::bool_constant<(HasFloat<std::remove_cvref_t<T>>::value || ...)> {};
template <class T, std::size_t N>
struct HasFloat<std::array<T, N>> : HasFloat<T> {};
template <class T, class A>
struct HasFloat<std::vector<T, A>> : HasFloat<T> {};
template <class T>
struct HasFloat<std::optional<T>> : HasFloat<T> {};

template <class T>
inline constexpr bool kHasFloat = HasFloat<T>::value;

/// Where a NaN stands among numbers.
enum class NaNs : std::int8_t { smallest = -1, largest = 1 };

/// Below 0: a comes first; 0: neither.
template <NaNs kNaNs = NaNs::largest, class T>
int compare_naturally(const T& a, const T& b);

namespace detail {

template <NaNs kNaNs, class Range>
int compare_ranges(const Range& a, const Range& b) {
  auto x = a.begin();
  auto y = b.begin();
  for (; x != a.end() && y != b.end(); ++x, ++y)
    if (const int order = compare_naturally<kNaNs>(*x, *y); order != 0) return order;
  return (x != a.end()) - (y != b.end());
}

template <NaNs kNaNs, class Tuple, std::size_t... I>
int compare_parts(const Tuple& a, const Tuple& b, std::index_sequence<I...>) {
  int order = 0;
  static_cast<void>((((order = compare_naturally<kNaNs>(std::get<I>(a), std::get<I>(b))) != 0) || ...));
  return order;
}

template <class T>
struct IsSequence : std::false_type {};
template <class T, class A>
struct IsSequence<std::vector<T, A>> : std::true_type {};
template <class T, std::size_t N>
struct IsSequence<std::array<T, N>> : std::true_type {};
template <class T>
struct IsTuple : std::false_type {};
template <class A, class B>
struct IsTuple<std::pair<A, B>> : std::true_type {};
template <class... T>
struct IsTuple<std::tuple<T...>> : std::true_type {};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

template <class T>
concept PartlyOrdered = requires(const T& a) {
  { a <=> a } -> std::same_as<std::partial_ordering>;
};

}  // namespace detail

template <NaNs kNaNs, class T>
int compare_naturally(const T& a, const T& b) {
  const auto unordered_last = [](bool x, bool y) { return static_cast<int>(kNaNs) * (static_cast<int>(x) - static_cast<int>(y)); };
  if constexpr (kHasFloat<T> && detail::IsTuple<T>::value) {
    return detail::compare_parts<kNaNs>(a, b, std::make_index_sequence<std::tuple_size_v<T>>());
  } else if constexpr (kHasFloat<T> && HasParts<T>) {
    const auto x = RecordParts<T>::of(a), y = RecordParts<T>::of(b);
    return detail::compare_parts<kNaNs>(x, y, std::make_index_sequence<std::tuple_size_v<decltype(RecordParts<T>::of(a))>>());
  } else if constexpr (kHasFloat<T> && detail::IsSequence<T>::value) {
    return detail::compare_ranges<kNaNs>(a, b);
  } else if constexpr (kHasFloat<T> && detail::IsOptional<T>::value) {
    return a && b ? compare_naturally<kNaNs>(*a, *b) : static_cast<int>(a.has_value()) - static_cast<int>(b.has_value());
  } else {
    if constexpr (std::is_floating_point_v<T>) {
      if (a != a || b != b) return unordered_last(a != a, b != b);
    } else if constexpr (kHasFloat<T> && detail::PartlyOrdered<T>) {
      const bool x = (a <=> a) == std::partial_ordering::unordered, y = (b <=> b) == std::partial_ordering::unordered;
      if (x || y) return unordered_last(x, y);
    }
    return a < b ? -1 : static_cast<int>(b < a);
  }
}

/// The default of operators that order records.
struct NaturalLess {
  using is_transparent = void;
  template <class A, class B>
  requires requires(const A& a, const B& b) {
    { a < b } -> std::convertible_to<bool>;
  }
  bool operator()(const A& a, const B& b) const {
    if constexpr (kHasFloat<A> && std::same_as<A, B>) {
      return compare_naturally(a, b) < 0;
    } else {
      return static_cast<bool>(a < b);
    }
  }
};
struct NaturalGreater {
  using is_transparent = void;
  template <class A, class B>
  requires std::predicate<const NaturalLess&, const B&, const A&>
  bool operator()(const A& a, const B& b) const { return NaturalLess()(b, a); }
};

/// Equal numbers get equal bytes: -0.0 becomes 0.0, and every NaN the same one. What sets and maps hold stays as it is.
template <class T>
void make_canonical(T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    value = value == value ? value + T{0} : std::numeric_limits<T>::quiet_NaN();
  } else if constexpr (!kHasFloat<T>) {
    return;
  } else if constexpr (detail::IsTuple<T>::value) {
    std::apply([](auto&... part) { (make_canonical(part), ...); }, value);
  } else if constexpr (HasParts<T>) {
    std::apply([](auto&... part) { (make_canonical(part), ...); }, RecordParts<T>::of(value));
  } else if constexpr (detail::IsSequence<T>::value || std::is_array_v<T>) {
    for (auto& element : value) make_canonical(element);
  } else if constexpr (detail::IsOptional<T>::value) {
    if (value) make_canonical(*value);
  } else if constexpr (requires { typename Codec<T>::Traits; }) {
    std::apply([](auto&... field) { (make_canonical(field), ...); }, fields_of(value));
  }
}

}  // namespace weft::runtime
