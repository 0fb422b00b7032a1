#include "storage/tables/types.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/hash.hpp"
#include "base/text.hpp"

namespace weft::storage::tables {

std::string to_string(const PlaceId& place) { return fmt::format("{}-{}", place.table.value(), place.partition); }

std::uint32_t partition_of(std::string_view key, std::uint32_t partitions) {
  return static_cast<std::uint32_t>(hash64(key) % partitions);
}

Result<void> check_table_name(std::string_view what, std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
  };
  if (!name.empty() && name.size() <= kLargestTableNameBytes && name[0] != '.' && std::all_of(name.begin(), name.end(), allowed))
    return {};
  return fail(Code::invalid_argument,
              fmt::format("'{}' is no name of a {}: names have 1 to {} letters, digits, '_', '-' and '.', and begin with no '.'",
                          escaped(name.substr(0, 2 * kLargestTableNameBytes)), what, kLargestTableNameBytes));
}

Error refusal(std::string_view user, std::string_view what, std::string_view table, std::string_view owner, std::uint32_t mode) {
  return {Code::permission_denied,
          fmt::format("{} may not {} the table '{}': it belongs to {} and has mode {:o} (weft table chmod)", escaped(user), what,
                      escaped(table), owner.empty() ? "nobody" : escaped(owner), mode)};
}

std::size_t bytes_of(const std::vector<TableWrite>& writes) {
  std::size_t bytes = 0;
  for (const TableWrite& write : writes) bytes += write.key.size() + (write.value ? write.value->size() : 0);
  return bytes;
}

Result<void> check_key(const std::string& key) {
  if (!key.empty() && key.size() <= kLargestKeyBytes) return {};
  return fail(Code::invalid_argument, fmt::format("keys of tables have 1 to {} bytes, not {}", kLargestKeyBytes, key.size()));
}

Result<void> check_writes(const std::vector<TableWrite>& writes) {
  for (const TableWrite& write : writes) {
    WEFT_TRY(check_key(write.key));
    if (write.value && write.value->size() > kLargestValueBytes)
      return fail(Code::invalid_argument,
                  fmt::format("values of tables have up to {} bytes, not {}", kLargestValueBytes, write.value->size()));
  }
  return {};
}

}  // namespace weft::storage::tables
