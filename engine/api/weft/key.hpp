// What may be a key. Two keys are equal when their encoded bytes are equal; for floating-point numbers that is seldom what is meant
// (0.0 and -0.0, the many NaNs), so operators by key refuse them unless they are wrapped in by_value.
#pragma once

#include <array>
#include <compare>
#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/codec.hpp"
#include "weft/text.hpp"

namespace weft {

/// A floating-point number as a key: equal values have equal bytes. -0.0 becomes 0.0, and every NaN the same one.
template <std::floating_point F>
struct ByValue {
  ByValue() = default;
  ByValue(F number)  // NOLINT(google-explicit-constructor): a number, in another form
      : value(number == number ? number + F{0} : std::numeric_limits<F>::quiet_NaN()) {}
  operator F() const { return value; }  // NOLINT(google-explicit-constructor): likewise

  F value = 0;
};

template <std::floating_point F>
ByValue<F> by_value(F number) {
  return ByValue<F>(number);
}

template <std::floating_point F>
struct Codec<ByValue<F>> {
  static constexpr bool kFlat = Codec<F>::kFlat;
  static void encode(ByValue<F> key, Encoder& out) { Codec<F>::encode(key.value, out); }
  static ByValue<F> decode(Decoder& in) { return ByValue<F>(Codec<F>::decode(in)); }
};

template <std::floating_point F>
struct LineFormat<ByValue<F>> {
  static void append(std::string& line, ByValue<F> key) { LineFormat<F>::append(line, key.value); }
};

namespace detail {

/// Whether a key of type T has floating-point numbers that are not wrapped. What has a codec of its own answers for itself.
template <class T>
struct HasFloat {
  static constexpr bool test() {
    if constexpr (std::is_array_v<T>) {
      return HasFloat<std::remove_cv_t<std::remove_extent_t<T>>>::value;
    } else if constexpr (std::is_class_v<T> && requires { typename Codec<T>::Traits; }) {
      return HasFloat<FieldsOf<T>>::value;
    } else {
      return std::is_floating_point_v<T>;
    }
  }
  static constexpr bool value = test();
};
template <class A, class B>
struct HasFloat<std::pair<A, B>> : std::bool_constant<HasFloat<A>::value || HasFloat<B>::value> {};
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

}  // namespace detail
}  // namespace weft
