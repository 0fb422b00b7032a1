// Directories "KEY=VALUE", as Hive, Spark and DuckDB write partitions of tables.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft::storage {

/// What the name of a directory says. "%3A" and the like stand for the byte; other signs of percent stand for themselves.
struct PartitionValue {
  std::string key;
  std::optional<std::string> value;  // nothing: __HIVE_DEFAULT_PARTITION__, a missing value
};

/// Nothing when the name is not of that form.
std::optional<PartitionValue> partition_value(std::string_view directory);
/// The directory that says so: bytes that would end its name, or mean something in it, as "%2F" and the like.
std::string partition_directory(const PartitionValue& value);
/// Of all directories on the path of a file, outermost first. The file's own name does not count.
std::vector<PartitionValue> partition_values(std::string_view path);

}  // namespace weft::storage
