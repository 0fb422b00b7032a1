// weft submit PROGRAM -- ARGUMENTS: runs a job program with --cluster. The program is the driver; it stays in the foreground, or,
// with --detach, runs in the cluster.
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "base/hash.hpp"
#include "base/machine.hpp"
#include "base/print_error.hpp"
#include "engine/client/admin.hpp"
#include "engine/client/job_flags.hpp"
#include "engine/client/secrets.hpp"
#include "engine/master/protocol/driver_paths.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/cli/connections.hpp"
#include "engine/tools/display/job_text.hpp"
#include "engine/tools/display/standard_output.hpp"
#include "storage/inputs.hpp"

namespace weft::tools {

namespace {

struct SubmitOptions {
  MasterOption master;
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> job{};  // options that are passed on to the program
  bool detach = false, json = false;
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

/// As execvp() finds it.
Result<std::string> path_of(const std::string& program) {
  if (program.find('/') != std::string::npos) return std::filesystem::absolute(program).lexically_normal().string();
  const char* const path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/bin:/usr/bin" : path;
  while (true) {
    const std::size_t colon = rest.find(':');
    const std::string file = (std::filesystem::absolute(std::filesystem::path(rest.substr(0, colon))) / program).string();
    std::error_code ignored;
    if (std::filesystem::is_regular_file(file, ignored) && ::access(file.c_str(), X_OK) == 0) return file;
    if (colon == std::string_view::npos)
      return fail(Code::not_found, fmt::format("there is no program {} here or in $PATH; name its file", program));
    rest.remove_prefix(colon + 1);
  }
}

/// What the kernel of a worker could execute, a program or a script: anything else would be found out there, again and again.
Result<void> check_program(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::array<char, 4> head{};
  in.read(head.data(), head.size());
  const std::string_view begin(head.data(), static_cast<std::size_t>(in.gcount()));
  if (begin == "\177ELF" || begin.starts_with("#!")) return {};
  return fail(Code::invalid_argument, fmt::format("{} is no program; name the built job program", file));
}

bool is_here(const std::string& file) {
  std::error_code ignored;
  const auto status = std::filesystem::status(file, ignored);
  return std::filesystem::is_regular_file(status) || std::filesystem::is_directory(status);
}

/// Files and directories of this machine that the words name, those that patterns of --input stand for included, and `directory`,
/// which is this process's, where paths are relative to it. At most client::kMostDriverPaths; the driver names others that are
/// missing.
std::vector<std::string> files_in(const std::vector<std::string>& words, const std::string& directory) {
  std::vector<std::string> files;
  const auto add = [&files](const std::string& file) {
    if (files.size() == client::kMostDriverPaths) return;
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  };
  for (const std::string& file : client::paths_in(words, directory))
    if (is_here(file)) add(file);
  for (const std::string& input : client::inputs_in(words)) {
    if (input.find_first_of("*?[{") == std::string::npos || is_here(input)) continue;
    if (const auto matches = storage::expand_inputs({&input, 1}))
      for (const std::string& file : matches->paths) add(file);
  }
  if (!directory.empty() && client::need_directory(words)) {
    files.resize(std::min(files.size(), client::kMostDriverPaths - 1));
    add(directory);  // behind the files in it, which say better what is missing
  }
  return files;
}

/// A job whose files no worker could be asked for yet: it may be refused only when one comes.
Result<void> tell_of_no_worker(client::Admin& admin, JobId id) {
  WEFT_ASSIGN(const auto nodes, admin.nodes());
  if (std::any_of(nodes.begin(), nodes.end(), [](const client::NodeStatus& node) { return !node.dead && !node.lost; })) return {};
  WEFT_ASSIGN(const auto found, admin.job(id));
  if (found.jobs[0].state != master::JobState::running) return {};
  print_error("weft: there is no worker yet; job {0} waits for one, and fails if none has its files (weft job wait {0})\n",
              id.value());
  return {};
}

Result<void> submit_detached(const SubmitOptions& options, const std::string& program) {
  WEFT_ASSIGN(const std::string file, path_of(program));
  WEFT_TRY(check_program(file));
  client::Detach detach;
  client::Submit& submit = detach.submit;
  submit.name = std::filesystem::path(file).filename().string();
  submit.program = file;
  WEFT_TRY(client::refuse_secrets(options.arguments));
  submit.arguments = options.arguments;
  submit.arguments.insert(submit.arguments.end(), options.job.begin(), options.job.end());
  WEFT_TRY(client::find_job_flags(submit.arguments, submit.options, submit.memory_bytes));
  if (submit.options.user.empty()) {
    submit.options.user = user_name();
    submit.arguments.insert(submit.arguments.end(), {"--user", submit.options.user});
  }
  std::error_code ignored;
  submit.directory = std::filesystem::current_path(ignored).string();
  detach.files = files_in(options.arguments, submit.directory);
  WEFT_ASSIGN(submit.binary, hash_file(file));
  WEFT_ASSIGN(const auto admin, admin_at(options.master, submit.options.user));
  WEFT_ASSIGN(const JobId job, admin->detach(detach, file));
  (void)tell_of_no_worker(*admin, job);  // the job is submitted, whether this is known or not
  return print(options.json ? submitted_json(job.value()) : fmt::format("{}\n", job.value()));
}

Result<void> submit(const SubmitOptions& options) {
  WEFT_ASSIGN(const std::string program, program_file(options.program));
  if (options.detach) return submit_detached(options, program);
  if (options.json)
    return fail(Code::invalid_argument, "--json is for --detach: a program in the foreground prints what it prints");
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
  command.master()
      .argument("PROGRAM", &SubmitOptions::program, "The job program: a file, or a name of $PATH")
      .flag("--detach", &SubmitOptions::detach,
            "Run its driver in the cluster, print the job's number and end; weft job attach, wait and logs follow it")
      .json();
  client::add_job_flags(command.app(), "The job",
                        [&job = command.options().job](const master::JobOption& option, const std::string& text) {
                          job.insert(job.end(), {"--" + option.name, text});
                        });
  command.app().add_option("ARGUMENT", command.options().arguments, "Words for the program, behind --");
}

}  // namespace weft::tools
