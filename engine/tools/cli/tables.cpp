// weft table: the options. What the commands do is in table_admin.cpp and table_rows.cpp.
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/table_commands.hpp"
#include "storage/namespace/mode.hpp"

namespace weft::tools {

namespace {

using TableRun = Result<void> (*)(const TableOptions&);

/// One command of `weft table` and the options it shares with others.
class TableCommand : public Command<TableOptions> {
 public:
  TableCommand(CLI::App& parent, Action& action, const std::string& name, const std::string& help, TableRun run)
      : Command(parent, action, name, help, run) {
    master();
  }
  TableCommand& table() {
    argument("TABLE", &TableOptions::table, "Name of the table");
    return *this;
  }
  TableCommand& words(const std::string& name, int fewest, int most, const std::string& help) {
    app().add_option(name, options().words, help)->expected(fewest, most)->required(fewest > 0);
    return *this;
  }
  TableCommand& name() {
    argument("SNAPSHOT", &TableOptions::name, "Name of the snapshot");
    return *this;
  }
  TableCommand& at_snapshot() {
    value("--snapshot", &TableOptions::snapshot, "NAME", "As of this snapshot (default: now)");
    return *this;
  }
  TableCommand& range() {
    value("--from", &TableOptions::from, "KEY", "Keys from here on");
    value("--to", &TableOptions::to, "KEY", "Keys before this one");
    value("--prefix", &TableOptions::prefix, "KEY", "Keys that begin so");
    app().add_option("--limit", options().limit, "This many rows at most");
    return *this;
  }
};

void add_tables(CLI::App& table, Action& action) {
  TableCommand create(table, action, "create", "Make a table", table_create);
  create.table();
  create.app()
      .add_option("--partitions", create.options().create.partitions, "Into how many its keys are hashed")
      ->capture_default_str();
  create.app()
      .add_option("--replication", create.options().create.replication, "Workers that have each partition")
      ->capture_default_str();
  TableCommand(table, action, "list", "The tables there are", table_list).json();
  TableCommand(table, action, "stat", "A table's partitions and where they are", table_stat).table().json();
  TableCommand promote(table, action, "promote", "Use what is left of partitions whose replicas in sync are gone for good",
                       table_promote);
  promote.table().app().add_flag("--accept-loss", promote.options().accept_loss,
                                 "Do it, although what the remaining replicas lack is lost (default: say what that is)");
  TableCommand chmod(table, action, "chmod", "Change who may read and write a table", table_change_mode);
  add_parsed(chmod.app(), "MODE", chmod.options().mode, "TEXT", storage::parse_mode,
             "Octal digits of the owner, of a group that nobody is in, and of all others: 644, 600")
      ->required();
  chmod.table();
  TableCommand chown(table, action, "chown", "Give a table to another user; for administrators", table_change_owner);
  chown.argument("USER", &TableOptions::owner, "The new owner");
  chown.table();
  TableCommand(table, action, "drop", "Remove a table with its snapshots", table_drop).table();
  CLI::App& snapshots = add_group(table, "snapshot", "Tables as they were at one moment");
  TableCommand(snapshots, action, "create", "Keep the table as it is now, under a name", table_snapshot_create).table().name();
  TableCommand(snapshots, action, "list", "The snapshots of a table", table_snapshot_list).table().json();
  TableCommand(snapshots, action, "drop", "Drop a snapshot", table_snapshot_drop).table().name();
}

void add_rows(CLI::App& table, Action& action) {
  TableCommand(table, action, "put", "Write a value", table_put)
      .table()
      .words("KEY_VALUE", 2, 2, "Key and value (- is standard input)");
  TableCommand(table, action, "get", "Print values; fails when a key is not there", table_get)
      .table()
      .words("KEY", 1, 1 << 20, "Keys")
      .at_snapshot()
      .json();
  TableCommand(table, action, "scan", "Print rows in order of their keys: key, tab, value", table_scan)
      .table()
      .range()
      .at_snapshot()
      .json();
  TableCommand(table, action, "delete", "Remove keys", table_delete).table().words("KEY", 1, 1 << 20, "Keys");
  TableCommand(table, action, "import", "Write rows from lines as `scan` prints them; a line without a tab removes its key",
               table_import)
      .table()
      .words("FILE", 0, 1, "File (default, or -: standard input)");
  TableCommand(table, action, "export", "Write all rows to a file, as one picture of the table", table_export)
      .table()
      .words("FILE", 0, 1, "File (default, or -: standard output)")
      .at_snapshot()
      .overwrite();
}

}  // namespace

void add_table(CLI::App& app, Action& action) {
  CLI::App& table = add_group(app, "table", "The tables of the cluster");
  add_tables(table, action);
  add_rows(table, action);
}

}  // namespace weft::tools
