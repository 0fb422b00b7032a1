#include "storage/parquet/arrow/describe.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/metadata.h>

#include "storage/parquet/arrow/array_columns.hpp"
#include "storage/parquet/arrow/files.hpp"
#include "storage/parquet/arrow/reader.hpp"
#include "storage/parquet/arrow/status.hpp"

namespace weft::storage::parquet {
namespace {

using ::arrow::Type;

std::optional<Shape> shape_of(const ::arrow::Field& field);

std::uint8_t bits_of(const ::arrow::DataType& type) { return static_cast<std::uint8_t>(type.bit_width()); }

std::optional<Shape> list_of(const ::arrow::DataType& type) {
  const auto element = shape_of(*static_cast<const ::arrow::BaseListType&>(type).value_field());
  if (!element) return std::nullopt;
  return Shape{{}, Kind::list, 64, false, {*element}};
}

std::optional<Shape> record_of(const ::arrow::DataType& type) {
  Shape record;
  for (const auto& member : type.fields())
    if (auto shape = shape_of(*member)) record.children.push_back(std::move(*shape));
  if (record.children.empty()) return std::nullopt;
  return record;
}

std::optional<Shape> shape_of(const ::arrow::DataType& type) {
  if (type.id() == Type::DICTIONARY) return shape_of(*static_cast<const ::arrow::DictionaryType&>(type).value_type());
  if (type.id() == Type::EXTENSION) return shape_of(*static_cast<const ::arrow::ExtensionType&>(type).storage_type());
  if (::arrow::is_list_like(type.id())) return list_of(type);
  if (type.id() == Type::STRUCT) return record_of(type);
  const Shape candidates[] = {
      {{}, Kind::boolean, 8},
      {{}, Kind::signed_number, 32, false, {}, Calendar::day},
      {{}, Kind::signed_number, 64, false, {}, Calendar::moment},
      {{},
       ::arrow::is_unsigned_integer(type.id()) ? Kind::unsigned_number : Kind::signed_number,
       ::arrow::is_integer(type.id()) ? bits_of(type) : std::uint8_t{64}},
      {{}, Kind::real_number, type.id() == Type::FLOAT || type.id() == Type::HALF_FLOAT ? std::uint8_t{32} : std::uint8_t{64}},
      {{}, Kind::text},
  };
  for (const Shape& candidate : candidates)
    if (fits(candidate, type)) return candidate;
  return std::nullopt;
}

std::optional<Shape> shape_of(const ::arrow::Field& field) {
  auto shape = shape_of(*field.type());
  if (shape) {
    shape->name = field.name();
    shape->optional = field.nullable();
  }
  return shape;
}

}  // namespace

Result<Contents> contents_of(std::unique_ptr<Source> source, const std::string& path) {
  KeptError kept;
  std::unique_ptr<::parquet::arrow::FileReader> file;
  WEFT_TRY(open_file(std::move(source), path, kept, file));
  Contents contents;
  const auto metadata = file->parquet_reader()->metadata();
  contents.rows = static_cast<std::uint64_t>(std::max<std::int64_t>(metadata->num_rows(), 0));
  contents.row_groups = static_cast<std::uint64_t>(metadata->num_row_groups());
  for (const auto& column : file->manifest().schema_fields) {
    auto shape = shape_of(*column.field);
    if (!shape) {
      contents.left_out.push_back(column.field->name());
      continue;
    }
    contents.types.push_back(column.field->type()->ToString());
    contents.row.children.push_back(std::move(*shape));
  }
  return contents;
}

}  // namespace weft::storage::parquet
