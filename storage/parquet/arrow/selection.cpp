#include "storage/parquet/arrow/selection.hpp"

#include <arrow/type.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "storage/parquet/arrow/array_columns.hpp"

namespace weft::storage::parquet {
namespace {

using ::parquet::arrow::SchemaField;

constexpr std::size_t kMostNamed = 20;

std::string names_of(const std::vector<SchemaField>& fields) {
  std::string text;
  for (std::size_t i = 0; i < fields.size() && i < kMostNamed; ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", fields[i].field->name());
  return fields.size() > kMostNamed ? fmt::format("{} and {} more", text, fields.size() - kMostNamed) : text;
}

class Selecting {
 public:
  explicit Selecting(const std::string& path) : path_(path) {}
  std::vector<int> leaves;

  /// The place of the field of that name.
  Result<int> find(const std::vector<SchemaField>& fields, const std::string& name, const std::string& where) const {
    int found = -1;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].field->name() != name) continue;
      if (found >= 0) return fail(Code::invalid_argument, fmt::format("{}: there is more than one column '{}'", path_, where));
      found = static_cast<int>(i);
    }
    if (found < 0)
      return fail(
          Code::invalid_argument,
          fmt::format(
              "{}: there is no column '{}' among {}; name the struct's fields like the columns, or use ParquetFormat::names", path_,
              where, names_of(fields)));
    return found;
  }

  /// `where`: "order.price"
  Result<void> take(const Shape& shape, const SchemaField& field, const std::string& where) {
    if (!fits(shape, *field.field->type()))
      return fail(Code::invalid_argument, fmt::format("{}: column '{}' is of type {}, and the struct wants {}", path_, where,
                                                      field.field->type()->ToString(), words_of(shape)));
    if (field.is_leaf()) {
      leaves.push_back(field.column_index);
      return {};
    }
    if (shape.kind == Kind::record) {
      for (const Shape& member : shape.children) {
        WEFT_ASSIGN(const int at, find(field.children, member.name, where + "." + member.name));
        WEFT_TRY(take(member, field.children[static_cast<std::size_t>(at)], where + "." + member.name));
      }
      return {};
    }
    return take(shape.children[0], field.children[0], where + "[]");
  }

 private:
  const std::string& path_;
};

}  // namespace

std::string words_of(const Shape& shape) {
  switch (shape.kind) {
    case Kind::boolean:
      return "true or false";
    case Kind::signed_number:
      if (shape.calendar != Calendar::none) return shape.calendar == Calendar::day ? "a date" : "a timestamp";
      return fmt::format("a {}-bit whole number", shape.bits);
    case Kind::unsigned_number:
      return fmt::format("a {}-bit whole number from 0 on", shape.bits);
    case Kind::real_number:
      return "a number";
    case Kind::text:
      return "a text";
    case Kind::list:
      return "a list";
    default:
      return "a record";
  }
}

Result<Selection> select(const Shape& row, const ::parquet::arrow::SchemaManifest& file, const std::string& path) {
  Selection selection;
  Selecting selecting(path);
  for (const Shape& column : row.children) {
    WEFT_ASSIGN(const int at, selecting.find(file.schema_fields, column.name, column.name));
    selection.columns.push_back(at);
    WEFT_TRY(selecting.take(column, file.schema_fields[static_cast<std::size_t>(at)], column.name));
  }
  selection.leaves = std::move(selecting.leaves);
  return selection;
}

}  // namespace weft::storage::parquet
