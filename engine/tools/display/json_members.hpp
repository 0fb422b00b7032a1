// Objects and arrays of JSON as commands print them.
#pragma once

#include <string_view>

#include "base/json.hpp"

namespace weft::tools {

/// Members of the JSON object: a name, its value, the next name, its value and so on.
inline void members(JsonWriter&) {}
template <class T, class... Rest>
void members(JsonWriter& json, std::string_view name, const T& value, const Rest&... rest) {
  json.member(name, value);
  members(json, rest...);
}

/// An array of strings, or of anything that a JSON value can be.
template <class Values>
void array(JsonWriter& json, std::string_view name, const Values& values) {
  json.key(name).begin_array();
  for (const auto& value : values) json.value(value);
  json.end_array();
}

}  // namespace weft::tools
