// The commands of `weft`, one file each. Each adds itself to the command line; when it is chosen, parsing sets `action`, which
// main() then runs.
#pragma once

#include <functional>
#include <string>

#include "base/result.hpp"

namespace CLI {
class App;
}

namespace weft::cli {

/// Does what the chosen command is for. An error becomes one line on standard error and exit code 1.
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
void add_profile(CLI::App& app, Action& action);
void add_scheduling(CLI::App& app, Action& action);
void add_journal(CLI::App& app, Action& action);
void add_simulate(CLI::App& app, Action& action);

}  // namespace weft::cli
