// The commands of `weft`, one file each. Each adds itself to the command line and leaves what to do in `action`.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"

namespace CLI {
class App;
}

namespace weft::cli {

/// What the chosen command does; its error becomes one line and exit code 1.
using Action = std::function<Result<void>()>;

void add_master(CLI::App& app, Action& action);
void add_worker(CLI::App& app, Action& action);
void add_submit(CLI::App& app, Action& action);
void add_job(CLI::App& app, Action& action);
void add_node(CLI::App& app, Action& action);
void add_fs(CLI::App& app, Action& action);
/// `weft node drain`
void add_drain(CLI::App& node, Action& action);
void add_table(CLI::App& app, Action& action);
void add_scheduling(CLI::App& app, Action& action);
void add_journal(CLI::App& app, Action& action);
void add_simulate(CLI::App& app, Action& action);

/// The --master option that all clients share; default $WEFT_MASTER, then 127.0.0.1:7077.
void add_master_option(CLI::App& app, std::string& master);

}  // namespace weft::cli
