#include "storage/parquet/arrow/conditions.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include <arrow/array/array_decimal.h>
#include <arrow/array/array_dict.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/decimal.h>
#include <parquet/bloom_filter.h>
#include <parquet/bloom_filter_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/statistics.h>

#include "storage/parquet/arrow/times.hpp"

namespace weft::storage::parquet {
namespace {

using ::arrow::Type;
using ::parquet::ColumnDescriptor;
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
  if (greatest < least) return true;  // of an order that is not this one
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

/// A column of a file, and the type that its values are read as.
struct Stored {
  const ColumnDescriptor& column;
  const ::arrow::DataType& type;

  const LogicalType* logical() const {
    const auto& logical = column.logical_type();
    return logical == nullptr || logical->is_none() ? nullptr : logical.get();
  }
  bool is_unsigned() const {
    return logical() != nullptr && logical()->is_int() && !static_cast<const ::parquet::IntLogicalType&>(*logical()).is_signed();
  }
};

std::optional<::arrow::TimeUnit::type> unit_of(LogicalType::TimeUnit::unit unit) {
  switch (unit) {
    case LogicalType::TimeUnit::MILLIS:
      return ::arrow::TimeUnit::MILLI;
    case LogicalType::TimeUnit::MICROS:
      return ::arrow::TimeUnit::MICRO;
    case LogicalType::TimeUnit::NANOS:
      return ::arrow::TimeUnit::NANO;
    default:
      return std::nullopt;
  }
}

/// That in which the column's whole numbers are stored: microseconds for what is no time, because these stay as they are. Nothing:
/// the numbers are not those that are read.
std::optional<::arrow::TimeUnit::type> unit_of(const Stored& stored) {
  const LogicalType* const logical = stored.logical();
  switch (stored.type.id()) {
    case Type::TIMESTAMP:
      if (logical == nullptr || !logical->is_timestamp()) return std::nullopt;
      return unit_of(static_cast<const ::parquet::TimestampLogicalType&>(*logical).time_unit());
    case Type::TIME32:
    case Type::TIME64:
      if (logical == nullptr || !logical->is_time()) return std::nullopt;
      return unit_of(static_cast<const ::parquet::TimeLogicalType&>(*logical).time_unit());
    case Type::DURATION:  // which Parquet does not know
      if (logical != nullptr && !logical->is_int()) return std::nullopt;
      return static_cast<const ::arrow::DurationType&>(stored.type).unit();
    case Type::DATE32:
    case Type::DATE64:
      return logical != nullptr && logical->is_date() ? std::optional(::arrow::TimeUnit::MICRO) : std::nullopt;
    default:
      return logical == nullptr || logical->is_int() ? std::optional(::arrow::TimeUnit::MICRO) : std::nullopt;
  }
}

/// A stored whole number as weft reads it: days, microseconds, or itself. Beyond all microseconds, the farthest.
template <class Number>
std::int64_t as_read(Number stored, bool is_unsigned, ::arrow::TimeUnit::type unit) {
  const std::int64_t value = is_unsigned ? static_cast<std::int64_t>(static_cast<std::make_unsigned_t<Number>>(stored)) : stored;
  return microseconds(value, unit).value_or(farthest(value));
}

/// Where both are exact.
std::optional<double> short_real(const ::arrow::Decimal256& digits, std::int32_t scale) {
  const auto& words = digits.little_endian_array();
  const auto low = static_cast<std::int64_t>(words[0]);
  for (std::size_t i = 1; i < words.size(); ++i)
    if (words[i] != static_cast<std::uint64_t>(low >> 63)) return std::nullopt;
  return short_decimal(low, scale);
}

bool may_hold_decimal(const Bound& bound, const Stored& stored, const ::arrow::Decimal256& least,
                      const ::arrow::Decimal256& greatest) {
  const std::int32_t scale = static_cast<const ::parquet::DecimalLogicalType&>(*stored.logical()).scale();
  if (!::arrow::is_decimal(stored.type.id()) || static_cast<const ::arrow::DecimalType&>(stored.type).scale() != scale) return true;
  if (const auto* const digits = std::get_if<::arrow::Decimal256>(&bound.value))
    return may_hold_between(bound.comparison, least, greatest, *digits);
  const auto* const real = std::get_if<double>(&bound.value);
  if (real == nullptr) return true;
  const auto low = short_real(least, scale), high = short_real(greatest, scale);
  return !low || !high || may_hold_between(bound.comparison, *low, *high, *real);
}

template <class Number>
bool may_hold_whole(const Bound& bound, const Stored& stored, Number least, Number greatest) {
  const LogicalType* const logical = stored.logical();
  if (logical != nullptr && logical->is_decimal())
    return may_hold_decimal(bound, stored, ::arrow::Decimal256(std::int64_t{least}), ::arrow::Decimal256(std::int64_t{greatest}));
  const auto unit = unit_of(stored);
  if (!unit) return true;
  if (const auto* const whole = std::get_if<std::int64_t>(&bound.value)) {
    const bool is_unsigned = stored.is_unsigned();
    return may_hold_between(bound.comparison, as_read(least, is_unsigned, *unit), as_read(greatest, is_unsigned, *unit), *whole);
  }
  const auto* const whole = std::get_if<std::uint64_t>(&bound.value);
  if (whole == nullptr || !stored.is_unsigned()) return true;
  return may_hold_between(bound.comparison, static_cast<std::uint64_t>(least), static_cast<std::uint64_t>(greatest), *whole);
}

bool may_hold_real(const Bound& bound, double least, double greatest) {
  const auto* const real = std::get_if<double>(&bound.value);
  if (real == nullptr || std::isnan(least) || std::isnan(greatest)) return true;
  return may_hold_between(bound.comparison, least, greatest, *real);
}

template <class T>
const auto& typed(const ::parquet::Statistics& statistics) {
  return static_cast<const ::parquet::TypedStatistics<T>&>(statistics);
}

bool statistics_leave_room(const Bound& bound, const Stored& stored, const ::parquet::Statistics& statistics) {
  if (!statistics.HasMinMax()) return true;
  const ColumnDescriptor& column = stored.column;
  const LogicalType* const logical = stored.logical();
  switch (column.physical_type()) {
    case ::parquet::Type::INT32: {
      const auto& of = typed<::parquet::Int32Type>(statistics);
      return may_hold_whole(bound, stored, of.min(), of.max());
    }
    case ::parquet::Type::INT64: {
      const auto& of = typed<::parquet::Int64Type>(statistics);
      return may_hold_whole(bound, stored, of.min(), of.max());
    }
    case ::parquet::Type::BOOLEAN: {
      const auto* const truth = std::get_if<Truth>(&bound.value);
      const auto& of = typed<::parquet::BooleanType>(statistics);
      return truth == nullptr || may_hold_between<int>(bound.comparison, of.min(), of.max(), truth->value);
    }
    case ::parquet::Type::FLOAT: {
      const auto& of = typed<::parquet::FloatType>(statistics);
      return may_hold_real(bound, of.min(), of.max());
    }
    case ::parquet::Type::DOUBLE: {
      const auto& of = typed<::parquet::DoubleType>(statistics);
      return may_hold_real(bound, of.min(), of.max());
    }
    case ::parquet::Type::FIXED_LEN_BYTE_ARRAY: {
      if (logical == nullptr || !logical->is_decimal() || column.sort_order() != ::parquet::SortOrder::SIGNED) return true;
      const auto& of = typed<::parquet::FLBAType>(statistics);
      const auto low = ::arrow::Decimal256::FromBigEndian(of.min().ptr, column.type_length());
      const auto high = ::arrow::Decimal256::FromBigEndian(of.max().ptr, column.type_length());
      return !low.ok() || !high.ok() || may_hold_decimal(bound, stored, *low, *high);
    }
    case ::parquet::Type::BYTE_ARRAY: {
      const auto* const text = std::get_if<std::string>(&bound.value);
      if (text == nullptr || column.sort_order() != ::parquet::SortOrder::UNSIGNED) return true;
      if (logical != nullptr && !logical->is_string()) return true;
      const auto& of = typed<::parquet::ByteArrayType>(statistics);
      return may_hold_between(bound.comparison, std::string_view(of.min()), std::string_view(of.max()), std::string_view(*text));
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

/// Its rows that have no value, or one for which the comparison does not hold, lose their marks.
void keep_decimals(Comparison comparison, const ::arrow::Array& array, const ::arrow::Decimal256& bound,
                   std::span<std::uint8_t> wanted) {
  const auto keep_if = [&](auto row_holds) {
    for (std::size_t row = 0; row < wanted.size(); ++row)
      if (array.IsNull(static_cast<std::int64_t>(row)) || !row_holds(static_cast<std::int64_t>(row))) wanted[row] = 0;
  };
  const auto narrow = [&](auto value_of) {  // to 128 bits, which hold the bounds of such columns, too
    const auto& words = bound.little_endian_array();
    const ::arrow::Decimal128 narrow_bound(static_cast<std::int64_t>(words[1]), words[0]);
    keep_if([&](std::int64_t row) { return holds(comparison, ::arrow::Decimal128(value_of(row)), narrow_bound); });
  };
  switch (array.type_id()) {
    case Type::EXTENSION:
      return keep_decimals(comparison, *static_cast<const ::arrow::ExtensionArray&>(array).storage(), bound, wanted);
    case Type::DICTIONARY: {
      const auto& indices = static_cast<const ::arrow::DictionaryArray&>(array);
      std::vector<std::uint8_t> values(static_cast<std::size_t>(indices.dictionary()->length()), 1);
      keep_decimals(comparison, *indices.dictionary(), bound, values);
      return keep_if([&](std::int64_t row) { return values[static_cast<std::size_t>(indices.GetValueIndex(row))] != 0; });
    }
    case Type::DECIMAL32:
      return narrow([&](std::int64_t row) { return static_cast<const ::arrow::Decimal32Array&>(array).Value(row); });
    case Type::DECIMAL64:
      return narrow([&](std::int64_t row) { return static_cast<const ::arrow::Decimal64Array&>(array).Value(row); });
    case Type::DECIMAL128:
      return narrow([&](std::int64_t row) { return static_cast<const ::arrow::Decimal128Array&>(array).GetValue(row); });
    default:
      return keep_if([&](std::int64_t row) {
        return holds(comparison, ::arrow::Decimal256(static_cast<const ::arrow::Decimal256Array&>(array).GetValue(row)), bound);
      });
  }
}

/// The whole number that is stored for the bound; nothing where there may be none, or more than one.
std::optional<std::int64_t> stored_for(const Bound& bound, const Stored& stored) {
  if (unit_of(stored) != ::arrow::TimeUnit::MICRO) return std::nullopt;
  if (const auto* const whole = std::get_if<std::uint64_t>(&bound.value)) return static_cast<std::int64_t>(*whole);
  const auto* const whole = std::get_if<std::int64_t>(&bound.value);
  return whole == nullptr ? std::nullopt : std::optional(*whole);
}

bool bloom_filter_leaves_room(const Bound& bound, const Stored& stored, const ::parquet::BloomFilter& filter) {
  if (const auto* const text = std::get_if<std::string>(&bound.value)) {
    if (stored.column.physical_type() != ::parquet::Type::BYTE_ARRAY) return true;
    return filter.FindHash(filter.Hash(std::string_view(*text)));
  }
  const auto whole = stored_for(bound, stored);
  if (!whole) return true;
  if (stored.column.physical_type() == ::parquet::Type::INT64) return filter.FindHash(filter.Hash(*whole));
  if (stored.column.physical_type() != ::parquet::Type::INT32) return true;
  const auto number = static_cast<std::int32_t>(*whole);
  if (as_read(number, stored.is_unsigned(), ::arrow::TimeUnit::MICRO) != *whole) return false;  // none of 32 bits
  return filter.FindHash(filter.Hash(number));
}

/// That of the values themselves.
std::shared_ptr<::arrow::DataType> plain_type(std::shared_ptr<::arrow::DataType> type) {
  for (;;) {
    if (type->id() == Type::EXTENSION)
      type = static_cast<const ::arrow::ExtensionType&>(*type).storage_type();
    else if (type->id() == Type::DICTIONARY)
      type = static_cast<const ::arrow::DictionaryType&>(*type).value_type();
    else
      return type;
  }
}

}  // namespace

Result<Predicate> Predicate::on(const ::parquet::arrow::SchemaField& column, const Condition& condition, const std::string& path) {
  Predicate made;
  made.type_ = plain_type(column.field->type());
  made.column_ = column.column_index;
  WEFT_ASSIGN(made.bound_, bound_of(condition, *made.type_, path));
  made.shape_ = {condition.column, compared_kind(*made.type_).value(), 64, true, {}};
  return made;
}

bool Predicate::may_hold(::parquet::ParquetFileReader& file, int row_group) const {
  if (const auto* const always = std::get_if<Always>(&bound_.value); always != nullptr && !always->holds) return false;
  const auto metadata = file.metadata();
  const auto chunk = metadata->RowGroup(row_group)->ColumnChunk(column_);
  const Stored stored{*metadata->schema()->Column(column_), *type_};
  const auto statistics = chunk->is_stats_set() ? chunk->statistics() : nullptr;
  if (statistics != nullptr && statistics->HasNullCount() && statistics->null_count() == chunk->num_values()) return false;
  if (statistics != nullptr && !statistics_leave_room(bound_, stored, *statistics)) return false;
  if (bound_.comparison != Comparison::equal || !chunk->bloom_filter_offset()) return true;
  const auto group = file.GetBloomFilterReader().RowGroup(row_group);
  const std::unique_ptr<::parquet::BloomFilter> filter = group ? group->GetColumnBloomFilter(column_) : nullptr;
  return filter == nullptr || bloom_filter_leaves_room(bound_, stored, *filter);
}

void Predicate::take(const std::shared_ptr<::arrow::Array>& values) {
  if (std::holds_alternative<::arrow::Decimal256>(bound_.value))
    decimals_ = values;
  else
    values_.take(shape_, values);
}

void Predicate::keep_where(std::span<std::uint8_t> wanted) const {
  if (const auto* const digits = std::get_if<::arrow::Decimal256>(&bound_.value))
    return keep_decimals(bound_.comparison, *decimals_, *digits, wanted);
  const Column& column = values_.column();
  const Comparison comparison = bound_.comparison;
  if (const auto* const text = std::get_if<std::string>(&bound_.value))
    keep(comparison, column.texts, std::string_view(*text), wanted);
  else if (const auto* const truth = std::get_if<Truth>(&bound_.value))
    keep(comparison, column.booleans, static_cast<std::uint8_t>(truth->value), wanted);
  else if (const auto* const real = std::get_if<double>(&bound_.value))
    keep(comparison, column.real_numbers, *real, wanted);
  else if (const auto* const whole = std::get_if<std::int64_t>(&bound_.value))
    keep(comparison, column.signed_numbers, *whole, wanted);
  else if (const auto* const natural = std::get_if<std::uint64_t>(&bound_.value))
    keep(comparison, column.unsigned_numbers, *natural, wanted);
  else if (!std::get<Always>(bound_.value).holds)
    std::fill(wanted.begin(), wanted.end(), std::uint8_t{0});
  for (std::size_t row = 0; row < column.presence.size(); ++row)
    if (column.presence[row] == Presence::missing) wanted[row] = 0;
}

}  // namespace weft::storage::parquet
