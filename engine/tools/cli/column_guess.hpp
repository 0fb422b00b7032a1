// Which fields of a struct can hold what a file has, for `weft peek`: guessed from some of its rows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"
#include "storage/parquet/column.hpp"

namespace weft::tools {

using storage::parquet::Shape;

/// A struct of rows has at most this many fields.
inline constexpr std::size_t kMostFields = 24;

/// The narrowest kind that all texts seen fit: truth values, whole numbers, numbers, days, moments, or text. Numbers with leading
/// zeros are text, because they are usually codes.
class TextGuess {
 public:
  /// An empty text is a missing value.
  void see(std::string_view text);
  Shape shape(std::string name) const;
  bool is_text() const;

 private:
  std::uint64_t seen_ = 0, missing_ = 0;
  bool flag_ = true, signed_ = true, unsigned_ = true, real_ = true, day_ = true, moment_ = true;
};

/// The same of values of JSON: objects become records, arrays lists. What is of several kinds becomes text.
class JsonGuess {
 public:
  /// Consumes the next value.
  Result<void> see(JsonReader& json);
  Shape shape(std::string name) const;

 private:
  std::uint64_t nulls_ = 0, objects_ = 0, arrays_ = 0, flags_ = 0, numbers_ = 0, texts_ = 0;
  bool whole_ = true, natural_ = true;  // numbers: in 64 bits with a sign, in those without one
  TextGuess text_;
  std::vector<std::string> order_;                                                                    // of the members
  std::map<std::string, std::pair<std::unique_ptr<JsonGuess>, std::uint64_t>, std::less<>> members_;  // how many objects have each
  std::unique_ptr<JsonGuess> element_;
};

/// "std::optional<std::int64_t>"; `record` is the name of the struct, where one is needed.
std::string cpp_type(const Shape& shape, const std::string& record = "…");
/// A name of a column as that of a field: "Price in EUR" is Price_in_EUR, "class" class_.
std::string cpp_name(std::string_view column);
/// The names of the fields of a struct of that name, one for each column: all different, and none is the struct's own.
std::vector<std::string> field_names(const Shape& row, const std::string& name);
/// The struct, and before it those of its records. Members of records whose name no field can have are comments, because only
/// columns may have another name than their field.
std::string cpp_struct(const Shape& row, const std::string& name);

}  // namespace weft::tools
