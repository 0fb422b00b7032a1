// JSON as lists of members, for commands, the page and REST:
//
//   json_line(object("id", 7, "names", names, "stages", objects(stages, [](JsonWriter& json, const Stage& stage) {
//     members(json, "name", stage.name);
//   })))
#pragma once

#include <string>
#include <string_view>
#include <type_traits>

#include "base/json.hpp"
#include "schedulers/view/resources.hpp"
#include "shuffle/prefetch/prefetch_stats.hpp"

namespace weft::tools {

/// {"cpu": 2, …}: all kinds.
void write_value(JsonWriter& json, const schedulers::Resources& resources);
/// What was prefetched, read, wasted and evicted, in bytes.
void write_value(JsonWriter& json, const shuffle::PrefetchStats& stats);
/// Writes a text, a number or a truth value; null for an optional without a value; an object for a range of pairs of name and
/// value; an array for any other range. A function that takes the writer writes its value itself.
template <class T>
void write_value(JsonWriter& json, const T& value) {
  if constexpr (std::is_invocable_v<const T&, JsonWriter&>) {
    value(json);
  } else if constexpr (requires { json.value(value); }) {
    json.value(value);
  } else if constexpr (requires { value.has_value(); }) {
    value ? write_value(json, *value) : static_cast<void>(json.null());
  } else if constexpr (requires { typename T::value_type::second_type; }) {
    json.begin_object();
    for (const auto& [name, of_name] : value) json.member(name, of_name);
    json.end_object();
  } else {
    json.begin_array();
    for (const auto& one : value) write_value(json, one);
    json.end_array();
  }
}

/// Writes members of the object that is open: a name, its value, the next name, its value and so on.
inline void members(JsonWriter&) {}
template <class T, class... Rest>
void members(JsonWriter& json, std::string_view name, const T& value, const Rest&... rest) {
  json.key(name);
  write_value(json, value);
  members(json, rest...);
}

/// A value: the object with these members. It refers to them, so use it in the expression that makes it.
template <class... Members>
auto object(const Members&... of) {
  return [&](JsonWriter& json) {
    json.begin_object();
    members(json, of...);
    json.end_object();
  };
}

/// A value: an array with an object for each of `all`, whose members write(json, one) writes. It refers to `all`, as above.
template <class All, class Write>
auto objects(const All& all, Write write) {
  return [&all, write](JsonWriter& json) {
    json.begin_array();
    for (const auto& one : all) {
      json.begin_object();
      write(json, one);
      json.end_object();
    }
    json.end_array();
  };
}

/// The value as a document of one line.
template <class T>
std::string json_line(const T& value) {
  JsonWriter json;
  write_value(json, value);
  return json.text() + "\n";
}

}  // namespace weft::tools
