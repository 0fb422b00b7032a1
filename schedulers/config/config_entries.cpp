#include "schedulers/config/config_entries.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "base/toml.hpp"

namespace weft::schedulers {

namespace {

tl::unexpected<Error> error_at(const std::string& source, int line, std::string_view what) {
  return fail(Code::invalid_argument, fmt::format("{}:{}: {}", source, line, what));
}

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

Result<std::vector<std::string>> read_names(const std::string& source, const std::string& key, const toml::array& list) {
  std::vector<std::string> names;
  for (const auto& item : list) {
    const auto* text = item.as_string();
    if (text == nullptr)
      return error_at(source, line_of(item), fmt::format("{} must be text, a number, true, false or a list of texts", key));
    names.push_back(text->get());
  }
  return names;
}

Result<ConfigEntry> read_entry(const std::string& source, const toml::table& table) {
  std::map<std::string, ConfigEntry::Value> values;
  for (const auto& [key, node] : table) {
    ConfigEntry::Value& value = values[std::string(key.str())];
    value.line = line_of(node);
    if (const auto* text = node.as_string()) {
      value.value = text->get();
    } else if (const auto* flag = node.as_boolean()) {
      value.value = flag->get();
    } else if (const auto* whole = node.as_integer()) {
      value.value = static_cast<double>(whole->get());
    } else if (const auto* real = node.as_floating_point()) {
      value.value = real->get();
    } else if (const auto* list = node.as_array()) {
      WEFT_ASSIGN(value.value, read_names(source, std::string(key.str()), *list));
    } else {
      return error_at(source, value.line,
                      fmt::format("{} must be text, a number, true, false or a list of texts", std::string(key.str())));
    }
  }
  return ConfigEntry(source, line_of(table), std::move(values));
}

}  // namespace

tl::unexpected<Error> ConfigEntry::error(std::string what) const { return error_at(source_, line_, what); }
tl::unexpected<Error> ConfigEntry::error(const std::string& key, std::string what) const {
  auto found = lines_.find(key);
  return error_at(source_, found == lines_.end() ? line_ : found->second, what);
}

std::optional<ConfigEntry::Value> ConfigEntry::take(const std::string& key) {
  known_.push_back(key);
  auto found = values_.find(key);
  if (found == values_.end()) return std::nullopt;
  Value value = std::move(found->second);
  values_.erase(found);
  lines_[key] = value.line;
  return value;
}

Result<std::string> ConfigEntry::text(const std::string& key, std::string otherwise) {
  auto value = take(key);
  if (!value) return otherwise;
  if (auto* text = std::get_if<std::string>(&value->value)) return std::move(*text);
  return error(key, fmt::format("{} must be text", key));
}

Result<std::optional<double>> ConfigEntry::number(const std::string& key, double low, double high) {
  const auto value = take(key);
  if (!value) return std::optional<double>();
  const auto* number = std::get_if<double>(&value->value);
  if (number == nullptr) return error(key, fmt::format("{} must be a number", key));
  if (!(*number >= low && *number <= high)) return error(key, fmt::format("{} must lie between {} and {}", key, low, high));
  return std::optional(*number);
}

Result<double> ConfigEntry::number(const std::string& key, double otherwise, double low, double high) {
  WEFT_ASSIGN(const auto given, number(key, low, high));
  return given.value_or(otherwise);
}

Result<bool> ConfigEntry::flag(const std::string& key, bool otherwise) {
  const auto value = take(key);
  if (!value) return otherwise;
  if (const auto* flag = std::get_if<bool>(&value->value)) return *flag;
  return error(key, fmt::format("{} must be true or false", key));
}

Result<std::optional<Time>> ConfigEntry::duration(const std::string& key) {
  const auto value = take(key);
  if (!value) return std::optional<Time>();
  const auto* text = std::get_if<std::string>(&value->value);
  auto duration = text == nullptr ? Result<Duration>(fail(Code::invalid_argument, "")) : parse_duration(*text);
  if (!duration) return error(key, fmt::format("{} must be a duration (write for example \"30s\")", key));
  return std::optional<Time>(*duration);
}

Result<std::optional<std::vector<std::string>>> ConfigEntry::names(const std::string& key) {
  auto value = take(key);
  if (!value) return std::optional<std::vector<std::string>>();
  if (auto* list = std::get_if<std::vector<std::string>>(&value->value)) return std::optional(std::move(*list));
  return error(key, fmt::format("{} must be a list of texts (write for example [\"alice\"])", key));
}

Result<Resources> ConfigEntry::amounts(const std::string& key) {
  const auto value = take(key);
  if (!value) return Resources{};
  if (const auto* number = std::get_if<double>(&value->value)) {
    if (*number >= 0 && *number <= 1e300) return Resources{.cpu = *number};
    return error(key, fmt::format("{} must be finite and not negative", key));
  }
  const auto* text = std::get_if<std::string>(&value->value);
  auto resources =
      text == nullptr ? Result<Resources>(fail(Code::invalid_argument, "it must be a number or text")) : parse_resources(*text);
  if (!resources) return error(key, fmt::format("{}: {}", key, resources.error().to_string()));
  return *resources;
}

Result<void> ConfigEntry::done() const {
  if (values_.empty()) return {};
  const auto& [key, value] = *values_.begin();
  const auto meant = nearest(key, known_);
  const std::string hint =
      meant.empty() ? fmt::format("known: {}", fmt::join(known_, ", ")) : fmt::format("did you mean '{}'?", meant);
  return error_at(source_, value.line, fmt::format("unknown key '{}' ({})", escaped(key), hint));
}

Result<std::vector<ConfigEntry>> read_entries(const ConfigFile& file, const std::string& kind) {
  WEFT_ASSIGN(const toml::table document, parse_toml(file.text, file.name));
  std::vector<ConfigEntry> entries;
  for (const auto& [key, node] : document) {
    const auto* array = node.as_array();
    if (key.str() != kind || array == nullptr || !array->is_array_of_tables()) {
      return error_at(file.name, line_of(node),
                      fmt::format("unknown '{}' (only [[{}]] tables are known)", escaped(key.str()), kind));
    }
    for (const auto& item : *array) {
      WEFT_ASSIGN(auto entry, read_entry(file.name, *item.as_table()));
      entries.push_back(std::move(entry));
    }
  }
  return entries;
}

Result<std::vector<std::optional<std::size_t>>> resolve_parents(const std::vector<NamedEntry>& named,
                                                                const std::vector<ConfigEntry>& entries, std::string_view kind) {
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < named.size(); ++i) {
    const std::string& name = named[i].name;
    if (name.empty()) return entries[i].error(fmt::format("a {} needs a name", kind));
    const auto [before, added] = index.emplace(name, i);
    if (!added) {
      return entries[i].error(
          "name", fmt::format("there is a {} '{}' already, in line {}", kind, escaped(name), entries[before->second].line()));
    }
  }
  std::vector<std::optional<std::size_t>> parents(named.size());
  for (std::size_t i = 0; i < named.size(); ++i) {
    if (named[i].parent.empty()) continue;
    auto found = index.find(named[i].parent);
    if (found == index.end()) {
      return entries[i].error("parent", fmt::format("{} '{}' lies under '{}', which is not there", kind, escaped(named[i].name),
                                                    escaped(named[i].parent)));
    }
    parents[i] = found->second;
  }
  for (std::size_t i = 0; i < named.size(); ++i) {
    std::size_t steps = 0;
    for (auto up = parents[i]; up; up = parents[*up]) {
      if (++steps > named.size()) {
        return entries[i].error("parent", fmt::format("{} '{}' lies under itself", kind, escaped(named[i].name)));
      }
    }
  }
  return parents;
}

std::vector<std::size_t> parents_first(const std::vector<std::optional<std::size_t>>& parents) {
  std::vector<std::size_t> order;
  std::vector<bool> placed(parents.size());
  while (order.size() < parents.size()) {
    for (std::size_t i = 0; i < parents.size(); ++i) {
      if (placed[i] || (parents[i] && !placed[*parents[i]])) continue;
      placed[i] = true;
      order.push_back(i);
    }
  }
  return order;
}

}  // namespace weft::schedulers
