// Text in and out of records: words(line), split_words, parse_number<T>(text), and how write_text prints a record.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/fields.hpp"
#include "base/text.hpp"  // parse_number
#include "base/whitespace.hpp"

namespace weft {

/// The runs of bytes other than space, \t, \n, \v, \f and \r in a text, as views of it. A lazy range: nothing is stored.
class words {
 public:
  explicit words(std::string_view text) : text_(text) {}

  /// Looks at 64 bytes at a time: of a block it keeps one bit per byte where a word begins or has just ended.
  class Iterator {
   public:
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::forward_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using reference = std::string_view;

    Iterator() = default;
    explicit Iterator(std::string_view text) : block_(text.data()), left_(text.size()) {
      load();
      ++*this;
    }
    std::string_view operator*() const { return {first_, static_cast<std::size_t>(last_ - first_)}; }
    Iterator& operator++() {
      first_ = next_edge();
      last_ = next_edge();
      return *this;
    }
    Iterator operator++(int) { return std::exchange(*this, Iterator(*this).operator++()); }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.first_ == b.first_; }
    friend bool operator==(const Iterator& it, std::default_sentinel_t) { return it.first_ == it.last_; }

   private:
    static constexpr std::size_t kBlock = 64;

    void load() {
      const std::uint64_t word = ~whitespace_mask(block_, left_);
      edges_ = word ^ (word << 1 | (in_word_ ? 1 : 0));
      in_word_ = word >> (kBlock - 1) != 0;
    }
    /// The end of the text when there is none.
    const char* next_edge() {
      while (edges_ == 0) [[unlikely]] {
          if (left_ <= kBlock) return block_ + left_;
          block_ += kBlock;
          left_ -= kBlock;
          load();
        }
      const char* edge = block_ + std::countr_zero(edges_);
      edges_ &= edges_ - 1;
      return edge;
    }

    const char* first_ = nullptr;
    const char* last_ = nullptr;
    const char* block_ = nullptr;
    std::size_t left_ = 0;  // of the text, from block_ on
    std::uint64_t edges_ = 0;
    bool in_word_ = false;  // the last byte of the block belongs to a word
  };

  Iterator begin() const { return Iterator(text_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  std::string_view text_;
};

/// words() as a function: `lines.flat_map(split_words)`. A text that is read only for its words is never cut into lines.
struct SplitWords {
  words operator()(std::string_view text) const { return words(text); }
};
inline constexpr SplitWords split_words;

/// The first N columns of a row, as views of it; later columns are ignored. std::invalid_argument when there are fewer.
template <std::size_t N>
std::array<std::string_view, N> columns(std::string_view row, char separator = '\t') {
  std::array<std::string_view, N> made;
  std::string_view rest = row;
  for (std::size_t i = 0; i < N; ++i) {
    if (rest.data() == nullptr)
      throw std::invalid_argument("expected " + std::to_string(N) + " columns: '" + std::string(row.substr(0, 200)) + "'");
    const auto end = rest.find(separator);
    made[i] = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return made;
}

/// How a record becomes a line. Text is written as it is, numbers in their shortest form (bool as 0 or 1), the parts of pairs and
/// tuples and the fields of plain structs with a tab between them, the elements of vectors with a comma, an absent optional as
/// nothing. Nothing is escaped (write_csv quotes). Specialise it for other types: `static void append(std::string& line, const T&
/// value)`.
template <class T>
struct LineFormat {};

template <class T>
concept LineFormattable = requires(std::string& line, const T& value) {
  LineFormat<T>::append(line, value);
};

template <class T>
requires std::convertible_to<const T&, std::string_view>
struct LineFormat<T> {
  static void append(std::string& line, const T& value) { line.append(std::string_view(value)); }
};

template <class T>
requires std::is_arithmetic_v<T>
struct LineFormat<T> {
  static void append(std::string& line, T value) {
    if constexpr (std::same_as<T, bool>) {
      line.push_back(value ? '1' : '0');
    } else if constexpr (std::same_as<T, char>) {
      line.push_back(value);
    } else {
      std::array<char, 64> digits;
      const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
      line.append(digits.data(), error == std::errc() ? static_cast<std::size_t>(end - digits.data()) : 0);
    }
  }
};

template <std::size_t N>
struct LineFormat<std::array<char, N>> {
  static void append(std::string& line, const std::array<char, N>& value) { line.append(value.data(), N); }
};

template <LineFormattable A, LineFormattable B>
struct LineFormat<std::pair<A, B>> {
  static void append(std::string& line, const std::pair<A, B>& value) {
    LineFormat<A>::append(line, value.first);
    line.push_back('\t');
    LineFormat<B>::append(line, value.second);
  }
};

template <LineFormattable... T>
struct LineFormat<std::tuple<T...>> {
  static void append(std::string& line, const std::tuple<T...>& value) {
    std::apply([&](const T&... parts) { append_parts(line, parts...); }, value);
  }
  static void append_parts(std::string& line, const T&... parts) {
    bool first = true;
    const auto part = [&]<class P>(const P& p) {
      if (!std::exchange(first, false)) line.push_back('\t');
      LineFormat<P>::append(line, p);
    };
    (part(parts), ...);
  }
};

template <LineFormattable T>
struct LineFormat<std::optional<T>> {
  static void append(std::string& line, const std::optional<T>& value) {
    if (value) LineFormat<T>::append(line, *value);
  }
};

template <LineFormattable T>
struct LineFormat<std::vector<T>> {
  static void append(std::string& line, const std::vector<T>& value) {
    bool first = true;
    for (const T& element : value) {
      if (!std::exchange(first, false)) line.push_back(',');
      LineFormat<T>::append(line, element);
    }
  }
};

namespace detail {
template <class Tuple>
inline constexpr bool kFieldsFormat = false;
template <class... F>
inline constexpr bool kFieldsFormat<std::tuple<F&...>> = (LineFormattable<std::remove_const_t<F>> && ...);
template <class T>
concept LineAggregate =
    !std::convertible_to<const T&, std::string_view> && PlainAggregate<T> && !std::is_empty_v<T> && kFieldsFormat<FieldsOf<T>>;
}  // namespace detail

template <class T>
requires detail::LineAggregate<T>
struct LineFormat<T> {
  static void append(std::string& line, const T& value) {
    std::apply(
        [&](const auto&... field) {
          LineFormat<std::tuple<std::remove_cvref_t<decltype(field)>...>>::append_parts(line, field...);
        },
        fields_of(value));
  }
};

namespace detail {
std::string hive_directory(std::string_view key, const std::optional<std::string>& value);
}

/// The name of a directory that is read as a column, for write_csv_by and its like: "city=Bern". What would end the name, or mean
/// something else in it, is written as %2F and the like, an absent optional as __HIVE_DEFAULT_PARTITION__; read_csv and its like,
/// Hive, Spark and DuckDB give the value back. Several of them with a slash between them: `hive_partition("year", row.year) + "/" +
/// hive_partition("city", row.city)`.
template <LineFormattable T>
std::string hive_partition(std::string_view key, const T& value) {
  std::string text;
  LineFormat<T>::append(text, value);
  return detail::hive_directory(key, text);
}
template <LineFormattable T>
std::string hive_partition(std::string_view key, const std::optional<T>& value) {
  return value ? hive_partition(key, *value) : detail::hive_directory(key, std::nullopt);
}

}  // namespace weft
