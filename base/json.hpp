// Writes JSON (RFC 8259) into a string. Any bytes may be given as text: what is not valid UTF-8 becomes U+FFFD.
//
//   JsonWriter json;
//   json.begin_object().key("jobs").begin_array().value(1).value("two").end_array().end_object();
//   json.text();   // {"jobs":[1,"two"]}
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace weft {

/// Returns `text` as a JSON string literal, quotes included.
std::string json_quoted(std::string_view text);

/// Builds one JSON text. The writer takes care of commas and nesting; misuse (a value without a key in an object, an end without
/// its begin) is asserted. Not thread-safe.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return begin('{'); }
  JsonWriter& end_object() { return end('{', '}'); }
  JsonWriter& begin_array() { return begin('['); }
  JsonWriter& end_array() { return end('[', ']'); }
  JsonWriter& key(std::string_view name);

  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(std::same_as<bool> auto flag) { return literal(flag ? "true" : "false"); }
  /// Infinities and NaN become null, because JSON has no form for them.
  JsonWriter& value(double number);
  template <std::integral T>
  requires(!std::same_as<T, bool> && !std::same_as<T, char>) JsonWriter& value(T number) {
    if constexpr (std::unsigned_integral<T>) {
      return whole(static_cast<std::uint64_t>(number));
    } else {
      return whole(static_cast<std::int64_t>(number));
    }
  }
  JsonWriter& null() { return literal("null"); }

  /// Calls key(name) and value(content).
  template <class T>
  JsonWriter& member(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  /// Returns what was written so far; it is complete when every begin has its end.
  const std::string& text() const& { return text_; }
  std::string text() && { return std::move(text_); }

 private:
  JsonWriter& whole(std::int64_t number);
  JsonWriter& whole(std::uint64_t number);
  JsonWriter& literal(std::string_view text);
  void before_value();
  JsonWriter& begin(char open);
  JsonWriter& end(char open, char close);

  std::string text_;
  std::string scopes_;      // of each that is open, its bracket
  bool first_ = true;       // nothing in the innermost scope yet
  bool after_key_ = false;  // a key waits for its value
};

}  // namespace weft
