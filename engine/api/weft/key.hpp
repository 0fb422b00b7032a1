// What may be a key. Two keys are equal when their encoded bytes are equal; for floating-point numbers that is seldom intended (0.0
// and -0.0, the many NaNs), so operators by key refuse them unless they are wrapped in by_value.
#pragma once

#include <compare>
#include <concepts>
#include <limits>
#include <string>

#include "base/codec.hpp"
#include "runtime/operators/natural_order.hpp"
#include "weft/text.hpp"

namespace weft {

/// A floating-point number as a key: equal values have equal bytes. -0.0 becomes 0.0, and every NaN the same one.
template <std::floating_point F>
struct ByValue {
  ByValue() = default;
  ByValue(F number)  // NOLINT(google-explicit-constructor): a number, in another form
      : value(number == number ? number + F{0} : std::numeric_limits<F>::quiet_NaN()) {}
  operator F() const { return value; }  // NOLINT(google-explicit-constructor): the number again

  /// A total order: a NaN is larger than every number.
  template <std::same_as<ByValue> Other>
  friend std::weak_ordering operator<=>(ByValue a, Other b) {
    return runtime::compare_naturally(a.value, b.value) <=> 0;
  }
  template <std::same_as<ByValue> Other>
  friend bool operator==(ByValue a, Other b) {
    return runtime::compare_naturally(a.value, b.value) == 0;
  }

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

using runtime::kHasFloat;

}  // namespace detail
}  // namespace weft
