#include "storage/parquet/arrow/conditions.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>

#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <parquet/bloom_filter.h>
#include <parquet/bloom_filter_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>

#include "storage/parquet/arrow/array_columns.hpp"
#include "storage/parquet/arrow/times.hpp"

namespace weft::storage::parquet {
namespace {

using ::parquet::LogicalType;

template <class T>
bool holds(Comparison comparison, const T& value, const T& bound) {
  switch (comparison) {
    case Comparison::equal:
      return value == bound;
    case Comparison::not_equal:
      return value != bound;
    case Comparison::less:
      return value < bound;
    case Comparison::less_or_equal:
      return value <= bound;
    case Comparison::greater:
      return value > bound;
    default:
      return value >= bound;
  }
}

/// Of values from `least` to `greatest`, both of which may be farther out than any value.
template <class T>
bool may_hold_between(Comparison comparison, const T& least, const T& greatest, const T& bound) {
  switch (comparison) {
    case Comparison::equal:
      return least <= bound && bound <= greatest;
    case Comparison::not_equal:
      return true;  // `least` and `greatest` may not be values
    case Comparison::less:
    case Comparison::less_or_equal:
      return holds(comparison, least, bound);
    default:
      return holds(comparison, greatest, bound);
  }
}

/// A stored whole number as weft reads it: days, microseconds, or itself. Nothing where the order or the unit is another one.
std::optional<std::int64_t> as_read(std::int64_t stored, const ::parquet::ColumnDescriptor& column) {
  const auto& logical = column.logical_type();
  if (logical == nullptr || logical->is_none()) return stored;
  if (logical->is_int()) {
    if (static_cast<const ::parquet::IntLogicalType&>(*logical).is_signed() || stored >= 0) return stored;
    return std::nullopt;
  }
  if (logical->is_date()) return stored;
  const auto in_unit = [&](LogicalType::TimeUnit::unit unit) -> std::optional<std::int64_t> {
    switch (unit) {
      case LogicalType::TimeUnit::MILLIS:
        return microseconds(stored, ::arrow::TimeUnit::MILLI);
      case LogicalType::TimeUnit::MICROS:
        return stored;
      case LogicalType::TimeUnit::NANOS:
        return microseconds(stored, ::arrow::TimeUnit::NANO);
      default:
        return std::nullopt;
    }
  };
  if (logical->is_timestamp()) return in_unit(static_cast<const ::parquet::TimestampLogicalType&>(*logical).time_unit());
  if (logical->is_time()) return in_unit(static_cast<const ::parquet::TimeLogicalType&>(*logical).time_unit());
  return std::nullopt;
}

/// The digits of a decimal that is stored as big-endian bytes. Nothing: more than fit.
std::optional<std::int64_t> digits_of(const ::parquet::FixedLenByteArray& bytes, int length) {
  if (length < 1 || length > 8) return std::nullopt;
  std::int64_t digits = (bytes.ptr[0] & 0x80) != 0 ? -1 : 0;
  for (int i = 0; i < length; ++i) digits = static_cast<std::int64_t>(static_cast<std::uint64_t>(digits) << 8 | bytes.ptr[i]);
  return digits;
}

bool may_hold_decimal(const Condition& condition, const LogicalType& logical, std::optional<std::int64_t> least,
                      std::optional<std::int64_t> greatest) {
  if (condition.kind != Kind::real_number || !least || !greatest) return true;
  const std::int32_t scale = static_cast<const ::parquet::DecimalLogicalType&>(logical).scale();
  const auto low = short_decimal(*least, scale), high = short_decimal(*greatest, scale);
  return !low || !high || may_hold_between(condition.comparison, *low, *high, condition.real);
}

bool may_hold_whole(const Condition& condition, const ::parquet::ColumnDescriptor& column, std::int64_t least,
                    std::int64_t greatest) {
  const auto& logical = column.logical_type();
  if (logical != nullptr && logical->is_decimal()) return may_hold_decimal(condition, *logical, least, greatest);
  const auto low = as_read(least, column), high = as_read(greatest, column);
  if (!low || !high) return true;
  if (condition.kind == Kind::signed_number) return may_hold_between(condition.comparison, *low, *high, condition.whole);
  if (condition.kind != Kind::real_number) return true;
  return may_hold_between(condition.comparison, static_cast<double>(*low), static_cast<double>(*high), condition.real);
}

bool may_hold_real(const Condition& condition, double least, double greatest) {
  if (condition.kind != Kind::real_number || std::isnan(least) || std::isnan(greatest)) return true;
  return may_hold_between(condition.comparison, least, greatest, condition.real);
}

template <class T>
const auto& typed(const ::parquet::Statistics& statistics) {
  return static_cast<const ::parquet::TypedStatistics<T>&>(statistics);
}

bool statistics_leave_room(const Condition& condition, const ::parquet::ColumnDescriptor& column,
                           const ::parquet::Statistics& statistics) {
  if (!statistics.HasMinMax()) return true;
  switch (column.physical_type()) {
    case ::parquet::Type::INT32: {
      const auto& of = typed<::parquet::Int32Type>(statistics);
      return may_hold_whole(condition, column, of.min(), of.max());
    }
    case ::parquet::Type::INT64: {
      const auto& of = typed<::parquet::Int64Type>(statistics);
      return may_hold_whole(condition, column, of.min(), of.max());
    }
    case ::parquet::Type::FLOAT: {
      const auto& of = typed<::parquet::FloatType>(statistics);
      return may_hold_real(condition, of.min(), of.max());
    }
    case ::parquet::Type::DOUBLE: {
      const auto& of = typed<::parquet::DoubleType>(statistics);
      return may_hold_real(condition, of.min(), of.max());
    }
    case ::parquet::Type::FIXED_LEN_BYTE_ARRAY: {
      const auto& logical = column.logical_type();
      if (logical == nullptr || !logical->is_decimal() || column.sort_order() != ::parquet::SortOrder::SIGNED) return true;
      const auto& of = typed<::parquet::FLBAType>(statistics);
      return may_hold_decimal(condition, *logical, digits_of(of.min(), column.type_length()),
                              digits_of(of.max(), column.type_length()));
    }
    case ::parquet::Type::BYTE_ARRAY: {
      if (condition.kind != Kind::text || column.sort_order() != ::parquet::SortOrder::UNSIGNED) return true;
      const auto& logical = column.logical_type();
      if (logical != nullptr && !logical->is_none() && !logical->is_string()) return true;
      const auto& of = typed<::parquet::ByteArrayType>(statistics);
      return may_hold_between(condition.comparison, std::string_view(of.min()), std::string_view(of.max()),
                              std::string_view(condition.text));
    }
    default:
      return true;
  }
}

/// Each comparison has a loop of its own, which the compiler makes of vector instructions. What is there of a missing value does
/// not matter.
template <class Values, class T>
void keep(Comparison comparison, const Values& values, const T& bound, std::span<std::uint8_t> wanted) {
  const auto keep_if = [&](auto holds) {
    for (std::size_t row = 0; row < wanted.size(); ++row)
      wanted[row] = static_cast<std::uint8_t>(wanted[row] & static_cast<std::uint8_t>(holds(values[row])));
  };
  switch (comparison) {
    case Comparison::equal:
      return keep_if([&](const T& value) { return value == bound; });
    case Comparison::not_equal:
      return keep_if([&](const T& value) { return value != bound; });
    case Comparison::less:
      return keep_if([&](const T& value) { return value < bound; });
    case Comparison::less_or_equal:
      return keep_if([&](const T& value) { return value <= bound; });
    case Comparison::greater:
      return keep_if([&](const T& value) { return value > bound; });
    default:
      return keep_if([&](const T& value) { return value >= bound; });
  }
}

bool bloom_filter_leaves_room(const Condition& condition, const ::parquet::ColumnDescriptor& column,
                              const ::parquet::BloomFilter& filter) {
  if (condition.kind == Kind::text) {
    if (column.physical_type() != ::parquet::Type::BYTE_ARRAY) return true;
    return filter.FindHash(filter.Hash(std::string_view(condition.text)));
  }
  const std::int64_t whole = condition.whole;
  if (condition.kind != Kind::signed_number || as_read(whole, column) != whole) return true;
  if (column.physical_type() == ::parquet::Type::INT64) return filter.FindHash(filter.Hash(whole));
  if (column.physical_type() != ::parquet::Type::INT32) return true;
  if (whole < std::numeric_limits<std::int32_t>::min() || whole > std::numeric_limits<std::int32_t>::max()) return true;
  return filter.FindHash(filter.Hash(static_cast<std::int32_t>(whole)));
}

}  // namespace

void adapt(Condition& condition, const ::arrow::DataType& type) {
  if (condition.kind == Kind::signed_number && (::arrow::is_floating(type.id()) || ::arrow::is_decimal(type.id()))) {
    condition.kind = Kind::real_number;
    condition.real = static_cast<double>(condition.whole);
  }
  const bool day = ::arrow::is_date(type.id());
  if (condition.kind != Kind::text || (!day && type.id() != ::arrow::Type::TIMESTAMP)) return;
  if (const auto moment = microseconds_of(condition.text)) {
    condition.kind = Kind::signed_number;
    condition.whole = day ? days_of_milliseconds(*moment / 1000) : *moment;
  }
}

Shape shape_of(const Condition& condition) { return {condition.column, condition.kind, 64, true, {}}; }

bool may_hold(const Condition& condition, ::parquet::ParquetFileReader& file, int row_group) {
  const auto metadata = file.metadata();
  const auto* schema = metadata->schema();
  const int at = schema->ColumnIndex(condition.column);
  if (at < 0 || schema->Column(at)->max_repetition_level() != 0) return true;
  const ::parquet::ColumnDescriptor& column = *schema->Column(at);
  const auto chunk = metadata->RowGroup(row_group)->ColumnChunk(at);
  const auto statistics = chunk->is_stats_set() ? chunk->statistics() : nullptr;
  if (statistics != nullptr && statistics->HasNullCount() && statistics->null_count() == chunk->num_values()) return false;
  if (statistics != nullptr && !statistics_leave_room(condition, column, *statistics)) return false;
  if (condition.comparison != Comparison::equal || !chunk->bloom_filter_offset()) return true;
  const auto group = file.GetBloomFilterReader().RowGroup(row_group);
  const std::unique_ptr<::parquet::BloomFilter> filter = group ? group->GetColumnBloomFilter(at) : nullptr;
  return filter == nullptr || bloom_filter_leaves_room(condition, column, *filter);
}

void keep_where(const Condition& condition, const Column& column, std::span<std::uint8_t> wanted) {
  if (condition.kind == Kind::text)
    keep(condition.comparison, column.texts, std::string_view(condition.text), wanted);
  else if (condition.kind == Kind::real_number)
    keep(condition.comparison, column.real_numbers, condition.real, wanted);
  else
    keep(condition.comparison, column.signed_numbers, condition.whole, wanted);
  for (std::size_t row = 0; row < column.presence.size(); ++row)
    if (column.presence[row] != Presence::there) wanted[row] = 0;
}

}  // namespace weft::storage::parquet
