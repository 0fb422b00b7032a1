// The program `weft`.
#include <cstdio>
#include <cstdlib>

#include <CLI/CLI.hpp>

#include "base/fatal_signal.hpp"
#include "base/log.hpp"
#include "base/version.hpp"
#include "engine/cli/commands.hpp"

int main(int argc, char** argv) {
  CLI::App app("weft: MapReduce/DAG jobs on a cluster. Job programs run by themselves; weft runs and watches a cluster.", "weft");
  app.set_version_flag("--version", "weft " + std::string(weft::version()));
  app.require_subcommand(1);
  app.fallthrough();
  std::string level = "info";
  app.add_option("--log", level, "Log level: debug, info, warn, error or off")->capture_default_str();

  weft::cli::Action action;
  weft::cli::add_master(app, action);
  weft::cli::add_worker(app, action);
  weft::cli::add_submit(app, action);
  weft::cli::add_job(app, action);
  weft::cli::add_node(app, action);
  weft::cli::add_fs(app, action);
  weft::cli::add_table(app, action);
  weft::cli::add_profile(app, action);
  weft::cli::add_scheduling(app, action);
  weft::cli::add_journal(app, action);
  weft::cli::add_simulate(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "weft: %s (see weft --help)\n", error.what());
    return 2;
  }

  const auto parsed_level = weft::parse_log_level(level);
  if (!parsed_level) {
    std::fprintf(stderr, "weft: %s\n", parsed_level.error().to_string().c_str());
    return 2;
  }
  weft::configure_logging(*parsed_level);
  weft::log_fatal_signals("weft " + app.get_subcommands().front()->get_name());
  const weft::Result<void> result = action();
  if (result) return EXIT_SUCCESS;
  std::fprintf(stderr, "weft: %s\n", result.error().to_string().c_str());
  return EXIT_FAILURE;
}
