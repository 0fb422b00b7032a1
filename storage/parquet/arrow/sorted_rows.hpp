// The order of a file's rows as its writer promises it. Private to libweft-parquet.so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <parquet/types.h>

#include "base/result.hpp"
#include "storage/parquet/column.hpp"

namespace weft::storage::parquet {

/// Looks whether rows come in the order that is noted in their file. Values are ordered as weft sorts them: a missing one is
/// smaller than all others, a NaN is the largest number, and texts are ordered by their bytes.
class SortedRows {
 public:
  /// invalid_argument: there is no such column, or it has lists or records.
  Result<void> begin(const Shape& row, const std::vector<std::string>& sorted_by);
  /// What the file's metadata has of it.
  std::vector<::parquet::SortingColumn> columns() const;
  /// False: a row of the batch is smaller than the one before it, which may be the last of the batch before.
  bool follows(const Batch& batch);
  /// The columns as they were given, for messages.
  const std::string& words() const { return words_; }

 private:
  struct Key {
    std::size_t column = 0;
    std::int32_t leaf = 0;
    Kind kind = Kind::text;
    bool descending = false;
  };
  struct Value {
    bool there = false;
    std::int64_t whole = 0;
    std::uint64_t natural = 0;
    double real = 0;
    std::string_view text{};
  };
  static Value value_at(const Key& key, const Batch& batch, std::size_t row);
  static int compared(const Key& key, const Value& a, const Value& b);
  static bool is_sorted(const Key& key, const Batch& batch);
  void remember(const Batch& batch);

  std::vector<Key> keys_;
  std::vector<Value> last_;         // of the row before the batch; empty: there is none
  std::vector<std::string> texts_;  // that `last_` has
  std::string words_;
};

}  // namespace weft::storage::parquet
