// weft table: the options. What the commands do is in table_admin.cpp and table_rows.cpp.
#include <memory>

#include <CLI/CLI.hpp>

#include "engine/tools/cli/commands.hpp"
#include "engine/tools/cli/options.hpp"
#include "engine/tools/cli/table_commands.hpp"

namespace weft::tools {

namespace {

using TableRun = Result<void> (*)(const TableOptions&);

/// One command of `weft table` and the options it shares with others.
class TableCommand {
 public:
  TableCommand(CLI::App& parent, Action& action, const std::string& name, const std::string& help, TableRun run)
      : options_(std::make_shared<TableOptions>()), app_(parent.add_subcommand(name, help)) {
    add_master_option(*app_, options_->master);
    app_->callback([options = options_, run, &action] { action = [options, run] { return run(*options); }; });
  }
  TableCommand& table() {
    app_->add_option("TABLE", options_->table, "Name of the table")->required();
    return *this;
  }
  TableCommand& words(const std::string& name, int fewest, int most, const std::string& help) {
    app_->add_option(name, options_->words, help)->expected(fewest, most)->required(fewest > 0);
    return *this;
  }
  TableCommand& name() {
    app_->add_option("SNAPSHOT", options_->name, "Name of the snapshot")->required();
    return *this;
  }
  TableCommand& at_snapshot() {
    app_->add_option("--snapshot", options_->snapshot, "As of this snapshot (default: now)")->type_name("NAME");
    return *this;
  }
  TableCommand& range() {
    app_->add_option("--from", options_->from, "Keys from here on")->type_name("KEY");
    app_->add_option("--to", options_->to, "Keys before this one")->type_name("KEY");
    app_->add_option("--prefix", options_->prefix, "Keys that begin so")->type_name("KEY");
    app_->add_option("--limit", options_->limit, "So many rows at most");
    return *this;
  }
  TableCommand& json() {
    app_->add_flag("--json", options_->json, "As JSON");
    return *this;
  }
  TableOptions& options() { return *options_; }
  CLI::App& app() { return *app_; }

 private:
  std::shared_ptr<TableOptions> options_;
  CLI::App* app_;
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
  TableCommand(table, action, "drop", "Remove a table with its snapshots", table_drop).table();
  CLI::App* snapshots = table.add_subcommand("snapshot", "Tables as they were at one moment");
  snapshots->require_subcommand(1);
  TableCommand(*snapshots, action, "create", "Keep the table as it is now, under a name", table_snapshot_create).table().name();
  TableCommand(*snapshots, action, "list", "The snapshots of a table", table_snapshot_list).table().json();
  TableCommand(*snapshots, action, "drop", "Drop a snapshot", table_snapshot_drop).table().name();
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
  TableCommand exported(table, action, "export", "Write all rows to a file, as one picture of the table", table_export);
  exported.table().words("FILE", 0, 1, "File (default, or -: standard output)").at_snapshot();
  add_overwrite_flag(exported.app(), exported.options().overwrite);
}

}  // namespace

void add_table(CLI::App& app, Action& action) {
  CLI::App* table = app.add_subcommand("table", "The tables of the cluster");
  table->require_subcommand(1);
  add_tables(*table, action);
  add_rows(*table, action);
}

}  // namespace weft::tools
