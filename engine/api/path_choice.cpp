#include "engine/api/path_choice.hpp"

#include <algorithm>
#include <cmath>
#include <compare>
#include <concepts>
#include <filesystem>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "base/text.hpp"
#include "storage/output_mark.hpp"
#include "storage/parquet/module.hpp"
#include "storage/partition_path.hpp"

namespace weft::detail {
namespace {

using storage::PartitionValue;
using storage::parquet::Comparison;
using storage::parquet::Condition;
using storage::parquet::Kind;

bool compares_text(const Condition& condition) { return condition.kind == Kind::text; }
std::string_view kind_compared(const Condition& condition) {
  return compares_text(condition) ? "text" : condition.kind == Kind::boolean ? "truth value" : "number";
}
bool is_time(CellClass kind) { return kind == CellClass::day || kind == CellClass::moment; }

template <class T>
std::optional<std::int64_t> time_in(std::string_view text) {
  T time;
  if (!parse_time(text, time)) return std::nullopt;
  return number_of(time);
}

/// With which a day begins: so it is compared with a moment.
std::optional<std::int64_t> midnight_of(std::string_view text) {
  const auto days = time_in<Date>(text);
  return days ? std::optional(*days * Timestamp::kDay) : std::nullopt;
}

using Number = std::variant<std::int64_t, std::uint64_t, double>;

template <class T>
std::optional<Number> some(const std::optional<T>& number) {
  return number ? std::optional<Number>(*number) : std::nullopt;
}

/// What the text is as a number that conditions compare: a day or a moment is one, too.
std::optional<Number> number_in(CellClass kind, std::string_view text) {
  if (kind == CellClass::day) return some(time_in<Date>(text));
  if (kind == CellClass::moment) return some(time_in<Timestamp>(text));
  bool truth = false;
  if (kind == CellClass::truth) return read_cell(text, truth) ? std::optional<Number>(std::int64_t{truth}) : std::nullopt;
  if (const auto whole = parse_number<std::int64_t>(text)) return *whole;
  if (const auto whole = parse_number<std::uint64_t>(text)) return *whole;
  return some(parse_number<double>(text));
}

Number number_of(const Condition& condition) {
  if (condition.kind == Kind::real_number) return condition.real;
  if (condition.kind == Kind::unsigned_number) return condition.unsigned_whole;
  return condition.whole;
}

std::partial_ordering order_of(double a, double b) { return a <=> b; }
template <std::integral A, std::integral B>
std::partial_ordering order_of(A a, B b) {
  if (std::cmp_equal(a, b)) return std::partial_ordering::equivalent;
  return std::cmp_less(a, b) ? std::partial_ordering::less : std::partial_ordering::greater;
}
/// Exact, although neither type has all numbers of the other.
template <std::integral A>
std::partial_ordering order_of(A a, double b) {
  constexpr double kBeyond = std::signed_integral<A> ? 0x1p63 : 0x1p64;
  if (std::isnan(b)) return std::partial_ordering::unordered;
  if (b >= kBeyond) return std::partial_ordering::less;
  if (b < static_cast<double>(std::numeric_limits<A>::min())) return std::partial_ordering::greater;
  const double floor = std::floor(b);
  const std::partial_ordering order = a <=> static_cast<A>(floor);
  return order == 0 && floor < b ? std::partial_ordering::less : order;
}
template <std::integral B>
std::partial_ordering order_of(double a, B b) {
  return 0 <=> order_of(b, a);
}

/// Nothing: they cannot be compared.
std::optional<std::partial_ordering> compared(CellClass kind, std::string_view text, const Condition& condition) {
  if (condition.kind == Kind::boolean && kind == CellClass::none) kind = CellClass::truth;
  if (compares_text(condition)) {
    if (kind == CellClass::number || kind == CellClass::truth) return std::nullopt;
    if (!is_time(kind)) return text <=> condition.text;
    const auto left = kind == CellClass::day ? midnight_of(text) : time_in<Timestamp>(text);
    const auto right = time_in<Timestamp>(condition.text);
    return left && right ? std::optional<std::partial_ordering>(*left <=> *right) : std::nullopt;
  }
  const auto number = kind == CellClass::text ? std::nullopt : number_in(kind, text);
  if (!number) return std::nullopt;
  return std::visit([](auto a, auto b) { return order_of(a, b); }, *number, number_of(condition));
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

/// Whether a run wrote what is in the directory.
Result<bool> is_output(const std::string& directory, storage::RemoteFiles* remote) {
  const std::string mark = directory + "/" + storage::kSuccess;
  if (storage::is_remote(directory)) return remote == nullptr ? Result<bool>(false) : remote->exists(mark);
  std::error_code error;
  return std::filesystem::is_regular_file(mark, error);
}

/// "part-00001"
bool is_part_without_suffix(std::string_view name) {
  constexpr std::string_view kPart = "part-";
  return name.size() >= kPart.size() + 5 && name.starts_with(kPart) &&
         name.find_first_not_of("0123456789", kPart.size()) == std::string_view::npos;
}

}  // namespace

const CellType* PathFields::type_of(std::string_view name) const {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? nullptr : &types[static_cast<std::size_t>(found - names.begin())];
}

bool PathFields::is_missing(const CellType& type, const PartitionValue& value) const {
  return !value.value || (type.optional && std::find(missing.begin(), missing.end(), *value.value) != missing.end());
}

std::optional<bool> PathFields::meets(const PartitionValue& value, const Condition& condition) const {
  const CellType* const known = type_of(value.key);
  const CellType type = known == nullptr ? CellType() : *known;
  if (is_missing(type, value)) return false;
  const auto order = compared(type.kind, *value.value, condition);
  return order ? std::optional(holds(condition.comparison, *order)) : std::nullopt;
}

bool PathFields::may_hold(std::string_view directory) const {
  const auto value = enabled ? storage::partition_value(directory) : std::nullopt;
  return !value || std::all_of(where.begin(), where.end(), [&](const Condition& condition) {
    return condition.column != value->key || meets(*value, condition).value_or(true);  // choose() reports it
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
      const CellType* const type = type_of(value.key);
      const auto one = meets(value, condition);
      if (!one && compares_text(condition) && type != nullptr && is_time(type->kind) && !time_in<Timestamp>(condition.text))
        return fail(Code::invalid_argument,
                    fmt::format("{}: where compares column '{}' with a text, '{}', that is neither a date (2026-11-28) nor a time "
                                "(2026-11-28T04:40:27Z)",
                                source, condition.column, escaped(condition.text)));
      if (!one)
        return fail(Code::invalid_argument,
                    fmt::format("{}: where compares column '{}' with a {}, but a directory on the way to {} says '{}'", source,
                                condition.column, kind_compared(condition), path, *value.value));
      met = met && *one;
    }
    if (!found && !parquet)
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
      if (!is_missing(type, value) && !type.fits(*value.value)) return wrong(fmt::format("is not {}", type.wanted));
    }
  }
  return {};
}

Result<void> PathFields::check_not_empty(const storage::InputFiles& files, storage::RemoteFiles* remote) const {
  std::map<std::string, bool> outputs;  // by directory, whether it is the output of a run
  for (std::size_t i = 0; i < files.paths.size(); ++i) {
    if (!files.versions[i].known() || files.versions[i].bytes != 0) continue;
    const std::string& path = files.paths[i];
    const std::size_t slash = path.rfind('/');
    const std::string directory = slash == std::string::npos ? "." : path.substr(0, slash);
    const auto [output, fresh] = outputs.try_emplace(directory, false);
    if (fresh) {
      WEFT_ASSIGN(output->second, is_output(directory, remote));
    }
    if (!output->second || !is_part_without_suffix(std::string_view(path).substr(slash == std::string::npos ? 0 : slash + 1)))
      return fail(Code::invalid_argument, path + storage::parquet::kNoParquetFile);
  }
  return {};
}

Result<void> PathFields::choose(storage::InputFiles& files, storage::RemoteFiles* remote) const {
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
  if (parquet) WEFT_TRY(check_not_empty(files, remote));
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
                                              bool enabled, bool parquet, const std::vector<std::string>& missing) {
  return std::make_shared<const PathFields>(PathFields{source, types, names, where, enabled, parquet, missing});
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
