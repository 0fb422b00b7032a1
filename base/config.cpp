#include "base/config.hpp"

#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "base/assert.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "base/toml.hpp"

namespace weft {
namespace {

std::string toml_list(const std::vector<std::string>& items) {
  std::vector<std::string> quoted;
  for (const auto& item : items) quoted.push_back(json_quoted(item));
  return "[" + join(quoted, ", ") + "]";
}

}  // namespace

void Config::text(std::string key, std::string& variable, std::string doc) {
  add({std::move(key), Kind::text, std::move(doc), json_quoted(variable), [&variable](const Value& v) { variable = v.text; }});
}
void Config::flag(std::string key, bool& variable, std::string doc) {
  add({std::move(key), Kind::flag, std::move(doc), variable ? "true" : "false",
       [&variable](const Value& v) { variable = v.flag; }});
}
void Config::real(std::string key, double& variable, std::string doc) {
  add({std::move(key), Kind::real, std::move(doc), fmt::format("{}", variable),
       [&variable](const Value& v) { variable = v.real; }});
}
void Config::real(std::string key, std::optional<double>& variable, double usual, std::string doc) {
  add({std::move(key), Kind::real, std::move(doc), fmt::format("{}", variable.value_or(usual)),
       [&variable](const Value& v) { variable = v.real; }});
}
void Config::size(std::string key, std::uint64_t& variable, std::string doc) {
  add({std::move(key), Kind::size, std::move(doc), json_quoted(format_size(variable)),
       [&variable](const Value& v) { variable = static_cast<std::uint64_t>(v.integer); }});
}
void Config::duration(std::string key, Duration& variable, std::string doc) {
  add({std::move(key), Kind::duration, std::move(doc), json_quoted(format_duration(variable)),
       [&variable](const Value& v) { variable = Duration(v.integer); }});
}
void Config::list(std::string key, std::vector<std::string>& variable, std::string doc, char separator) {
  add({std::move(key), Kind::list, std::move(doc), toml_list(variable), [&variable](const Value& v) { variable = v.list; }, 0, 0,
       separator});
}

void Config::add_integer(std::string key, std::int64_t fallback, std::function<void(std::int64_t)> assign, std::string doc,
                         std::int64_t low, std::int64_t high) {
  add({std::move(key), Kind::integer, std::move(doc), std::to_string(fallback),
       [assign = std::move(assign)](const Value& v) { assign(v.integer); }, low, high});
}

void Config::add(Key key) {
  WEFT_ASSERT(find(key.name) == nullptr);
  keys_.push_back(std::move(key));
}

const Config::Key* Config::find(std::string_view name) const {
  const auto found = std::find_if(keys_.begin(), keys_.end(), [&](const Key& key) { return key.name == name; });
  return found == keys_.end() ? nullptr : &*found;
}

std::string_view Config::kind_name(Kind kind) {
  static constexpr std::array<std::string_view, 7> kNames{
      // by value
      "text", "true or false", "an integer", "a number", "a size such as \"64MiB\"", "a duration such as \"5s\"", "a list of text"};
  return kNames.at(static_cast<std::size_t>(kind));
}

Error Config::unknown_key(std::string_view name) const {
  std::vector<std::string> names;
  for (const auto& key : keys_) names.push_back(key.name);
  const auto near = nearest(name, names);
  std::string message = fmt::format("unknown key '{}'", escaped(name));
  if (!near.empty()) message += fmt::format(" (did you mean '{}'?)", near);
  return Error(Code::invalid_argument, std::move(message));
}

Result<void> Config::interpret(const Key& key, Value& value) const {
  if (key.kind == Kind::size) {
    WEFT_ASSIGN(const auto bytes, parse_size(value.text));
    value.integer = static_cast<std::int64_t>(bytes);
  } else if (key.kind == Kind::duration) {
    WEFT_ASSIGN(const auto duration, parse_duration(value.text));
    value.integer = duration.count();
  } else if (key.kind == Kind::integer && (value.integer < key.low || value.integer > key.high)) {
    return fail(Code::invalid_argument, fmt::format("{} is not between {} and {}", value.integer, key.low, key.high));
  }
  return {};
}

Result<void> Config::parse_assignment(const Key& key, Value& value) const {
  const auto mismatch = [&] {
    return fail(Code::invalid_argument, fmt::format("'{}' is not {}", escaped(value.text), kind_name(key.kind)));
  };
  if (key.kind == Kind::flag) {
    if (value.text != "true" && value.text != "false") return mismatch();
    value.flag = value.text == "true";
  } else if (key.kind == Kind::integer) {
    const auto number = parse_number<std::int64_t>(value.text);
    if (!number) return mismatch();
    value.integer = *number;
  } else if (key.kind == Kind::real) {
    const auto number = parse_number<double>(value.text);
    if (!number) return mismatch();
    value.real = *number;
  } else if (key.kind == Kind::list && !value.text.empty()) {
    for (const auto item : split(value.text, key.separator)) value.list.emplace_back(trim(item));
  }
  return interpret(key, value);
}

Result<void> Config::set(std::string_view assignment) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos) {
    return fail(Code::invalid_argument, fmt::format("'{}' is not of the form key=value", escaped(assignment)));
  }
  const auto name = trim(assignment.substr(0, equals));
  const Key* key = find(name);
  if (key == nullptr) return fail(unknown_key(name));
  Value value;
  value.text = trim(assignment.substr(equals + 1));
  if (auto parsed = parse_assignment(*key, value); !parsed) return fail(std::move(parsed).error().wrap(key->name));
  key->assign(value);
  return {};
}

/// Walks the parsed document; collects assignments and applies them at the end.
struct Config::Reader {
  const Config& config;
  std::string_view source;
  std::vector<std::pair<const Key*, Value>> found;

  Error at(const toml::node& node, Error error) const {
    return std::move(error).wrap(fmt::format("{}:{}", source, node.source().begin.line));
  }

  Result<void> table(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
      const std::string path = prefix.empty() ? std::string(name.str()) : prefix + "." + std::string(name.str());
      if (const auto* inner = node.as_table()) {
        if (config.find(path) != nullptr) return fail(at(node, Error(Code::invalid_argument, path + " is a value, not a table")));
        WEFT_TRY(this->table(*inner, path));
      } else {
        WEFT_TRY(entry(node, path));
      }
    }
    return {};
  }

  Result<void> entry(const toml::node& node, const std::string& path) {
    const Key* key = config.find(path);
    if (key == nullptr) return fail(at(node, config.unknown_key(path)));
    Value value;
    if (!read(*key, node, value)) {
      return fail(at(node, Error(Code::invalid_argument, fmt::format("{} must be {}", path, kind_name(key->kind)))));
    }
    if (auto good = config.interpret(*key, value); !good) return fail(at(node, std::move(good).error().wrap(path)));
    found.emplace_back(key, std::move(value));
    return {};
  }

  static bool read(const Key& key, const toml::node& node, Value& value) {
    switch (key.kind) {
      case Kind::flag:
        return take(node.value_exact<bool>(), value.flag);
      case Kind::integer:
        return take(node.value_exact<std::int64_t>(), value.integer);
      case Kind::real:
        return take(node.value<double>(), value.real);
      case Kind::size:  // a bare number is in bytes
        if (const auto bytes = node.value_exact<std::int64_t>()) return take(std::optional(std::to_string(*bytes)), value.text);
        return take(node.value_exact<std::string>(), value.text);
      case Kind::text:
      case Kind::duration:
        return take(node.value_exact<std::string>(), value.text);
      case Kind::list:
        return read_list(node, value.list);
    }
    return false;
  }

  static bool read_list(const toml::node& node, std::vector<std::string>& list) {
    const auto* array = node.as_array();
    if (array == nullptr) return false;
    for (const auto& item : *array) {
      if (!take(item.value_exact<std::string>(), list.emplace_back())) return false;
    }
    return true;
  }

  template <class T>
  static bool take(std::optional<T> from, T& to) {
    if (from) to = std::move(*from);
    return from.has_value();
  }
};

Result<void> Config::load_file(const std::filesystem::path& path) {
  WEFT_ASSIGN(const auto content, read_file(path));
  return load_text(content, path.string());
}

Result<void> Config::load_text(std::string_view toml, std::string_view source) {
  WEFT_ASSIGN(const toml::table document, parse_toml(toml, source));
  Reader reader{*this, source, {}};
  WEFT_TRY(reader.table(document, {}));
  for (const auto& [key, value] : reader.found) key->assign(value);
  return {};
}

std::string Config::describe() const {
  std::vector<const Key*> sorted;
  for (const auto& key : keys_) sorted.push_back(&key);
  const auto table_of = [](const Key& key) { return key.name.substr(0, key.name.rfind('.') + 1); };
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Key* a, const Key* b) { return table_of(*a) < table_of(*b); });
  std::string text;
  std::string table;
  for (const Key* key : sorted) {
    if (const auto owner = table_of(*key); owner != table) {
      table = owner;
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", table.substr(0, table.size() - 1));
    }
    text += fmt::format("# {} ({})\n{} = {}\n", key->doc, kind_name(key->kind), key->name.substr(table.size()), key->fallback);
  }
  return text;
}

}  // namespace weft
