// read_json and write_json. The parser is behind a few functions: its header takes longer to compile than most jobs.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/field_names.hpp"
#include "weft/detail/actions.hpp"
#include "weft/detail/path_fields.hpp"
#include "weft/detail/row_fields.hpp"
#include "weft/detail/sources.hpp"
#include "weft/rows.hpp"
#include "weft/text.hpp"

namespace weft::detail {

/// A value of a parsed line, valid during the call that passes it.
struct JsonNode {
  const void* element;
  std::string_view* rest;  // of the line: where the text of a number is to be looked for
};

// False: the value is of another type, or does not fit.
bool json_null(JsonNode node);
bool json_bool(JsonNode node, bool& value);
bool json_signed(JsonNode node, std::int64_t& value);
bool json_unsigned(JsonNode node, std::uint64_t& value);
bool json_number(JsonNode node, double& value);
/// The float nearest to the number, which json_number() gave as `wide`. Values are asked for in the order of the line.
float json_float(JsonNode node, double wide);
bool json_text(JsonNode node, std::string_view& value);
/// Calls visit(self, element) for each element until it returns false.
bool json_each(JsonNode node, void* self, bool (*visit)(void* self, JsonNode element));
/// Calls visit(self, index, value) for each member whose name is names[index], until it returns false.
bool json_members(JsonNode node, std::span<const std::string_view> names, void* self,
                  bool (*visit)(void* self, std::size_t index, JsonNode value));

template <class T>
struct VectorTraits : std::false_type {};
template <class U>
struct VectorTraits<std::vector<U>> : std::true_type {
  using Element = U;
};

template <class T>
struct IsJson;
template <class Tuple>
inline constexpr bool kAreJson = false;
template <class... F>
inline constexpr bool kAreJson<std::tuple<F&...>> = (IsJson<F>::value && ...);
/// What a member can be read into.
template <class T>
struct IsJson {
  static constexpr bool test() {
    if constexpr (std::is_arithmetic_v<T> || std::same_as<T, std::string> || TimeField<T>)
      return true;
    else if constexpr (kIsOptional<T>)
      return IsJson<typename T::value_type>::value;
    else if constexpr (VectorTraits<T>::value)
      return IsJson<typename VectorTraits<T>::Element>::value;
    else if constexpr (PlainAggregate<T> && !std::is_empty_v<T>)
      return kAreJson<FieldsOf<T>>;
    return false;
  }
  static constexpr bool value = test();
};
template <class T>
constexpr bool is_json_row() {
  if constexpr (PlainAggregate<T>) return IsJson<T>::value;
  return false;
}

/// What was wrong with a line.
struct JsonProblem {
  std::string member;  // "order.price"
  std::string_view wanted;
};

template <class T>
bool read_json(JsonNode node, T& value, std::span<const std::string_view> names, JsonProblem& problem);

template <class T>
bool read_json_value(JsonNode node, T& value, JsonProblem& problem) {
  bool right = false;
  if constexpr (kIsOptional<T>) {
    if (json_null(node)) {
      value.reset();
      return true;
    }
    return read_json_value(node, value.emplace(), problem);
  } else if constexpr (std::same_as<T, bool>) {
    right = json_bool(node, value);
    problem.wanted = "true or false";
  } else if constexpr (std::integral<T>) {
    std::conditional_t<std::signed_integral<T>, std::int64_t, std::uint64_t> wide = 0;
    if constexpr (std::signed_integral<T>)
      right = json_signed(node, wide);
    else
      right = json_unsigned(node, wide);
    right = right && wide >= std::numeric_limits<T>::min() && wide <= std::numeric_limits<T>::max();
    value = static_cast<T>(wide);
    problem.wanted = cell_kind<T>();
  } else if constexpr (std::floating_point<T>) {
    double wide = 0;
    const bool number = json_number(node, wide);
    if constexpr (std::same_as<T, float>)
      value = json_float(node, wide);
    else
      value = static_cast<T>(wide);
    // As in CSV: neither infinite nor zero instead of a number that the field cannot hold.
    right =
        number && value >= std::numeric_limits<T>::lowest() && value <= std::numeric_limits<T>::max() && (value != 0 || wide == 0);
    problem.wanted = number ? "a number that fits its field" : "a number";
  } else if constexpr (std::same_as<T, std::string>) {
    std::string_view text;
    right = json_text(node, text);
    value.assign(text);
    problem.wanted = "a text";
  } else if constexpr (TimeField<T>) {
    std::string_view text;
    right = json_text(node, text) && parse_time(text, value);
    problem.wanted = cell_kind<T>();
  } else if constexpr (VectorTraits<T>::value) {
    struct Filling {
      T* values;
      JsonProblem* problem;
      bool right = true;
    } filling{&value, &problem};
    value.clear();
    right = json_each(node, &filling, [](void* self, JsonNode element) {
      auto* into = static_cast<Filling*>(self);
      typename VectorTraits<T>::Element one{};
      into->right = read_json_value(element, one, *into->problem);
      into->values->push_back(std::move(one));
      return into->right;
    });
    if (right && !filling.right) return false;
    problem.wanted = "an array";
  } else {
    return read_json(node, value, kFieldNames<T>, problem);
  }
  return right;
}

/// Instead of the name of a member: the field has its value already, from a directory. No text of JSON has these bytes.
inline constexpr std::string_view kGiven = "\xff";
inline bool is_given(std::string_view name) { return name == kGiven; }

/// The members of an object into the fields of a struct. A missing member is like one that is null.
template <class T>
bool read_json(JsonNode node, T& value, std::span<const std::string_view> names, JsonProblem& problem) {
  constexpr std::size_t kFields = kFieldCount<T>;
  struct Filling {
    T* value;
    JsonProblem* problem;
    std::span<const std::string_view> names;
    std::uint32_t seen = 0;
    bool right = true;

    bool read(std::size_t index, JsonNode member) {
      seen |= std::uint32_t{1} << index;
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        ((I == index && (right = read_json_value(member, std::get<I>(fields_of(*value)), *problem))) || ...);
      }
      (std::make_index_sequence<kFields>());
      if (!right) problem->member = std::string(names[index]) + (problem->member.empty() ? "" : ".") + problem->member;
      return right;
    }
  } filling{&value, &problem, names};
  const bool object = json_members(node, names, &filling, [](void* self, std::size_t index, JsonNode member) {
    return static_cast<Filling*>(self)->read(index, member);
  });
  if (!object) {
    problem.wanted = "an object";
    return false;
  }
  if (!filling.right) return false;
  const auto there_or_optional = [&]<class Field>(std::size_t index, Field& field) {
    if (is_given(names[index])) return true;
    if ((filling.seen >> index & 1) != 0) return true;
    if constexpr (kIsOptional<Field>) {
      field.reset();
      return true;
    } else {
      problem.member = names[index];
      problem.wanted = "there";
      return false;
    }
  };
  return [&]<std::size_t... I>(std::index_sequence<I...>) { return (there_or_optional(I, std::get<I>(fields_of(value))) && ...); }
  (std::make_index_sequence<kFields>());
}

using JsonRow = bool (*)(void* self, JsonNode line, JsonProblem& problem);

/// Parses one line after another. One thread.
class JsonLines {
 public:
  JsonLines();
  ~JsonLines();
  JsonLines(const JsonLines&) = delete;
  JsonLines& operator=(const JsonLines&) = delete;

  /// Calls row(self, value, problem) if the line is JSON. Returns what is wrong if it is not JSON, or row() returns false.
  std::optional<std::string> read(std::string_view line, void* self, JsonRow row);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

/// The lines of the splits of a task: calls enter(self, path) before those of a split, row(self, value) for each that is JSON, and
/// bad_record() for the others and where row() returns false.
void read_json_lines(TaskContext& context, void* self, void (*enter)(void* self, const std::string& path), JsonRow row);

struct JsonInput {
  std::vector<std::string> names;  // of the members
  bool hive_partitions = true;
};

/// The names of the fields' members. std::invalid_argument when two are the same.
std::vector<std::string> distinct_members(std::vector<std::string> names);
std::shared_ptr<const JsonInput> json_input(std::vector<std::string> names, const JsonFormat& format);

/// Sets a field to what a directory says; null: missing.
template <class Field>
void give(Field& field, const std::string* text) {
  if constexpr (kIsOptional<Field>) {
    field.reset();
    if (text != nullptr) give(field.emplace(), text);
  } else if constexpr (CellScalar<Field>) {
    if (text != nullptr) (void)read_cell(*text, field);  // that it fits was checked when the files were listed
  }
}

template <class T>
struct JsonSource {
  using Record = T;
  std::shared_ptr<const JsonInput> input;

  template <class Sink>
  void run(TaskContext& context, Sink&& sink) const {
    struct Reader {
      const JsonInput& input;
      std::remove_reference_t<Sink>* sink;
      std::vector<std::string_view> names{};
      T record{};
    } reader{*input, &sink};
    const auto enter = [](void* self, const std::string& path) {
      auto* own = static_cast<Reader*>(self);
      own->names.assign(own->input.names.begin(), own->input.names.end());
      if (!own->input.hive_partitions) return;
      visit_path_values(path, own->input.names, own, [](void* of, std::size_t index, const std::string* text) {
        static_cast<Reader*>(of)->names[index] = kGiven;
        [&]<std::size_t... I>(std::index_sequence<I...>) {
          ((I == index ? give(std::get<I>(fields_of(static_cast<Reader*>(of)->record)), text) : void()), ...);
        }
        (std::make_index_sequence<kFieldCount<T>>());
      });
    };
    read_json_lines(context, &reader, enter, [](void* self, JsonNode line, JsonProblem& problem) {
      auto* own = static_cast<Reader*>(self);
      if (!read_json(line, own->record, own->names, problem)) return false;
      (*own->sink)(T(own->record));
      return true;
    });
  }
};

/// In quotes; bytes that are not UTF-8 become U+FFFD.
void append_json_text(std::string& line, std::string_view text);
/// Turns what was appended from `begin` on into a number of JSON. It is the shortest digits that stand for `number` in its own
/// type.
void finish_json_number(std::string& line, std::size_t begin, double number);

template <class T>
void append_json_object(std::string& line, const T& value, const auto& names);

template <class T>
void append_json_value(std::string& line, const T& value) {
  if constexpr (kIsOptional<T>) {
    if (value)
      append_json_value(line, *value);
    else
      line.append("null");
  } else if constexpr (std::same_as<T, bool>) {
    line.append(value ? "true" : "false");
  } else if constexpr (std::floating_point<T>) {
    const std::size_t begin = line.size();
    LineFormat<T>::append(line, value);
    finish_json_number(line, begin, static_cast<double>(value));
  } else if constexpr (std::integral<T>) {
    line.append(std::to_string(value));
  } else if constexpr (VectorTraits<T>::value) {
    line.push_back('[');
    bool first = true;
    for (const auto& element : value) {
      if (!std::exchange(first, false)) line.push_back(',');
      append_json_value<typename VectorTraits<T>::Element>(line, element);
    }
    line.push_back(']');
  } else if constexpr (TimeField<T>) {
    line.push_back('"');
    LineFormat<T>::append(line, value);
    line.push_back('"');
  } else if constexpr (PlainAggregate<T>) {
    append_json_object(line, value, kFieldNames<T>);
  } else {
    append_json_text(line, value);
  }
}

template <class T>
void append_json_object(std::string& line, const T& value, const auto& names) {
  line.push_back('{');
  std::size_t at = 0;
  const auto member = [&](const auto& field) {
    if (at > 0) line.push_back(',');
    append_json_text(line, names[at++]);
    line.push_back(':');
    append_json_value(line, field);
  };
  std::apply([&](const auto&... field) { (member(field), ...); }, fields_of(value));
  line.push_back('}');
}

/// How rows become lines of JSON.
template <class T>
auto json_printer(const JsonFormat& format) {
  return [names = distinct_members(names_in_files(kFieldNames<T>, format.names))](std::string& buffer, const T& record) {
    append_json_object(buffer, record, names);
    buffer.push_back('\n');
  };
}

template <class D>
void write_json(const D& in, const std::string& path, std::string name, const JsonFormat& format,
                storage::Compression compression) {
  using T = typename D::Record;
  write_files(in, path, std::move(name), type_name<JsonSource<T>>(), json_printer<T>(format), compression);
}

}  // namespace weft::detail

namespace weft {

/// A plain struct, a vector, a number or a text as JSON, on one line, as write_json() writes it.
template <class T>
requires detail::IsJson<T>::value std::string to_json(const T& value) {
  std::string text;
  detail::append_json_value(text, value);
  return text;
}

}  // namespace weft
