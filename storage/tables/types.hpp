// Tables as values: what is stored, what travels. No database.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/codec.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"

namespace weft::storage::tables {

using TableId = Id<struct TableTag, std::uint64_t>;              // never reused; 0 is none
using SnapshotId = Id<struct SnapshotTag, std::uint64_t>;        // never reused; 0 is none
using TransactionId = Id<struct TransactionTag, std::uint64_t>;  // never reused: rows that become visible together

inline constexpr std::size_t kLargestKeyBytes = 64u << 10;
inline constexpr std::size_t kLargestValueBytes = 16u << 20;
inline constexpr std::size_t kLargestTableNameBytes = 128;
inline constexpr std::uint32_t kMostPartitions = 4096;
inline constexpr std::uint32_t kDefaultPartitions = 16;

/// By its bit in a digit of a mode.
enum class TableRight : std::uint8_t { read = 4, write = 2 };

/// Secrets that stand for a right: the master gives them to those who have it, and workers ask users' programs for them. 0: none.
struct TableKeys {
  std::uint64_t read = 0, write = 0;
  std::uint64_t of(TableRight right) const { return right == TableRight::read ? read : write; }
  friend bool operator==(const TableKeys&, const TableKeys&) = default;
};

inline constexpr std::uint32_t kTableMode = 0644;      // of a table that is made
inline constexpr std::uint32_t kOpenTableMode = 0666;  // of one that an earlier release made

struct TableWrite {
  std::string key;
  std::optional<std::string> value;  // none: the key is deleted
  friend bool operator==(const TableWrite&, const TableWrite&) = default;
};

/// Of keys and values.
std::size_t bytes_of(const std::vector<TableWrite>& writes);

struct TableRow {
  std::string key, value;
  friend bool operator==(const TableRow&, const TableRow&) = default;
};

enum class EntryKind : std::uint8_t {
  write = 0,   // writes
  stage = 1,   // id (transaction), token, writes: kept aside
  commit = 2,  // id (transaction), tokens: what was staged under them becomes visible, the rest of the transaction goes
  abort = 3,   // id (transaction): what was staged goes
  mark = 4,    // id (snapshot): this version is kept
  unmark = 5,  // id (snapshot)
};

/// One numbered change of a partition.
struct LogEntry {
  std::uint64_t version = 0;
  std::vector<TableWrite> writes{};
  std::uint64_t epoch = 0;  // of the primary that made it
  EntryKind kind = EntryKind::write;
  std::uint64_t id = 0;
  std::uint64_t token = 0;
  std::vector<std::uint64_t> tokens{};  // commit: see EntryKind; write, stage: the requests of clients that the entry carries out
};

/// A partition of a table.
struct PlaceId {
  TableId table;
  std::uint32_t partition = 0;
  friend auto operator<=>(const PlaceId&, const PlaceId&) = default;
};
std::string to_string(const PlaceId& place);

/// Which partition has the key. Stable: tables on disk depend on it.
std::uint32_t partition_of(std::string_view key, std::uint32_t partitions);

/// permission_denied: the user lacks that right. `what` he wants: "write".
Error refusal(std::string_view user, std::string_view what, std::string_view table, std::string_view owner, std::uint32_t mode);

/// Names of tables and snapshots: 1 to 128 letters, digits, '_', '-' and '.', not beginning with a '.'.
Result<void> check_table_name(std::string_view what, std::string_view name);
Result<void> check_key(const std::string& key);
/// Sizes of keys and values.
Result<void> check_writes(const std::vector<TableWrite>& writes);

}  // namespace weft::storage::tables
