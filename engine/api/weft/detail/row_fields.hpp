// How one field of a row is read from text, and written.
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/codec.hpp"
#include "base/field_names.hpp"
#include "base/lean/algorithm.hpp"
#include "weft/text.hpp"
#include "weft/time.hpp"

namespace weft::detail {

/// What a file in UTF-8 may begin with; it belongs to no field.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// What the fields are called in files: `names` has those with another name than the field.
std::vector<std::string> names_in_files(std::span<const std::string_view> fields, const std::map<std::string, std::string>& names);

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

/// bool, numbers, text, days and moments.
template <class T>
concept CellScalar = std::is_arithmetic_v<T> || std::same_as<T, std::string> || std::same_as<T, std::string_view> || TimeField<T>;
template <class T>
inline constexpr bool kIsCell = CellScalar<T>;
template <class T>
inline constexpr bool kIsCell<std::optional<T>> = CellScalar<T>;

template <class Tuple>
inline constexpr bool kAreCells = false;
template <class... F>
inline constexpr bool kAreCells<std::tuple<F&...>> = (kIsCell<F> && ...);

/// A struct that can be a row of CSV.
template <class T>
constexpr bool is_csv_row() {
  if constexpr (PlainAggregate<T> && !std::is_empty_v<T>) return kAreCells<FieldsOf<T>>;
  return false;
}

/// A decimal number of at most 19 digits whose value is exact in a double: most of those in files. False: the caller must parse it
/// in another way.
bool read_short_decimal(std::string_view text, double& value);

template <class T>
bool read_cell(std::string_view text, T& value) {
  if constexpr (std::same_as<T, std::string>) {
    value.assign(text);
    return true;
  } else if constexpr (std::same_as<T, std::string_view>) {
    value = text;
    return true;
  } else if constexpr (TimeField<T>) {
    return parse_time(text, value);
  } else if constexpr (std::same_as<T, bool>) {
    const auto is = [text](std::string_view word) {
      return text.size() == word.size() &&
             std::equal(text.begin(), text.end(), word.begin(), [](char a, char b) { return (a | 0x20) == b; });
    };
    value = text == "1" || is("true");
    return value || text == "0" || is("false");
  } else {
    if constexpr (std::same_as<T, double>) {
      if (read_short_decimal(text, value)) [[likely]]
        return true;
    }
    if (!text.empty() && text[0] == '+' && text.size() > 1 && text[1] != '-') text.remove_prefix(1);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }
}

/// "a number", for messages.
template <class T>
constexpr std::string_view cell_kind() {
  if constexpr (kIsOptional<T>)
    return cell_kind<typename T::value_type>();
  else if constexpr (std::same_as<T, bool>)
    return "true or false";
  else if constexpr (std::same_as<T, Date>)
    return "a date, as 2026-11-28";
  else if constexpr (std::same_as<T, Timestamp>)
    return "a time, as 2026-11-28T04:40:27Z";
  else if constexpr (std::floating_point<T>)
    return "a number";
  else if constexpr (std::unsigned_integral<T>)
    return "a whole number from 0 on that fits its field";
  else if constexpr (std::integral<T>)
    return "a whole number that fits its field";
  else
    return "a text";
}

}  // namespace weft::detail
