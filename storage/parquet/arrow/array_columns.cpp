#include "storage/parquet/arrow/array_columns.hpp"

#include <array>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>

#include <arrow/array/array_dict.h>
#include <arrow/array/array_nested.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>
#include <arrow/util/float16.h>

#include "storage/parquet/arrow/times.hpp"

namespace weft::storage::parquet {
namespace {

using ::arrow::Type;

bool is_number(Kind kind) { return kind == Kind::signed_number || kind == Kind::unsigned_number || kind == Kind::real_number; }

}  // namespace

std::optional<double> short_decimal(std::int64_t digits, std::int32_t scale) {
  static constexpr std::array<double, 23> kPowers = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  if (digits > kExact || digits < -kExact || scale < 0 || scale > 22) return std::nullopt;
  return static_cast<double>(digits) / kPowers[static_cast<std::size_t>(scale)];
}

namespace {

/// The nearest double, which Arrow's own conversion does not always give.
template <class Decimal>
double real_of(const Decimal& value, std::int32_t scale) {
  if constexpr (requires { value.template ToInteger<std::int64_t>(); }) {
    const auto whole = value.template ToInteger<std::int64_t>();
    if (whole.ok())
      if (const auto exact = short_decimal(*whole, scale)) return *exact;
  }
  const std::string text = value.ToString(scale);
  double nearest = 0;
  std::from_chars(text.data(), text.data() + text.size(), nearest);
  return nearest;
}

/// Of at most 15 digits by their type: then the first eight bytes have them, and the others only the sign. Nobody makes a writer
/// keep to that, so values of more digits are read as well. A missing value may be anything.
void take_short_decimals(const ::arrow::Decimal128Array& decimals, std::int32_t scale, std::span<double> into) {
  for (std::size_t row = 0; row < into.size(); ++row) {
    const std::uint8_t* const value = decimals.GetValue(static_cast<std::int64_t>(row));
    std::int64_t digits = 0, above = 0;
    std::memcpy(&digits, value, sizeof digits);
    std::memcpy(&above, value + sizeof digits, sizeof above);
    const auto exact = above == digits >> 63 ? short_decimal(digits, scale) : std::nullopt;
    if (exact)
      into[row] = *exact;
    else
      into[row] = decimals.IsValid(static_cast<std::int64_t>(row)) ? real_of(::arrow::Decimal128(value), scale) : 0;
  }
}

}  // namespace

bool fits(const Shape& shape, const ::arrow::DataType& type) {
  const bool day = type.id() == Type::DATE32 || type.id() == Type::DATE64;
  if (shape.calendar == Calendar::day && type.id() != Type::NA) return day;
  if (shape.calendar == Calendar::moment && type.id() != Type::NA) return type.id() == Type::TIMESTAMP;
  switch (type.id()) {
    case Type::NA:
      return true;
    case Type::EXTENSION:
      return fits(shape, *static_cast<const ::arrow::ExtensionType&>(type).storage_type());
    case Type::DICTIONARY:
      return fits(shape, *static_cast<const ::arrow::DictionaryType&>(type).value_type()) && shape.kind != Kind::list &&
             shape.kind != Kind::record;
    case Type::BOOL:
      return shape.kind == Kind::boolean;
    case Type::INT8:
    case Type::INT16:
    case Type::INT32:
    case Type::INT64:
    case Type::UINT8:
    case Type::UINT16:
    case Type::UINT32:
    case Type::UINT64:
      return is_number(shape.kind);
    case Type::HALF_FLOAT:
    case Type::FLOAT:
    case Type::DOUBLE:
      return shape.kind == Kind::real_number;
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256:
      return shape.kind == Kind::real_number || shape.kind == Kind::text;
    case Type::DATE32:
    case Type::DATE64:
    case Type::TIMESTAMP:
      return shape.kind == Kind::signed_number || shape.kind == Kind::text;
    case Type::TIME32:
    case Type::TIME64:
    case Type::DURATION:
      return shape.kind == Kind::signed_number;
    case Type::STRING:
    case Type::BINARY:
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
    case Type::FIXED_SIZE_BINARY:
      return shape.kind == Kind::text;
    case Type::LIST:
    case Type::LARGE_LIST:
    case Type::FIXED_SIZE_LIST:
    case Type::MAP:
      return shape.kind == Kind::list;
    case Type::STRUCT:
      return shape.kind == Kind::record;
    default:
      return false;
  }
}

std::vector<Presence>& ArrayColumn::presence(std::size_t rows) {
  if (presence_.size() != rows) presence_.assign(rows, Presence::there);
  column_.presence = presence_;
  return presence_;
}

void ArrayColumn::take_presence(const ::arrow::Array& array) {
  presence_.clear();
  column_.presence = {};
  if (array.null_count() == 0) return;
  auto& rows = presence(static_cast<std::size_t>(array.length()));
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (array.IsNull(static_cast<std::int64_t>(row))) rows[row] = Presence::missing;
}

void ArrayColumn::take(const Shape& shape, const std::shared_ptr<::arrow::Array>& array) {
  if (array->type_id() == Type::EXTENSION) return take(shape, static_cast<const ::arrow::ExtensionArray&>(*array).storage());
  array_ = array;
  column_ = {};
  made_.clear();
  take_presence(*array);
  if (array->type_id() == Type::DICTIONARY) return take_dictionary(shape, *array);
  switch (shape.kind) {
    case Kind::boolean:
      return take_booleans(*array);
    case Kind::text:
      return take_texts(*array);
    case Kind::list:
      return take_elements(shape, *array);
    case Kind::record:
      return take_members(shape, *array);
    default:
      return take_numbers(shape, *array);
  }
}

void ArrayColumn::take_booleans(const ::arrow::Array& array) {
  booleans_.assign(static_cast<std::size_t>(array.length()), 0);
  if (array.type_id() == Type::BOOL) {
    const auto& values = static_cast<const ::arrow::BooleanArray&>(array);
    for (std::size_t row = 0; row < booleans_.size(); ++row) booleans_[row] = values.Value(static_cast<std::int64_t>(row)) ? 1 : 0;
  }
  column_.booleans = booleans_;
}

/// A missing value stays missing, whatever is in its place.
void ArrayColumn::mark_too_large(std::size_t row) {
  if (column_.at(row) == Presence::there) presence(static_cast<std::size_t>(array_->length()))[row] = Presence::too_large;
}

/// The value as the shape's kind has it, or a mark that 64 bits do not hold it.
template <class Value>
void ArrayColumn::put(const Shape& shape, std::size_t row, Value value) {
  if (shape.kind == Kind::real_number) {
    real_[row] = static_cast<double>(value);
    return;
  }
  if constexpr (std::is_integral_v<Value>) {
    bool held = true;
    if (shape.kind == Kind::signed_number) {
      if constexpr (std::is_unsigned_v<Value>) held = value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      signed_[row] = static_cast<std::int64_t>(value);
    } else {
      if constexpr (std::is_signed_v<Value>) held = value >= 0;
      unsigned_[row] = static_cast<std::uint64_t>(value);
    }
    if (!held) mark_too_large(row);
  }
}

/// `convert` gives a value, or nothing where 64 bits do not hold it: then the farthest one is put, which conditions compare.
template <class ArrayType, class Convert>
void ArrayColumn::take_each(const Shape& shape, const ::arrow::Array& array, Convert convert) {
  const auto& values = static_cast<const ArrayType&>(array);
  for (std::int64_t row = 0; row < values.length(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    const auto value = convert(values.Value(row));
    if constexpr (requires { value.has_value(); }) {
      put(shape, at, value.value_or(farthest(values.Value(row))));
      if (!value) mark_too_large(at);
    } else {
      put(shape, at, value);
    }
  }
}

void ArrayColumn::take_numbers(const Shape& shape, const ::arrow::Array& array) {
  const auto rows = static_cast<std::size_t>(array.length());
  // Those that are stored as they are wanted are not copied.
  if (array.type_id() == Type::INT64 && shape.kind == Kind::signed_number) {
    column_.signed_numbers = {static_cast<const ::arrow::Int64Array&>(array).raw_values(), rows};
    return;
  }
  if (array.type_id() == Type::UINT64 && shape.kind == Kind::unsigned_number) {
    column_.unsigned_numbers = {static_cast<const ::arrow::UInt64Array&>(array).raw_values(), rows};
    return;
  }
  if (array.type_id() == Type::DOUBLE && shape.kind == Kind::real_number) {
    column_.real_numbers = {static_cast<const ::arrow::DoubleArray&>(array).raw_values(), rows};
    return;
  }
  if (shape.kind == Kind::signed_number) {
    signed_.assign(rows, 0);
    column_.signed_numbers = signed_;
  } else if (shape.kind == Kind::unsigned_number) {
    unsigned_.assign(rows, 0);
    column_.unsigned_numbers = unsigned_;
  } else {
    real_.assign(rows, 0);
    column_.real_numbers = real_;
  }
  const auto same = [](auto value) { return value; };
  const auto real = [&](const auto& decimals, auto decimal) {
    const auto& type = static_cast<const ::arrow::DecimalType&>(*array.type());
    const std::int32_t scale = type.scale();
    if constexpr (std::is_same_v<decltype(decimal), ::arrow::Decimal128>)
      if (type.precision() <= 15 && scale >= 0 && scale <= 22) return take_short_decimals(decimals, scale, real_);
    for (std::int64_t row = 0; row < decimals.length(); ++row)
      if (decimals.IsValid(row)) real_[static_cast<std::size_t>(row)] = real_of(decltype(decimal)(decimals.GetValue(row)), scale);
  };
  switch (array.type_id()) {
    case Type::INT8:
      return take_each<::arrow::Int8Array>(shape, array, same);
    case Type::INT16:
      return take_each<::arrow::Int16Array>(shape, array, same);
    case Type::INT32:
      return take_each<::arrow::Int32Array>(shape, array, same);
    case Type::INT64:
      return take_each<::arrow::Int64Array>(shape, array, same);
    case Type::UINT8:
      return take_each<::arrow::UInt8Array>(shape, array, same);
    case Type::UINT16:
      return take_each<::arrow::UInt16Array>(shape, array, same);
    case Type::UINT32:
      return take_each<::arrow::UInt32Array>(shape, array, same);
    case Type::UINT64:
      return take_each<::arrow::UInt64Array>(shape, array, same);
    case Type::HALF_FLOAT:
      return take_each<::arrow::HalfFloatArray>(
          shape, array, [](std::uint16_t bits) { return ::arrow::util::Float16::FromBits(bits).ToDouble(); });
    case Type::FLOAT:
      return take_each<::arrow::FloatArray>(shape, array, same);
    case Type::DECIMAL32:
      return real(static_cast<const ::arrow::Decimal32Array&>(array), ::arrow::Decimal32());
    case Type::DECIMAL64:
      return real(static_cast<const ::arrow::Decimal64Array&>(array), ::arrow::Decimal64());
    case Type::DECIMAL128:
      return real(static_cast<const ::arrow::Decimal128Array&>(array), ::arrow::Decimal128());
    case Type::DECIMAL256:
      return real(static_cast<const ::arrow::Decimal256Array&>(array), ::arrow::Decimal256());
    case Type::DATE32:
      return take_each<::arrow::Date32Array>(shape, array, same);
    case Type::DATE64:
      return take_each<::arrow::Date64Array>(shape, array, [](std::int64_t ms) { return days_of_milliseconds(ms); });
    case Type::TIMESTAMP: {
      const auto unit = static_cast<const ::arrow::TimestampType&>(*array.type()).unit();
      return take_each<::arrow::TimestampArray>(shape, array, [unit](std::int64_t value) { return microseconds(value, unit); });
    }
    case Type::TIME32: {
      const auto unit = static_cast<const ::arrow::Time32Type&>(*array.type()).unit();
      return take_each<::arrow::Time32Array>(shape, array, [unit](std::int64_t value) { return microseconds(value, unit); });
    }
    case Type::TIME64: {
      const auto unit = static_cast<const ::arrow::Time64Type&>(*array.type()).unit();
      return take_each<::arrow::Time64Array>(shape, array, [unit](std::int64_t value) { return microseconds(value, unit); });
    }
    case Type::DURATION: {
      const auto unit = static_cast<const ::arrow::DurationType&>(*array.type()).unit();
      return take_each<::arrow::DurationArray>(shape, array, [unit](std::int64_t value) { return microseconds(value, unit); });
    }
    default:
      return;  // all are missing
  }
}

void ArrayColumn::take_texts(const ::arrow::Array& array) {
  texts_.assign(static_cast<std::size_t>(array.length()), {});
  column_.texts = texts_;
  const auto views = [&](const auto& values) {
    for (std::int64_t row = 0; row < values.length(); ++row)
      if (values.IsValid(row)) texts_[static_cast<std::size_t>(row)] = values.GetView(row);
  };
  const auto made = [&](auto&& text_of) {
    for (std::int64_t row = 0; row < array.length(); ++row)
      if (array.IsValid(row)) texts_[static_cast<std::size_t>(row)] = made_.emplace_back(text_of(row));
  };
  switch (array.type_id()) {
    case Type::STRING:
    case Type::BINARY:
      return views(static_cast<const ::arrow::BinaryArray&>(array));
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
      return views(static_cast<const ::arrow::LargeBinaryArray&>(array));
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
      return views(static_cast<const ::arrow::BinaryViewArray&>(array));
    case Type::FIXED_SIZE_BINARY:
      return views(static_cast<const ::arrow::FixedSizeBinaryArray&>(array));
    case Type::DECIMAL32:
      return made([&](std::int64_t row) { return static_cast<const ::arrow::Decimal32Array&>(array).FormatValue(row); });
    case Type::DECIMAL64:
      return made([&](std::int64_t row) { return static_cast<const ::arrow::Decimal64Array&>(array).FormatValue(row); });
    case Type::DECIMAL128:
      return made([&](std::int64_t row) { return static_cast<const ::arrow::Decimal128Array&>(array).FormatValue(row); });
    case Type::DECIMAL256:
      return made([&](std::int64_t row) { return static_cast<const ::arrow::Decimal256Array&>(array).FormatValue(row); });
    case Type::DATE32:
      return made([&](std::int64_t row) { return text_of_day(static_cast<const ::arrow::Date32Array&>(array).Value(row)); });
    case Type::DATE64:
      return made([&](std::int64_t row) {
        return text_of_day(days_of_milliseconds(static_cast<const ::arrow::Date64Array&>(array).Value(row)));
      });
    case Type::TIMESTAMP:
      return made([&](std::int64_t row) {
        const auto& type = static_cast<const ::arrow::TimestampType&>(*array.type());
        return text_of_time(static_cast<const ::arrow::TimestampArray&>(array).Value(row), type.unit(), !type.timezone().empty());
      });
    default:
      return;  // all are missing
  }
}

void ArrayColumn::take_elements(const Shape& shape, const ::arrow::Array& array) {
  const std::int64_t rows = array.length();
  ends_.assign(static_cast<std::size_t>(rows) + 1, 0);
  std::shared_ptr<::arrow::Array> elements;
  const auto take_ends = [&](const auto& lists) {
    const std::int64_t first = lists.value_offset(0);
    for (std::int64_t row = 0; row <= rows; ++row) ends_[static_cast<std::size_t>(row)] = lists.value_offset(row) - first;
    elements = lists.values()->Slice(first, ends_.back());
  };
  switch (array.type_id()) {
    case Type::LIST:
    case Type::MAP:
      take_ends(static_cast<const ::arrow::ListArray&>(array));
      break;
    case Type::LARGE_LIST:
      take_ends(static_cast<const ::arrow::LargeListArray&>(array));
      break;
    case Type::FIXED_SIZE_LIST:
      take_ends(static_cast<const ::arrow::FixedSizeListArray&>(array));
      break;
    default:
      break;  // all are missing
  }
  column_.ends = ends_;
  if (!elements) return;
  children_.resize(1);
  children_[0].take(shape.children[0], elements);
  column_.children = {children_[0].column()};
}

void ArrayColumn::take_members(const Shape& shape, const ::arrow::Array& array) {
  if (array.type_id() != Type::STRUCT) {  // all are missing
    column_.children.resize(shape.children.size());
    return;
  }
  const auto& record = static_cast<const ::arrow::StructArray&>(array);
  children_.resize(shape.children.size());
  for (std::size_t i = 0; i < shape.children.size(); ++i) {
    children_[i].take(shape.children[i], record.GetFieldByName(shape.children[i].name));
    column_.children.push_back(children_[i].column());
  }
}

void ArrayColumn::take_dictionary(const Shape& shape, const ::arrow::Array& array) {
  const auto& dictionary = static_cast<const ::arrow::DictionaryArray&>(array);
  children_.resize(1);
  children_[0].take(shape, dictionary.dictionary());
  const Column& values = children_[0].column();
  const auto rows = static_cast<std::size_t>(array.length());
  const auto gather = [&](auto& into, const auto& from) {
    into.assign(rows, {});
    for (std::size_t row = 0; row < rows; ++row) {
      if (array.IsNull(static_cast<std::int64_t>(row))) continue;
      const auto at = static_cast<std::size_t>(dictionary.GetValueIndex(static_cast<std::int64_t>(row)));
      into[row] = from[at];
      if (values.at(at) != Presence::there) presence(rows)[row] = values.at(at);
    }
    return std::span(std::as_const(into));
  };
  switch (shape.kind) {
    case Kind::boolean:
      column_.booleans = gather(booleans_, values.booleans);
      return;
    case Kind::signed_number:
      column_.signed_numbers = gather(signed_, values.signed_numbers);
      return;
    case Kind::unsigned_number:
      column_.unsigned_numbers = gather(unsigned_, values.unsigned_numbers);
      return;
    case Kind::real_number:
      column_.real_numbers = gather(real_, values.real_numbers);
      return;
    default:
      column_.texts = gather(texts_, values.texts);
  }
}

}  // namespace weft::storage::parquet
