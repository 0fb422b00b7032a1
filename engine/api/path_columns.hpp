// Columns of a Parquet file's rows whose values are names of directories.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "weft/detail/parquet.hpp"

namespace weft::detail {

/// Of one file. `input` outlives it. One thread.
class PathColumns {
 public:
  PathColumns(const ParquetInput& input, const std::string& path);

  bool empty() const { return columns_.empty(); }
  /// What is to be read of the file itself, and the conditions on that. The driver has left out the files whose directories do not
  /// meet the others.
  const pq::Shape& in_file() const { return in_file_; }
  const std::vector<pq::Condition>& where() const { return where_; }
  /// The file's batch with these columns between its own. Lives until the next call, and no longer than the batch.
  pq::Batch with(const pq::Batch& batch);

 private:
  /// The same value for every row.
  struct Constant {
    std::size_t field;
    pq::Shape shape;
    std::optional<std::string> text;
    std::vector<pq::Presence> presence{};
    std::vector<std::uint8_t> booleans{};
    std::vector<std::int64_t> signed_numbers{};
    std::vector<std::uint64_t> unsigned_numbers{};
    std::vector<double> real_numbers{};
    std::vector<std::string_view> texts{};

    void fill(std::size_t rows);
    pq::Column column() const { return {presence, booleans, signed_numbers, unsigned_numbers, real_numbers, texts, {}, {}}; }
  };

  std::vector<Constant> columns_;  // in the order of the fields
  pq::Shape in_file_;
  std::vector<pq::Condition> where_;
  std::size_t filled_ = 0;  // rows
};

}  // namespace weft::detail
