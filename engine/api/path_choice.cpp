#include "engine/api/path_choice.hpp"

#include <algorithm>
#include <compare>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/text.hpp"
#include "storage/partition_path.hpp"

namespace weft::detail {
namespace {

using storage::PartitionValue;
using storage::parquet::Comparison;
using storage::parquet::Condition;
using storage::parquet::Kind;

bool compares_text(const Condition& condition) { return condition.kind == Kind::text; }

template <class T>
std::optional<std::int64_t> time_in(std::string_view text) {
  T time;
  if (!parse_time(text, time)) return std::nullopt;
  return number_of(time);
}

/// What the text is as a number that conditions compare: a day or a moment is one, too.
std::optional<std::int64_t> whole_in(CellClass kind, std::string_view text) {
  if (kind == CellClass::day) return time_in<Date>(text);
  if (kind == CellClass::moment) return time_in<Timestamp>(text);
  bool truth = false;
  if (kind == CellClass::truth) return read_cell(text, truth) ? std::optional<std::int64_t>(truth ? 1 : 0) : std::nullopt;
  return parse_number<std::int64_t>(text);
}

/// Nothing: they cannot be compared.
std::optional<std::partial_ordering> compared(CellClass kind, std::string_view text, const Condition& condition) {
  const bool time = kind == CellClass::day || kind == CellClass::moment;
  if (compares_text(condition)) {
    if (kind == CellClass::number || kind == CellClass::truth) return std::nullopt;
    if (!time) return text <=> condition.text;
    const auto left = whole_in(kind, text), right = whole_in(kind, condition.text);
    return left && right ? std::optional<std::partial_ordering>(*left <=> *right) : std::nullopt;
  }
  if (kind == CellClass::text) return std::nullopt;
  const auto whole = whole_in(kind, text);
  const bool real = condition.kind == Kind::real_number;
  if (whole && !real) return *whole <=> condition.whole;
  const auto number = whole ? static_cast<double>(*whole) : parse_number<double>(text);
  if (!number || (!whole && (time || kind == CellClass::truth))) return std::nullopt;
  return *number <=> (real ? condition.real : static_cast<double>(condition.whole));
}

bool holds(Comparison comparison, std::partial_ordering order) {
  switch (comparison) {
    case Comparison::equal:
      return order == 0;
    case Comparison::not_equal:
      return order != 0;
    case Comparison::less:
      return order < 0;
    case Comparison::less_or_equal:
      return order <= 0;
    case Comparison::greater:
      return order > 0;
    case Comparison::greater_or_equal:
      return order >= 0;
  }
  return false;
}

/// Whether the value meets the condition; nothing when it cannot be compared.
std::optional<bool> meets(const CellType* type, const PartitionValue& value, const Condition& condition) {
  if (!value.value) return false;
  const auto order = compared(type == nullptr ? CellClass::none : type->kind, *value.value, condition);
  return order ? std::optional(holds(condition.comparison, *order)) : std::nullopt;
}

}  // namespace

const CellType* PathFields::type_of(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? nullptr : &types[static_cast<std::size_t>(found - names.begin())];
}

bool PathFields::may_hold(std::string_view directory) const {
  const auto value = enabled ? storage::partition_value(directory) : std::nullopt;
  return !value || std::all_of(where.begin(), where.end(), [&](const Condition& condition) {
    return condition.column != value->key || meets(type_of(value->key), *value, condition).value_or(true);  // choose() reports it
  });
}

Result<bool> PathFields::meets_conditions(const std::string& path) const {
  const auto values = enabled ? storage::partition_values(path) : std::vector<PartitionValue>();
  bool met = true;
  for (const Condition& condition : where) {
    bool found = false;
    for (const PartitionValue& value : values) {
      if (value.key != condition.column) continue;
      found = true;
      const auto one = meets(type_of(value.key), value, condition);
      if (!one)
        return fail(Code::invalid_argument,
                    fmt::format("{}: where compares column '{}' with a {}, but a directory on the way to {} says '{}'", source,
                                condition.column, compares_text(condition) ? "text" : "number", path, *value.value));
      met = met && *one;
    }
    if (!found && !columns_compare)
      return fail(
          Code::invalid_argument,
          fmt::format("{}: where compares column '{}', but there is no directory '{}=...' on the way to {}; filter() the rows "
                      "by what is in the files",
                      source, condition.column, condition.column, path));
  }
  return met;
}

Result<void> PathFields::check_values(const std::string& path) const {
  std::set<std::string> seen;
  for (const PartitionValue& value : storage::partition_values(path)) {
    const auto wrong = [&](const std::string& what) {
      return fail(Code::invalid_argument, fmt::format("{}: the directory '{}={}' on the way to {} {}", source, value.key,
                                                      value.value.value_or("__HIVE_DEFAULT_PARTITION__"), path, what));
    };
    const bool first = seen.insert(value.key).second;
    for (std::size_t field = 0; field < names.size(); ++field) {  // several may have it
      if (names[field] != value.key) continue;
      const CellType& type = types[field];
      if (!first) return wrong("is the second one that gives this field a value");
      if (type.fits == nullptr) return wrong("gives a value to a field that is a list or a struct");
      if (!value.value && !type.optional) return wrong("stands for a missing value, but its field is no std::optional");
      if (value.value && !type.fits(*value.value)) return wrong(fmt::format("is not {}", type.wanted));
    }
  }
  return {};
}

Result<void> PathFields::choose(storage::InputFiles& files) const {
  std::map<std::string, std::string> first_with;  // by name of a field, a file that has a directory of it
  std::size_t kept = 0;
  for (std::size_t i = 0; i < files.paths.size(); ++i) {
    WEFT_ASSIGN(const bool met, meets_conditions(files.paths[i]));
    if (!met) continue;
    if (enabled) WEFT_TRY(check_values(files.paths[i]));
    if (kept != i) {
      files.paths[kept] = std::move(files.paths[i]);
      files.versions[kept] = std::move(files.versions[i]);
    }
    for (const PathValue& value : path_values(files.paths[kept], enabled ? names : std::vector<std::string>()))
      first_with.try_emplace(names[value.field], files.paths[kept]);
    ++kept;
  }
  files.paths.resize(kept);
  files.versions.resize(kept);
  for (const std::string& path : files.paths) {
    const auto values = storage::partition_values(path);
    for (const auto& [name, other] : first_with) {
      if (std::none_of(values.begin(), values.end(), [&](const PartitionValue& value) { return value.key == name; }))
        return fail(Code::invalid_argument,
                    fmt::format("{}: there is no directory '{}=...' on the way to {}, as there is to {}; read "
                                "them as two datasets, or without hive_partitions",
                                source, name, path, other));
    }
  }
  return {};
}

std::shared_ptr<const PathFields> path_fields(std::string_view source, std::span<const CellType> types,
                                              const std::vector<std::string>& names, const std::vector<Condition>& where,
                                              bool enabled, bool columns_compare) {
  return std::make_shared<const PathFields>(PathFields{source, types, names, where, enabled, columns_compare});
}

void visit_path_values(const std::string& path, const std::vector<std::string>& names, void* self,
                       void (*visit)(void* self, std::size_t field, const std::string* text)) {
  for (const PathValue& value : path_values(path, names)) visit(self, value.field, value.text ? &*value.text : nullptr);
}

std::vector<PathValue> path_values(std::string_view path, std::span<const std::string> names) {
  std::vector<PathValue> found;
  for (const PartitionValue& value : storage::partition_values(path)) {
    for (std::size_t field = 0; field < names.size(); ++field)  // several may have it
      if (names[field] == value.key) found.push_back({field, value.value});
  }
  return found;
}

}  // namespace weft::detail
