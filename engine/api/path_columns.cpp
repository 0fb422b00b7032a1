#include "engine/api/path_columns.hpp"

#include <algorithm>

#include "engine/api/path_choice.hpp"
#include "storage/partition_path.hpp"

namespace weft::detail {
namespace {

/// The texts are those of path_values(), which the driver has checked.
template <class T>
T value_in(const std::string& text) {
  T value{};
  (void)read_cell(text, value);
  return value;
}

std::int64_t signed_in(pq::Calendar calendar, const std::string& text) {
  if (calendar == pq::Calendar::day) return value_in<Date>(text).days;
  if (calendar == pq::Calendar::moment) return value_in<Timestamp>(text).microseconds;
  return value_in<std::int64_t>(text);
}

}  // namespace

PathColumns::PathColumns(const ParquetInput& input, const std::string& path) {
  std::vector<std::string> names;
  for (const pq::Shape& field : input.row.children) names.push_back(field.name);
  std::vector<PathValue> values;
  std::vector<storage::PartitionValue> keys;
  if (input.hive_partitions) {
    values = path_values(path, names);
    keys = storage::partition_values(path);
  }
  for (std::size_t field = 0; field < names.size(); ++field) {
    const auto given = std::find_if(values.begin(), values.end(), [&](const PathValue& value) { return value.field == field; });
    if (given == values.end())
      in_file_.children.push_back(input.row.children[field]);
    else
      columns_.push_back({field, input.row.children[field], std::move(given->text)});
  }
  for (const pq::Condition& condition : input.where) {
    const auto of_directory = [&](const storage::PartitionValue& key) { return key.key == condition.column; };
    if (std::none_of(keys.begin(), keys.end(), of_directory)) where_.push_back(condition);
  }
}

pq::Batch PathColumns::with(const pq::Batch& batch) {
  if (batch.rows > filled_) {
    filled_ = batch.rows;
    for (Constant& column : columns_) column.fill(filled_);
  }
  pq::Batch whole{batch.rows, batch.columns, batch.wanted};
  for (const Constant& column : columns_)
    whole.columns.insert(whole.columns.begin() + static_cast<std::ptrdiff_t>(column.field), column.column());
  return whole;
}

void PathColumns::Constant::fill(std::size_t rows) {
  if (!text) return presence.assign(rows, pq::Presence::missing);
  switch (shape.kind) {
    case pq::Kind::boolean:
      return booleans.assign(rows, value_in<bool>(*text) ? 1 : 0);
    case pq::Kind::signed_number:
      return signed_numbers.assign(rows, signed_in(shape.calendar, *text));
    case pq::Kind::unsigned_number:
      return unsigned_numbers.assign(rows, value_in<std::uint64_t>(*text));
    case pq::Kind::real_number:
      return real_numbers.assign(rows, shape.bits == 32 ? value_in<float>(*text) : value_in<double>(*text));
    case pq::Kind::text:
      return texts.assign(rows, *text);
    default:
      return;  // refused on the driver
  }
}

}  // namespace weft::detail
