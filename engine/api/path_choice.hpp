// Which files a source of rows reads, by the directories that they are in, and what these say of the rows.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "storage/access/remote.hpp"
#include "storage/partition_path.hpp"
#include "weft/detail/path_fields.hpp"

namespace weft::detail {

/// On the driver.
struct PathFields {
  std::string_view source;          // "read_csv", for messages
  std::span<const CellType> types;  // of the fields
  std::vector<std::string> names;   // of their columns
  std::vector<storage::parquet::Condition> where{};
  bool enabled = true;
  bool parquet = false;  // of files: `where` may also name columns that are in them, and none has no bytes
  std::vector<std::string> missing{};

  /// Whether files below a directory of that name may meet the conditions.
  bool may_hold(std::string_view directory) const;
  /// Drops the files whose directories do not meet the conditions. invalid_argument names a file: a value does not fit its field or
  /// cannot be compared, it is missing where the field is no std::optional, a field has two directories on one path, a file has no
  /// directory of a field that others have one of, a condition names none of the directories, or a file of Parquet has no bytes.
  /// Files of no bytes that earlier releases left in their outputs for tasks without rows are kept. `remote` is asked for files
  /// that are not on this machine; it blocks.
  Result<void> choose(storage::InputFiles& files, storage::RemoteFiles* remote = nullptr) const;

 private:
  const CellType* type_of(std::string_view name) const;
  bool is_missing(const CellType& type, const storage::PartitionValue& value) const;
  /// Nothing: they cannot be compared. A missing value meets no condition.
  std::optional<bool> meets(const storage::PartitionValue& value, const storage::parquet::Condition& condition) const;
  Result<bool> meets_conditions(const std::string& path) const;
  Result<void> check_values(const std::string& path) const;
  Result<void> check_not_empty(const storage::InputFiles& files, storage::RemoteFiles* remote) const;
};

/// A field's value that its directory gives.
struct PathValue {
  std::size_t field;                // its index
  std::optional<std::string> text;  // nothing: missing
};
/// What the directories on the path of a file say of the fields. In tasks.
std::vector<PathValue> path_values(std::string_view path, std::span<const std::string> names);

}  // namespace weft::detail
