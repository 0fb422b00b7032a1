// A key as people read it, for what is said of skew.
#pragma once

#include <algorithm>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "base/fields.hpp"

namespace weft::detail {

/// "7", "the", "2026, 11"; "?" of what has no such form.
template <class K>
void append_key_text(std::string& text, const K& key) {
  const auto parts = [&text](const auto&... part) {
    bool first = true;
    ((text.append(std::exchange(first, false) ? "" : ", "), append_key_text(text, part)), ...);
  };
  if constexpr (std::is_array_v<K> && std::same_as<std::remove_extent_t<K>, char>) {  // which need not end with a 0
    text.append(std::begin(key), std::find(std::begin(key), std::end(key), '\0'));
  } else if constexpr (std::is_array_v<K>) {
    for (const auto& part : key) append_key_text(text.append(&part == key ? "" : ", "), part);
  } else if constexpr (std::convertible_to<const K&, std::string_view>) {
    text.append(std::string_view(key));
  } else if constexpr (std::same_as<K, bool>) {
    text.append(key ? "true" : "false");
  } else if constexpr (std::is_enum_v<K>) {
    append_key_text(text, static_cast<std::underlying_type_t<K>>(key));
  } else if constexpr (std::is_integral_v<K> && !std::same_as<K, std::int64_t> && !std::same_as<K, std::uint64_t>) {
    append_key_text(text, static_cast<std::conditional_t<std::is_signed_v<K>, std::int64_t, std::uint64_t>>(key));
  } else if constexpr (std::is_arithmetic_v<K>) {
    char digits[64];
    text.append(digits, std::to_chars(std::begin(digits), std::end(digits), key).ptr);
  } else if constexpr (requires {
                         *key;
                         key.has_value();
                       }) {
    if (key) append_key_text(text, *key);
  } else if constexpr (requires { std::tuple_size<K>::value; }) {
    std::apply(parts, key);
  } else if constexpr (PlainAggregate<K>) {
    std::apply(parts, fields_of(key));
  } else {
    text.append("?");
  }
}

}  // namespace weft::detail
