// The program `weft`.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "base/broken_pipe.hpp"
#include "base/command_line/completion.hpp"
#include "base/command_line/help.hpp"
#include "base/command_line/security.hpp"
#include "base/command_line/usage.hpp"
#include "base/command_line/words.hpp"
#include "base/fatal_signal.hpp"
#include "base/log.hpp"
#include "base/printable.hpp"
#include "base/version.hpp"
#include "engine/tools/cli/commands.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "runtime/devices/device.hpp"

namespace {

constexpr int kUsage = 2;

int complain(const std::string& message, int code) {
  std::fprintf(stderr, "weft: %s\n", weft::printable_lines(message).c_str());
  return code;
}

std::shared_ptr<const bool> add_commands(CLI::App& app, weft::tools::Action& action, int& exit_status) {
  weft::tools::add_master(app, action);
  weft::tools::add_worker(app, action);
  weft::tools::add_run(app, action);
  weft::tools::add_submit(app, action);
  weft::tools::add_job(app, action, exit_status);
  weft::tools::add_top(app, action);
  weft::tools::add_masters(app, action);
  weft::tools::add_node(app, action);
  weft::tools::add_fs(app, action);
  weft::tools::add_peek(app, action);
  weft::tools::add_table(app, action);
  weft::tools::add_profile(app, action);
  weft::tools::add_scheduling(app, action);
  weft::tools::add_journal(app, action);
  weft::tools::add_security(app, action);
  weft::tools::add_history(app, action);
  weft::tools::add_simulate(app, action);
  weft::tools::add_advise(app, action);
  weft::tools::add_completion(app, action);
  weft::tools::add_manual(app, action);
  weft::tools::add_examples(app);
  return weft::tools::add_json(app);
}

/// `weft complete -- WORDS…`, which the scripts for shells call.
int complete(const CLI::App& app, std::vector<std::string> words) {
  if (!words.empty() && words.front() == "--") words.erase(words.begin());
  auto completion = weft::command_line::complete(app, words);
  weft::tools::add_candidates(completion, words.empty() ? std::string() : words.back());
  std::string text;
  for (const auto& candidate : completion.candidates) text += candidate.word + "\t" + candidate.meaning + "\n";
  weft::tools::print(text + (completion.files ? ":files\n" : ""));
  return EXIT_SUCCESS;
}

/// `weft fs cat FILE | head`: the reader has enough and closes the pipe, which is no failure.
bool nobody_reads(const weft::Error& why) { return why.code() == weft::Code::cancelled && weft::reader_is_gone(STDOUT_FILENO); }

weft::Result<void> run(const weft::tools::Action& action) {
  try {
    return action();
  } catch (const std::system_error& fault) {  // of fmt::print()
    if (weft::reader_is_gone(STDOUT_FILENO)) return weft::fail(weft::Code::cancelled, fault.what());
    return weft::fail(weft::Code::io, std::string("standard output: ") + fault.what());
  }
}

/// Whether all that was printed could be written.
int flushed() {
  const bool failed = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  if (!failed || weft::reader_is_gone(STDOUT_FILENO)) return EXIT_SUCCESS;
  return complain(weft::errno_error("cannot write standard output", errno).to_string(), EXIT_FAILURE);
}

}  // namespace

int main(int argc, char** argv) {
  weft::outlive_broken_pipes();
  if (const auto listed = weft::runtime::run_if_device_list()) return *listed;
  CLI::App app("Run and watch a cluster for MapReduce/DAG jobs", "weft");
  app.formatter(weft::command_line::help_layout());
  app.set_version_flag("--version", "weft " + std::string(weft::version()), "Print the version");
  app.require_subcommand(1);
  app.fallthrough();
  std::string level = "info";
  app.add_option("--log", level, "Least severity that is logged")
      ->check(CLI::IsMember({"debug", "info", "warn", "error", "off"}))
      ->capture_default_str();
  weft::command_line::SecurityOptions security;
  weft::command_line::add_security_options(app, security, "Options");
  weft::tools::Action action;
  int exit_status = EXIT_FAILURE;  // of a failure
  const auto empty_json = add_commands(app, action, exit_status);

  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words[0] == "complete") return complete(app, {words.begin() + 1, words.end()});
  if (!words.empty() && words[0] == "help") {
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  auto arranged = weft::command_line::arrange(app, words);
  if (!arranged) return complain(arranged.error().to_string(), kUsage);
  try {
    std::reverse(arranged->words.begin(), arranged->words.end());  // as CLI11 takes them
    app.parse(arranged->words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    return complain(weft::command_line::usage_message(error, *arranged->command), kUsage);
  }

  weft::command_line::obey(security);
  weft::configure_logging(*weft::parse_log_level(level));
  weft::log_fatal_signals("weft " + app.get_subcommands().front()->get_name());
  const weft::Result<void> result = run(action);
  if (!result && nobody_reads(result.error())) return EXIT_SUCCESS;
  if (!result) return complain(result.error().to_string(), exit_status);
  if (*empty_json) weft::tools::print("{}\n");
  return flushed();
}
