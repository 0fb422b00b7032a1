// The commands of `weft`, one file each. Each adds itself to the command line; when it is chosen, parsing sets `action`, which
// main() then runs.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace CLI {
class App;
}

namespace weft::command_line {
struct Completion;
}

namespace weft::tools {

/// Does what the chosen command is for. An error becomes one line on standard error and exit status 1, unless the command sets
/// another.
using Action = std::function<Result<void>()>;

void add_master(CLI::App& app, Action& action);
void add_worker(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_submit(CLI::App& app, Action& action);
/// `exit_status` is that of a failure.
void add_job(CLI::App& app, Action& action, int& exit_status);
void add_masters(CLI::App& app, Action& action);
void add_node(CLI::App& app, Action& action);
void add_fs(CLI::App& app, Action& action);
void add_history(CLI::App& app, Action& action);
/// `weft job trace`, `weft job report`, `weft job diagnose`
void add_job_history(CLI::App& job, Action& action);
/// `weft job wait`, `weft job attach`, `weft job tail`
void add_job_watch(CLI::App& job, Action& action, int& exit_status);
void add_top(CLI::App& app, Action& action);
/// `weft node drain`
void add_drain(CLI::App& node, Action& action);
void add_peek(CLI::App& app, Action& action);
void add_table(CLI::App& app, Action& action);
void add_profile(CLI::App& app, Action& action);
void add_scheduling(CLI::App& app, Action& action);
void add_journal(CLI::App& app, Action& action);
void add_security(CLI::App& app, Action& action);
void add_simulate(CLI::App& app, Action& action);
void add_advise(CLI::App& app, Action& action);
void add_completion(CLI::App& app, Action& action);
/// Writes the manual pages; a build does it.
void add_manual(CLI::App& app, Action& action);

/// Adds words that only the master ($WEFT_MASTER) knows and that begin with `current`: numbers of jobs, names of workers. Adds
/// nothing when the master does not answer.
void add_candidates(command_line::Completion& completion, const std::string& current);

// When all commands are there:

/// Examples at the end of their help.
void add_examples(CLI::App& app);
/// --json for commands that have nothing to print, so that scripts may always give it. When the result is true after parsing, the
/// caller prints an empty object when the command has succeeded.
std::shared_ptr<const bool> add_json(CLI::App& app);

}  // namespace weft::tools
