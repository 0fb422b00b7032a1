// weft table create, list, stat, chmod, chown, drop, snapshot.
#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/print_error.hpp"
#include "base/text.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/cli/table_commands.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "engine/tools/display/storage_json.hpp"
#include "engine/tools/display/text_table.hpp"
#include "storage/namespace/mode.hpp"

namespace weft::tools {

namespace {

using storage::tables::TableStatus;

std::string calendar(std::int64_t ms) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  localtime_r(&seconds, &parts);
  char text[32] = {};
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::string state_of(const TableStatus& table) {
  if (table.down_partitions > 0)
    return fmt::format(
        "{} partitions cannot be used; `weft table promote {}` says what is left when their workers are gone for good",
        table.down_partitions, table.name);
  if (table.short_partitions > 0) return fmt::format("{} partitions lack replicas", table.short_partitions);
  return "healthy";
}

}  // namespace

Result<void> table_create(const TableOptions& options) {
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  WEFT_TRY(tables->create(options.table, options.create));
  WEFT_ASSIGN(const TableStatus made, tables->describe(options.table));
  if (made.short_partitions > 0)
    print_error(
        "weft: {}: {} of {} partitions have fewer than {} replicas; the master has more made as soon as workers are there\n",
        options.table, made.short_partitions, made.partition_count, made.replication);
  return {};
}

Result<void> table_list(const TableOptions& options) {
  WEFT_ASSIGN(const auto client, tables_at(options.master));
  WEFT_ASSIGN(const auto tables, client->list());
  if (options.json) return print(tables_json(tables));
  TextTable text({"TABLE", "MODE", "OWNER", "PARTITIONS", "REPLICAS", "SNAPSHOTS", "SIZE", "STATE"});
  for (const TableStatus& table : tables)
    text.row(table.name, storage::mode_text(table.mode), table.owner.empty() ? "-" : table.owner, table.partition_count,
             table.replication, named_snapshots(table), human_bytes(table.bytes), state_of(table));
  return print(text.text());
}

Result<void> table_stat(const TableOptions& options) {
  WEFT_ASSIGN(const auto client, tables_at(options.master));
  WEFT_ASSIGN(const TableStatus table, client->describe(options.table));
  if (options.json) return print(table_json(table));
  fmt::print("{}: of {}, mode {}, {} partitions, {} replicas, {} snapshots, {}, {}\n", table.name,
             table.owner.empty() ? "nobody" : escaped(table.owner), storage::mode_text(table.mode), table.partition_count,
             table.replication, named_snapshots(table), human_bytes(table.bytes), state_of(table));
  TextTable text({"PARTITION", "PRIMARY", "IN SYNC", "BEHIND", "EPOCH", "SIZE", "FAULT"});
  for (std::size_t p = 0; p < table.partitions.size(); ++p) {
    const auto& partition = table.partitions[p];
    std::vector<std::string> in_sync, behind;
    for (const auto& member : partition.members) (member.in_sync ? in_sync : behind).push_back(member.name);
    text.row(p, partition.primary.empty() ? "-" : partition.primary, join(in_sync, ","), join(behind, ","), partition.epoch,
             human_bytes(partition.bytes), partition.fault);
  }
  return print(text.text());
}

Result<void> table_promote(const TableOptions& options) {
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  WEFT_ASSIGN(const auto replicas, tables->promote_remaining(options.table, options.accept_loss));
  TextTable text({"PARTITION", "NEWEST REPLICA", "HAS VERSION", "LACKS", "FAULT"});
  std::size_t without = 0;
  for (const auto& left : replicas) {
    const bool none = left.worker.empty();
    without += none;
    const std::string lacks = none                        ? "everything"
                              : left.known > left.version ? fmt::format("{} to {}, and later ones", left.version + 1, left.known)
                                                          : fmt::format("any after {}", left.version);
    text.row(left.partition, none ? "-" : left.worker, none ? "-" : std::to_string(left.version), lacks, left.fault);
  }
  print(text.text());
  if (!options.accept_loss)
    return fail(
        Code::invalid_argument,
        fmt::format("nothing was changed: what these replicas of '{}' lack would be lost for good; start the workers that have it, "
                    "or say --accept-loss",
                    options.table));
  if (without > 0)
    return fail(Code::not_found,
                fmt::format("nothing is left of {} partitions of '{}': start a worker that has them, or drop the table", without,
                            options.table));
  return {};
}

Result<void> table_change_mode(const TableOptions& options) {
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  return tables->set_mode(options.table, options.mode);
}

Result<void> table_change_owner(const TableOptions& options) {
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  return tables->set_owner(options.table, options.owner);
}

Result<void> table_drop(const TableOptions& options) {
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  return tables->drop(options.table);
}

Result<void> table_snapshot_create(const TableOptions& options) {
  WEFT_TRY(storage::tables::check_table_name("snapshot", options.name));
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  return tables->snapshot(options.table, options.name).map([](auto&&) {});
}

Result<void> table_snapshot_list(const TableOptions& options) {
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  WEFT_ASSIGN(const TableStatus table, tables->describe(options.table));
  JsonWriter json;
  json.begin_array();
  TextTable text({"SNAPSHOT", "MADE"});
  for (const auto& snapshot : table.snapshots) {
    if (!snapshot.name.empty()) json.begin_object().member("name", snapshot.name).member("made_ms", snapshot.made_ms).end_object();
    text.row(snapshot.name.empty() ? fmt::format("({}: of a scan or job)", snapshot.id.value()) : snapshot.name,
             calendar(snapshot.made_ms));
  }
  return print(options.json ? json.end_array().text() + "\n" : text.text());
}

Result<void> table_snapshot_drop(const TableOptions& options) {
  WEFT_ASSIGN(const auto tables, tables_at(options.master));
  return tables->drop_snapshot(options.table, options.name);
}

}  // namespace weft::tools
