#include "engine/tools/web/difference.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::web {

namespace {

// Members that change with time alone: a client that has an earlier value computes the present one.
constexpr std::array<std::string_view, 7> kClocks{"\"submitted_seconds_ago\"", "\"seconds\"",           "\"deadline_seconds_left\"",
                                                  "\"seconds_left\"",          "\"heard_seconds_ago\"", "\"excluded_seconds_more\"",
                                                  "\"clock_ahead_seconds\""};

using Member = std::pair<std::string_view, std::string_view>;  // its name with quotes, its value, as they are written

/// Behind the text literal that begins at `at`.
std::size_t behind_text(std::string_view json, std::size_t at) {
  for (++at; at < json.size() && json[at] != '"'; ++at)
    if (json[at] == '\\') ++at;
  return std::min(at + 1, json.size());
}

/// Behind the value at `at`: where the comma or the bracket of what it is in stands.
std::size_t behind_value(std::string_view json, std::size_t at) {
  for (int depth = 0; at < json.size();) {
    const char c = json[at];
    if (depth == 0 && (c == ',' || c == ']' || c == '}')) break;
    depth += c == '{' || c == '[' ? 1 : c == '}' || c == ']' ? -1 : 0;
    at = c == '"' ? behind_text(json, at) : at + 1;
  }
  return at;
}

/// Of an object as the JSON writer makes it: without spaces. Empty: it is none.
std::vector<Member> members_of(std::string_view object) {
  std::vector<Member> members;
  for (std::size_t at = 1; at < object.size() && object[at] == '"';) {
    const std::size_t colon = behind_text(object, at), end = behind_value(object, colon + 1);
    if (colon >= object.size()) return {};
    members.emplace_back(object.substr(at, colon - at), object.substr(colon + 1, end - colon - 1));
    at = end + 1;
  }
  return members;
}

struct KeyedList {
  std::vector<std::string_view> keys, objects;
  std::unordered_map<std::string_view, std::size_t> places;
};

/// The value of the first member.
std::string_view key_of(std::string_view object) {
  if (!object.starts_with("{\"")) return {};
  const std::size_t colon = behind_text(object, 1);
  return colon < object.size() ? object.substr(colon + 1, behind_value(object, colon + 1) - colon - 1) : std::string_view();
}

std::optional<KeyedList> list_of(std::string_view json) {
  json = trim(json);
  if (!json.starts_with('[') || !json.ends_with(']')) return {};
  KeyedList list;
  for (std::size_t at = 1; at + 1 < json.size();) {
    const std::size_t end = behind_value(json, at);
    const std::string_view object = json.substr(at, end - at), key = key_of(object);
    if (key.empty() || !list.places.emplace(key, list.keys.size()).second) return {};
    list.keys.push_back(key);
    list.objects.push_back(object);
    at = end + 1;
  }
  return list;
}

bool is_clock(std::string_view name) { return std::find(kClocks.begin(), kClocks.end(), name) != kClocks.end(); }

class Differences {
 public:
  void object(std::string_view before, std::string_view now) {
    const auto was = members_of(before), is = members_of(now);
    const auto same_name = [](const Member& a, const Member& b) { return a.first == b.first; };
    if (is.empty() || !std::equal(was.begin(), was.end(), is.begin(), is.end(), same_name)) return add(new_, now);
    std::string parts = fmt::format("{{{}:{}", is[0].first, is[0].second);
    bool more = false;
    for (std::size_t i = 1; i < is.size(); ++i) {
      if (was[i].second == is[i].second) continue;
      more = more || !is_clock(is[i].first);
      fmt::format_to(std::back_inserter(parts), ",{}:{}", is[i].first, is[i].second);
    }
    if (more) add(changed_, parts + "}");
  }
  void appeared(std::string_view object) { add(new_, object); }
  void gone(std::string_view key) { add(gone_, key); }
  std::string text() const {
    if (new_.empty() && changed_.empty() && gone_.empty()) return {};
    return fmt::format(R"({{"new":[{}],"changed":[{}],"gone":[{}]}})", new_, changed_, gone_);
  }

 private:
  static void add(std::string& list, std::string_view text) {
    if (!list.empty()) list += ',';
    list += text;
  }

  std::string new_, changed_, gone_;
};

}  // namespace

std::optional<std::string> difference(std::string_view before, std::string_view now) {
  const auto was = list_of(before), is = list_of(now);
  if (!was || !is) return {};
  Differences found;
  for (std::size_t i = 0; i < is->keys.size(); ++i) {
    const auto place = was->places.find(is->keys[i]);
    if (place == was->places.end())
      found.appeared(is->objects[i]);
    else if (was->objects[place->second] != is->objects[i])
      found.object(was->objects[place->second], is->objects[i]);
  }
  for (const std::string_view key : was->keys)
    if (!is->places.contains(key)) found.gone(key);
  return found.text();
}

}  // namespace weft::web
