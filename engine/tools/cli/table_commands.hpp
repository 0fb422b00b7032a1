// What the commands of `weft table` do. Their options are declared in tables.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "engine/tools/cli/options.hpp"
#include "storage/tables/table_client.hpp"

namespace weft::tools {

struct TableOptions {
  MasterOption master;
  std::string table;
  std::vector<std::string> words;  // keys; a key and its value; a file
  std::string name;                // of a snapshot to make or drop
  std::string snapshot;            // to read from; empty: the present state
  std::string from, to, prefix;
  std::uint64_t limit = 0;  // 0: none
  storage::tables::CreateTable create;
  bool json = false, overwrite = false;
  bool accept_loss = false;
  std::uint32_t mode = 0;
  std::string owner;
};

// Each connects, does it, and prints to stdout.
Result<void> table_create(const TableOptions& options);
Result<void> table_list(const TableOptions& options);
Result<void> table_stat(const TableOptions& options);
/// Fails when something would be lost and that is not accepted.
Result<void> table_promote(const TableOptions& options);
Result<void> table_change_mode(const TableOptions& options);
Result<void> table_change_owner(const TableOptions& options);
Result<void> table_drop(const TableOptions& options);
Result<void> table_snapshot_create(const TableOptions& options);
Result<void> table_snapshot_list(const TableOptions& options);
Result<void> table_snapshot_drop(const TableOptions& options);
Result<void> table_put(const TableOptions& options);
Result<void> table_get(const TableOptions& options);
Result<void> table_scan(const TableOptions& options);
Result<void> table_delete(const TableOptions& options);
Result<void> table_import(const TableOptions& options);
Result<void> table_export(const TableOptions& options);

/// A key or value on a line: tabs, line ends, backslashes and what is no text as \t, \n, \r, \\ and \xNN.
std::string written(std::string_view bytes);
/// The reverse; invalid_argument for any other escape.
Result<std::string> unwritten(std::string_view text);

}  // namespace weft::tools
