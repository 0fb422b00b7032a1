// weft submit PROGRAM -- ARGUMENTS: runs a job program with --cluster. The program is the driver; it stays in the foreground.
#include <cerrno>
#include <filesystem>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "engine/client/job_flags.hpp"
#include "engine/tools/cli/command.hpp"

namespace weft::tools {

namespace {

struct SubmitOptions {
  MasterOption master;
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> job{};  // options that are passed on to the program
};

/// A name without a directory is looked for here before $PATH: a job may be called join or sort. The error says why an existing
/// file cannot run.
Result<std::string> program_file(const std::string& name) {
  const bool bare = name.find('/') == std::string::npos;
  const std::string file = bare ? "./" + name : name;
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored))
    return fail(Code::invalid_argument, fmt::format("{} is a directory; name the job program in it", file));
  if (std::filesystem::exists(file, ignored)) {
    if (::access(file.c_str(), X_OK) == 0) return file;
    return fail(Code::invalid_argument, fmt::format("{} is not executable; chmod +x {} makes it so", file, file));
  }
  if (bare) return name;
  return fail(Code::not_found, fmt::format("there is no {}; build it first, or correct the path", file));
}

Result<void> submit(const SubmitOptions& options) {
  WEFT_ASSIGN(const std::string program, program_file(options.program));
  std::vector<std::string> words{program};
  words.insert(words.end(), options.arguments.begin(), options.arguments.end());
  words.insert(words.end(), {"--cluster", options.master.address});
  if (!options.master.patience_given.empty()) words.insert(words.end(), {"--patience", options.master.patience_given});
  words.insert(words.end(), options.job.begin(), options.job.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const bool path = program.find('/') != std::string::npos;
  // A path is not run as a shell does, which takes any file for a script.
  if (path)
    ::execv(argv[0], argv.data());
  else
    ::execvp(argv[0], argv.data());
  if (errno == ENOENT && !path)
    return fail(Code::not_found, fmt::format("there is no program {} here or in $PATH; name its file", program));
  if (errno == ENOENT) return fail(Code::not_found, fmt::format("cannot run {}: its interpreter is not on this machine", program));
  if (errno == ENOEXEC) return fail(Code::invalid_argument, fmt::format("{} is no program; name the built job program", program));
  return fail(errno_error("cannot run " + program, errno));
}

}  // namespace

void add_submit(CLI::App& app, Action& action) {
  Command<SubmitOptions> command(app, action, "submit", "Run a job program on the cluster; its own options stand behind --",
                                 submit);
  command.master().argument("PROGRAM", &SubmitOptions::program, "The job program: a file, or a name of $PATH");
  client::add_job_flags(command.app(), "The job",
                        [&job = command.options().job](const master::JobOption& option, const std::string& text) {
                          job.insert(job.end(), {"--" + option.name, text});
                        });
  command.app().add_option("ARGUMENT", command.options().arguments, "Words for the program, behind --");
}

}  // namespace weft::tools
