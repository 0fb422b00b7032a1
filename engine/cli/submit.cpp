// weft submit BINARY -- ARGS: runs a job program with --cluster. The program is the driver; it stays in the foreground.
#include <cerrno>
#include <map>
#include <memory>
#include <vector>

#include <CLI/CLI.hpp>
#include <unistd.h>

#include "engine/cli/commands.hpp"
#include "engine/cli/options.hpp"
#include "schedulers/view/hints.hpp"

namespace weft::cli {

namespace {

struct SubmitOptions {
  std::string master = "127.0.0.1:7077";
  std::string binary;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> job{};  // options that are passed on to the program, unless they are empty
  std::vector<std::string> hints{};
};

Result<void> submit(const SubmitOptions& options) {
  std::vector<std::string> words{options.binary};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  words.insert(words.end(), {"--cluster", options.master});
  for (const auto& [option, value] : options.job) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  }
  for (const std::string& hint : options.hints) words.insert(words.end(), {"--hint", hint});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  return fail(errno_error("cannot run " + options.binary, errno));
}

}  // namespace

void add_submit(CLI::App& app, Action& action) {
  auto options = std::make_shared<SubmitOptions>();
  CLI::App* command = app.add_subcommand("submit", "Run a job program on the cluster: weft submit BINARY -- ARGUMENTS");
  add_master_option(*command, options->master);
  command->add_option("binary", options->binary, "The job program")->required();
  const auto pass = [&](const char* option, const char* help) { command->add_option(option, options->job[option], help); };
  pass("--user", "On whose behalf the job runs (default: your login name)");
  pass("--pool", "Pool or queue of the scheduler");
  pass("--priority", "Jobs with a larger number go first");
  pass("--weight", "Its part of what jobs share, against theirs, where the scheduler shares (1)");
  pass("--deadline", "When the job should be done, counted from its start, such as 10min");
  pass("--demand", "What each task takes of its node, such as cpu=1,memory=512MiB");
  command->add_option("--hint", options->hints, "What schedulers may know of the job, such as shuffle_ratio=0.4; may be repeated")
      ->take_all()
      ->allow_extra_args(false)
      ->check([](const std::string& text) {
        const auto hint = schedulers::parse_hint(text);
        return hint ? std::string() : hint.error().to_string();
      });
  command->add_option("arguments", options->arguments, "Its arguments, after --");
  command->callback([options, &action] { action = [options] { return submit(*options); }; });
}

}  // namespace weft::cli
