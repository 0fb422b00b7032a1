// store_fixed() and load_fixed(): values whose encoding has one length (kFixedBytes) without a look at each part's codec. Included
// by base/codec.hpp.
#pragma once

#include <cstddef>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/codec.hpp"

namespace weft {

namespace detail {

template <class T>
struct FixedForm {
  static void store(const T& value, std::byte* at) { std::memcpy(at, &value, sizeof(T)); }
  static T load(const std::byte* at) {
    T value{};
    std::memcpy(&value, at, sizeof(T));
    return value;
  }
};

template <class Whole, class... T>
struct FixedPartsForm {
  static void store(const Whole& value, std::byte* at) {
    const auto store_part = [&at]<class Part>(const Part& part) {
      store_fixed(part, at);
      at += kFixedBytes<Part>;
    };
    std::apply([&](const T&... part) { (store_part(part), ...); }, value);
  }
  static Whole load(const std::byte* at) {
    return Whole{load_fixed<T>(std::exchange(at, at + kFixedBytes<T>))...};  // braces: in this order
  }
};
template <class A, class B>
struct FixedForm<std::pair<A, B>> : FixedPartsForm<std::pair<A, B>, A, B> {};
template <class... T>
struct FixedForm<std::tuple<T...>> : FixedPartsForm<std::tuple<T...>, T...> {};

}  // namespace detail

/// The encoding of `value`, kFixedBytes<T> bytes of it.
template <FixedSize T>
void store_fixed(const T& value, std::byte* at) {
  detail::FixedForm<T>::store(value, at);
}
template <FixedSize T>
T load_fixed(const std::byte* at) {
  return detail::FixedForm<T>::load(at);
}

}  // namespace weft
