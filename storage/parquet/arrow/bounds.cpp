#include "storage/parquet/arrow/bounds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <fmt/format.h>

#include "base/iso_time.hpp"
#include "base/text.hpp"

namespace weft::storage::parquet {
namespace {

using ::arrow::Type;

bool is_less(Comparison comparison) { return comparison == Comparison::less || comparison == Comparison::less_or_equal; }

/// Compared with a number that the kind does not have, where that decides it.
std::optional<Bound> of_no_equal(Comparison comparison) {
  if (comparison == Comparison::equal) return Bound{comparison, Always{false}};
  if (comparison == Comparison::not_equal) return Bound{comparison, Always{true}};
  return std::nullopt;
}

/// Compared with a number that is larger (`above`), or less, than all numbers that there are.
Bound beyond_all(Comparison comparison, bool above) {
  return of_no_equal(comparison).value_or(Bound{comparison, Always{is_less(comparison) == above}});
}

/// Compared with `floor` itself (`exact`), or with what is between it and the next number that there is.
template <class T>
Bound bound_at(Comparison comparison, T floor, bool exact) {
  if (exact) return {comparison, floor};
  return of_no_equal(comparison).value_or(Bound{is_less(comparison) ? Comparison::less_or_equal : Comparison::greater, floor});
}

/// Whole numbers of the type with a real one.
template <class T>
Bound whole_bound(Comparison comparison, double real) {
  constexpr double kBeyond = std::is_signed_v<T> ? 0x1p63 : 0x1p64;
  if (std::isnan(real)) return {comparison, Always{comparison == Comparison::not_equal}};
  if (real >= kBeyond) return beyond_all(comparison, true);
  if (real < static_cast<double>(std::numeric_limits<T>::min())) return beyond_all(comparison, false);
  const double floor = std::floor(real);
  return bound_at(comparison, static_cast<T>(floor), floor == real);
}

Bound signed_bound(const Condition& condition) {
  if (condition.kind == Kind::real_number) return whole_bound<std::int64_t>(condition.comparison, condition.real);
  if (condition.kind == Kind::signed_number) return {condition.comparison, condition.whole};
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  if (condition.unsigned_whole > kMost) return beyond_all(condition.comparison, true);
  return {condition.comparison, static_cast<std::int64_t>(condition.unsigned_whole)};
}

Bound unsigned_bound(const Condition& condition) {
  if (condition.kind == Kind::real_number) return whole_bound<std::uint64_t>(condition.comparison, condition.real);
  if (condition.kind == Kind::unsigned_number) return {condition.comparison, condition.unsigned_whole};
  if (condition.whole < 0) return beyond_all(condition.comparison, false);
  return {condition.comparison, static_cast<std::uint64_t>(condition.whole)};
}

/// Reals with a whole number, which may lie between two of them.
template <class T>
Bound real_bound(Comparison comparison, T whole) {
  constexpr double kBeyond = std::is_signed_v<T> ? 0x1p63 : 0x1p64;
  const auto nearest = static_cast<double>(whole);
  const bool above = nearest >= kBeyond || static_cast<T>(nearest) > whole;
  const double floor = above ? std::nextafter(nearest, -std::numeric_limits<double>::infinity()) : nearest;
  return bound_at(comparison, floor, !above && static_cast<T>(nearest) == whole);
}

Bound real_bound(const Condition& condition) {
  if (condition.kind == Kind::real_number) return {condition.comparison, condition.real};
  if (condition.kind == Kind::signed_number) return real_bound(condition.comparison, condition.whole);
  return real_bound(condition.comparison, condition.unsigned_whole);
}

/// The number of these digits behind a point, `whole` of them before it.
struct DecimalText {
  bool negative = false;
  std::string digits{};  // without zeros at either end
  std::int64_t whole = 0;
};

/// "-9.50", "1e3". Nothing: the text is no number.
std::optional<DecimalText> decimal_in(std::string_view text) {
  constexpr std::int64_t kFar = 1'000'000'000;  // beyond which an exponent says no more
  DecimalText number;
  const auto take = [&](std::string_view any) {
    if (text.empty() || any.find(text[0]) == std::string_view::npos) return false;
    text.remove_prefix(1);
    return true;
  };
  const auto take_digits = [&](std::string& into) {
    while (!text.empty() && text[0] >= '0' && text[0] <= '9') {
      into.push_back(text[0]);
      text.remove_prefix(1);
    }
  };
  number.negative = text.starts_with('-');
  take("+-");
  take_digits(number.digits);
  number.whole = static_cast<std::int64_t>(number.digits.size());
  if (take(".")) take_digits(number.digits);
  if (number.digits.empty()) return std::nullopt;
  if (take("eE")) {
    const bool down = text.starts_with('-');
    take("+-");
    std::string exponent;
    take_digits(exponent);
    if (exponent.empty()) return std::nullopt;
    const std::int64_t by = std::min(parse_number<std::int64_t>(exponent).value_or(kFar), kFar);
    number.whole += down ? -by : by;
  }
  if (!text.empty()) return std::nullopt;
  const std::size_t zeros = std::min(number.digits.find_first_not_of('0'), number.digits.size());
  number.digits.erase(0, zeros);
  number.digits.erase(number.digits.find_last_not_of('0') + 1);
  number.whole -= static_cast<std::int64_t>(zeros);
  return number;
}

/// Exact at any scale. Nothing: the text is no number.
std::optional<Bound> decimal_bound(Comparison comparison, std::string_view text, const ::arrow::DecimalType& type) {
  const auto number = decimal_in(text);
  if (!number) return std::nullopt;
  if (number->digits.empty()) return Bound{comparison, ::arrow::Decimal256(0)};
  const std::int64_t most =
      type.id() == Type::DECIMAL256 ? ::arrow::Decimal256Type::kMaxPrecision : ::arrow::Decimal128Type::kMaxPrecision;
  const std::int64_t kept = number->whole + type.scale();  // of the digits; the others are less than one at the column's scale
  if (kept > most) return beyond_all(comparison, !number->negative);
  std::string digits = number->digits.substr(0, static_cast<std::size_t>(std::max<std::int64_t>(kept, 0)));
  const bool exact = digits.size() == number->digits.size();
  digits.resize(static_cast<std::size_t>(std::max<std::int64_t>(kept, 0)), '0');
  ::arrow::Decimal256 floor = digits.empty() ? ::arrow::Decimal256(0) : ::arrow::Decimal256::FromString(digits).ValueOrDie();
  if (number->negative && !exact) floor += 1;
  if (number->negative) floor.Negate();
  return bound_at(comparison, floor, exact);
}

std::optional<Bound> decimal_bound(const Condition& condition, const ::arrow::DataType& type) {
  const auto& decimal = static_cast<const ::arrow::DecimalType&>(type);
  switch (condition.kind) {
    case Kind::text:
      return decimal_bound(condition.comparison, condition.text, decimal);
    case Kind::real_number:  // decimals are compared as the nearest reals: 0.10 is equal to 0.1, which is more than a tenth
      return Bound{condition.comparison, condition.real};
    case Kind::unsigned_number:
      return decimal_bound(condition.comparison, std::to_string(condition.unsigned_whole), decimal);
    default:
      return decimal_bound(condition.comparison, std::to_string(condition.whole), decimal);
  }
}

bool is_time(const ::arrow::DataType& type) { return ::arrow::is_date(type.id()) || type.id() == Type::TIMESTAMP; }

/// Days are compared as the midnights that they begin with. Nothing: the text is no time.
std::optional<Bound> time_bound(const Condition& condition, bool days) {
  constexpr std::int64_t kDay = 86'400'000'000;
  const auto moment = microseconds_in(condition.text);
  if (!moment) return std::nullopt;
  if (!days) return Bound{condition.comparison, *moment};
  const std::int64_t passed = (*moment % kDay + kDay) % kDay;  // of the day
  return bound_at(condition.comparison, (*moment - passed) / kDay, passed == 0);
}

}  // namespace

std::optional<Kind> compared_kind(const ::arrow::DataType& type) {
  switch (type.id()) {
    case Type::NA:
    case Type::INT8:
    case Type::INT16:
    case Type::INT32:
    case Type::INT64:
    case Type::UINT8:
    case Type::UINT16:
    case Type::UINT32:
    case Type::DATE32:
    case Type::DATE64:
    case Type::TIMESTAMP:
    case Type::TIME32:
    case Type::TIME64:
    case Type::DURATION:
      return Kind::signed_number;
    case Type::BOOL:
      return Kind::boolean;
    case Type::UINT64:
      return Kind::unsigned_number;
    case Type::HALF_FLOAT:
    case Type::FLOAT:
    case Type::DOUBLE:
    case Type::DECIMAL32:
    case Type::DECIMAL64:
    case Type::DECIMAL128:
    case Type::DECIMAL256:
      return Kind::real_number;
    case Type::STRING:
    case Type::BINARY:
    case Type::LARGE_STRING:
    case Type::LARGE_BINARY:
    case Type::STRING_VIEW:
    case Type::BINARY_VIEW:
    case Type::FIXED_SIZE_BINARY:
      return Kind::text;
    default:
      return std::nullopt;
  }
}

Result<Bound> bound_of(const Condition& given, const ::arrow::DataType& type, const std::string& path) {
  const auto kind = compared_kind(type);
  const bool of_text = given.kind == Kind::text, of_truth = given.kind == Kind::boolean;
  if (kind == Kind::boolean && of_truth) return Bound{given.comparison, Truth{given.whole != 0}};
  Condition condition = given;
  if (of_truth) condition.kind = Kind::signed_number;  // columns of numbers have 0 and 1 for truth values
  if (::arrow::is_decimal(type.id())) {
    if (auto bound = decimal_bound(condition, type)) return *std::move(bound);
    return fail(Code::invalid_argument,
                fmt::format("{}: where compares column '{}' of type {} with a text, '{}', that is no number (9.5)", path,
                            condition.column, type.ToString(), escaped(condition.text)));
  }
  if (type.id() == Type::NA) return Bound{condition.comparison, Always{false}};
  if (kind == Kind::signed_number && !of_text) return signed_bound(condition);
  if (kind == Kind::unsigned_number && !of_text) return unsigned_bound(condition);
  if (kind == Kind::real_number && !of_text) return real_bound(condition);
  if (kind == Kind::text && of_text) return Bound{condition.comparison, condition.text};
  if (is_time(type) && of_text) {
    if (auto bound = time_bound(condition, ::arrow::is_date(type.id()))) return *std::move(bound);
    return fail(
        Code::invalid_argument,
        fmt::format("{}: where compares column '{}' of type {} with a text, '{}', that is neither a date (2026-11-28) nor a time "
                    "(2026-11-28T04:40:27Z)",
                    path, condition.column, type.ToString(), escaped(condition.text)));
  }
  const std::string_view with = of_text ? "text" : of_truth ? "truth value" : "number";
  return fail(Code::invalid_argument, fmt::format("{}: column '{}' is of type {}, and where compares it with a {}", path,
                                                  condition.column, type.ToString(), with));
}

}  // namespace weft::storage::parquet
