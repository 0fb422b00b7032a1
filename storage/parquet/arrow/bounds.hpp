// What values of a column are compared with for a condition's sake. Private to libweft-parquet.so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include <arrow/type_fwd.h>
#include <arrow/util/decimal.h>

#include "base/result.hpp"
#include "storage/parquet/column.hpp"

namespace weft::storage::parquet {

/// Holds for each value that is there, or for none.
struct Always {
  bool holds = true;
};

struct Truth {
  bool value = false;
};

/// A comparison with a value of the column's own kind (of decimals: the digits at the column's scale, or a real number), which
/// holds for the same values as the condition does exactly: a number that the kind does not have is replaced by the next one that
/// it has, and one beyond all of them by Always.
struct Bound {
  Comparison comparison = Comparison::equal;
  std::variant<Always, Truth, std::int64_t, std::uint64_t, double, std::string, ::arrow::Decimal256> value;
};

/// The kind of field that values of the type are compared as. Nothing: they are not compared.
std::optional<Kind> compared_kind(const ::arrow::DataType& type);

/// Of a column whose type has a compared_kind(). invalid_argument: values of the type cannot be compared with the condition's; it
/// names `path`, the column and its type.
Result<Bound> bound_of(const Condition& condition, const ::arrow::DataType& type, const std::string& path);

}  // namespace weft::storage::parquet
