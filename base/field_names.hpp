// The names of the fields of a plain aggregate, as its declaration has them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/fields.hpp"

namespace weft {
namespace detail {

template <class T>
struct Unmade {
  T value;
};

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
/// Never defined: only the places of its fields are taken.
template <class T>
extern const Unmade<T> kUnmade;

/// A pointer to a field as a template argument; clang 16 takes such pointers inside of classes only.
template <class P>
struct FieldPlace {
  P place;
};

/// The compiler writes the argument as "… &kUnmade.value.NAME}]" or "… (& kUnmade<T>.Unmade<T>::value.T::NAME)}; …".
template <auto kPlace>
constexpr std::string_view spelled_place() {
  return __PRETTY_FUNCTION__;
}

constexpr std::string_view last_name(std::string_view spelled) {
  const auto is_part = [](char c) {
    return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  std::size_t end = spelled.rfind(")}");
  if (end == std::string_view::npos) end = spelled.rfind('}');
  while (end > 0 && !is_part(spelled[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_part(spelled[begin - 1])) --begin;
  return spelled.substr(begin, end - begin);
}

template <class T, std::size_t kIndex>
constexpr std::string_view field_name() {
  using P = decltype(&std::get<kIndex>(fields_of(kUnmade<T>.value)));
  return last_name(spelled_place<FieldPlace<P>{&std::get<kIndex>(fields_of(kUnmade<T>.value))}>());
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

template <class T, std::size_t... I>
constexpr auto field_names(std::index_sequence<I...>) {
  return std::array<std::string_view, sizeof...(I)>{field_name<T, I>()...};
}

}  // namespace detail

/// In the order of the fields.
template <PlainAggregate T>
inline constexpr auto kFieldNames = detail::field_names<T>(std::make_index_sequence<detail::kFieldCount<T>>());

}  // namespace weft
