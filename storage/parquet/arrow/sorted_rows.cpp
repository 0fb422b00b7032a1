#include "storage/parquet/arrow/sorted_rows.hpp"

#include <cmath>

namespace weft::storage::parquet {
namespace {

constexpr std::string_view kDescending = " desc";

/// How many columns a field is in the file.
std::int32_t leaves_of(const Shape& shape) {
  if (shape.kind != Kind::list && shape.kind != Kind::record) return 1;
  std::int32_t leaves = 0;
  for (const Shape& child : shape.children) leaves += leaves_of(child);
  return leaves;
}

template <class T>
int order_of(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int order_of_real(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return order_of(std::isnan(a), std::isnan(b));
  return order_of(a, b);
}

}  // namespace

Result<void> SortedRows::begin(const Shape& row, const std::vector<std::string>& sorted_by) {
  for (const std::string& words : sorted_by) {
    Key key;
    key.descending = words.ends_with(kDescending);
    const std::string name = key.descending ? words.substr(0, words.size() - kDescending.size()) : words;
    while (key.column < row.children.size() && row.children[key.column].name != name)
      key.leaf += leaves_of(row.children[key.column++]);
    if (key.column == row.children.size())
      return fail(Code::invalid_argument, "ParquetFormat::sorted_by: there is no column '" + name + "'");
    key.kind = row.children[key.column].kind;
    if (key.kind == Kind::list || key.kind == Kind::record)
      return fail(Code::invalid_argument,
                  "ParquetFormat::sorted_by: column '" + name + "' has lists or structs, which have no order");
    keys_.push_back(key);
    words_ += (words_.empty() ? "" : ", ") + words;
  }
  return {};
}

std::vector<::parquet::SortingColumn> SortedRows::columns() const {
  std::vector<::parquet::SortingColumn> columns;
  for (const Key& key : keys_) columns.push_back({key.leaf, key.descending, !key.descending});
  return columns;
}

SortedRows::Value SortedRows::value_at(const Key& key, const Batch& batch, std::size_t row) {
  const Column& column = batch.columns[key.column];
  Value value;
  value.there = column.at(row) == Presence::there;
  if (!value.there) return value;
  switch (key.kind) {
    case Kind::boolean:
      value.natural = column.booleans[row];
      return value;
    case Kind::unsigned_number:
      value.natural = column.unsigned_numbers[row];
      return value;
    case Kind::signed_number:
      value.whole = column.signed_numbers[row];
      return value;
    case Kind::real_number:
      value.real = column.real_numbers[row];
      return value;
    default:
      value.text = column.texts[row];
      return value;
  }
}

int SortedRows::compared(const Key& key, const Value& a, const Value& b) {
  int order = 0;
  if (!a.there || !b.there)
    order = order_of(a.there, b.there);
  else if (key.kind == Kind::signed_number)
    order = order_of(a.whole, b.whole);
  else if (key.kind == Kind::real_number)
    order = order_of_real(a.real, b.real);
  else if (key.kind == Kind::text)
    order = order_of(a.text, b.text);
  else
    order = order_of(a.natural, b.natural);
  return key.descending ? -order : order;
}

/// The same as the loop of follows(), for most files: one column, of which all values are there.
bool SortedRows::is_sorted(const Key& key, const Batch& batch) {
  const Column& column = batch.columns[key.column];
  const auto sorted = [&](const auto& values) {
    for (std::size_t row = 1; row < batch.rows; ++row)
      if (key.descending ? values[row - 1] < values[row] : values[row] < values[row - 1]) return false;
    return true;
  };
  if (key.kind == Kind::signed_number) return sorted(column.signed_numbers);
  return key.kind == Kind::unsigned_number ? sorted(column.unsigned_numbers) : sorted(column.texts);
}

bool SortedRows::follows(const Batch& batch) {
  if (keys_.empty() || batch.rows == 0) return true;
  const bool simple = keys_.size() == 1 && batch.columns[keys_[0].column].presence.empty() && keys_[0].kind != Kind::real_number &&
                      keys_[0].kind != Kind::boolean;
  if (simple && !is_sorted(keys_[0], batch)) return false;
  for (std::size_t row = 0; row < (simple ? 1 : batch.rows); ++row) {
    if (row == 0 && last_.empty()) continue;
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const Value before = row == 0 ? last_[i] : value_at(keys_[i], batch, row - 1);
      const int order = compared(keys_[i], before, value_at(keys_[i], batch, row));
      if (order > 0) return false;
      if (order < 0) break;
    }
  }
  remember(batch);
  return true;
}

void SortedRows::remember(const Batch& batch) {
  last_.resize(keys_.size());
  texts_.resize(keys_.size());
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    last_[i] = value_at(keys_[i], batch, batch.rows - 1);
    texts_[i] = last_[i].text;
    last_[i].text = texts_[i];
  }
}

}  // namespace weft::storage::parquet
