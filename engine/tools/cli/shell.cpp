// weft completion, weft manual; examples and --json for all commands.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/command_line/completion.hpp"
#include "base/command_line/manual.hpp"
#include "base/command_line/words.hpp"
#include "base/file.hpp"
#include "base/version.hpp"
#include "engine/client/admin.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/display/standard_output.hpp"

namespace weft::tools {

namespace {

/// Lines for the end of a command's help and manual page.
struct Example {
  const char* command;
  const char* lines;
};
constexpr Example kExamples[] = {
    {"weft", "  weft master & weft worker &\n  weft submit ./wordcount -- --input book.txt --output counts\n  weft job list"},
    {"weft master",
     "  weft master --data-dir /var/lib/weft --journal /var/lib/weft/journal\n  weft master --scheduler 'fair(pools=pools.toml)'"},
    {"weft worker", "  weft worker --master 10.0.0.1:7077 --slots 8 --listen 10.0.0.2:0\n  weft worker --print-config > weft.toml"},
    {"weft run",
     "  weft run wordcount.cpp -- --input book.txt --output counts\n  weft run wordcount.cpp -- --cluster 10.0.0.1:7077 --input "
     "weft://book.txt --output weft://counts"},
    {"weft submit",
     "  weft submit ./wordcount -- --input book.txt --output counts\n  weft submit --deadline 10min ./wordcount -- --input "
     "book.txt --output counts\n  weft submit --detach ./wordcount -- --input weft://book.txt --output weft://counts"},
    {"weft job status", "  weft job status 1\n  weft job status 1 --json"},
    {"weft job logs", "  weft job logs 1\n  weft job logs -f 1\n  weft job logs 1 --task 3.17 --bytes 4MiB"},
    {"weft job wait", "  weft job wait 1 --timeout 10min && echo done"},
    {"weft job attach", "  weft job attach 1"},
    {"weft top", "  weft top --master 10.0.0.1:7077 --interval 1s\n  weft top > snapshot.txt"},
    {"weft node wait", "  weft node wait 4 --timeout 1min"},
    {"weft node set", "  weft node set worker-1 slots=2 memory=4GiB --reason 'nightly backup'\n  weft node set worker-1 nominal"},
    {"weft fs put", "  weft fs put book.txt weft://books/book.txt\n  weft fs put -r logs weft://logs"},
    {"weft fs cp", "  weft fs cp s3://logs/2026/*.gz weft://logs/\n  weft fs cp -r s3://results/counts counts"},
    {"weft table scan", "  weft table scan users --prefix a --limit 10"},
    {"weft scheduler use", "  weft scheduler use fair\n  weft scheduler use 'capacity(queues=queues.toml)'"},
    {"weft advise",
     "  weft advise --from-log /var/lib/weft/events.jsonl --network --nic 1.25GB --disk 500MB\n"
     "  weft advise --from-log events.jsonl --nodes 50 --arrival-scale 0.5\n"
     "  weft advise --workload generate:jobs=200,mean_gap=5s --nodes 50 --cores 8 --racks 5 --network --nic 125MB "
     "--oversubscription 5"},
    {"weft completion",
     "  weft completion bash > ~/.local/share/bash-completion/completions/weft\n"
     "  weft completion fish > ~/.config/fish/completions/weft.fish\n"
     "  weft completion zsh > ~/.zfunc/_weft        # a directory of $fpath"},
};

constexpr std::string_view kClosing = R"(.SH ENVIRONMENT
.TP
.B WEFT_MASTER
Default of \fB\-\-master\fR; without it 127.0.0.1:7077. The addresses of several masters are separated by commas.
.TP
.B WEFT_CRASH_LOG
A file to which every process that dies of a fatal signal appends a line with its name, the address and a backtrace; the line goes to its log anyway.
.SH EXIT STATUS
0 on success, 2 for a wrong command line, 1 for any other failure, which is described in one line on standard error.
\fBweft job wait\fR and \fBweft job tail\fR have more.
.SH NOTES
Job programs run by themselves, in their own process or on private worker processes; \fBweft\fR runs a cluster that many jobs share.
Options of a command may stand before it: \fBweft \-\-master\fR \fIHOST:PORT\fR \fBjob list\fR.
)";

/// They print the content of files, or ask no cluster.
const std::set<std::string_view> kWithoutJson{
    "weft master", "weft worker", "weft run",          "weft submit",   "weft fs cat",         "weft fs head",    "weft fs tail",
    "weft fs get", "weft fs cp",  "weft table export", "weft job tail", "weft profile export", "weft completion", "weft manual"};

Result<void> write_manual(const CLI::App& root, const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(Code::io, fmt::format("cannot make the directory {}: {}", directory, error.message()));
  for (const auto& page : command_line::manual_pages(root, fmt::format("weft {}", version()), std::string(kClosing)))
    WEFT_TRY(write_file(directory + "/" + page.name, page.text));
  return {};
}

template <class Visit>
void for_each_command(CLI::App& app, const Visit& visit) {
  visit(app);
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) for_each_command(*sub, visit);
}

}  // namespace

void add_candidates(command_line::Completion& completion, const std::string& current) {
  if (completion.wanted != "JOB" && completion.wanted != "WORKER") return;
  const char* named = std::getenv("WEFT_MASTER");
  const auto admin = client::Admin::connect(named == nullptr || *named == '\0' ? "127.0.0.1:7077" : named);
  if (!admin) return;
  const auto add = [&](const std::string& word, const std::string& meaning) {
    if (word.starts_with(current)) completion.candidates.push_back({word, meaning});
  };
  if (completion.wanted == "WORKER") {
    for (const auto& node : (*admin)->nodes().value_or(std::vector<client::NodeStatus>())) add(node.name, node.host);
  } else {
    for (const auto& job : (*admin)->jobs().value_or(client::JobList()).jobs)
      add(std::to_string(job.id.value()), fmt::format("{} {}", job.name, name_of(job.state)));
  }
}

void add_completion(CLI::App& app, Action& action) {
  struct ShellOptions {
    std::string shell;
  };
  const Command<ShellOptions> command(app, action, "completion", "Print the completion of weft's commands for a shell",
                                      [](const ShellOptions& options) -> Result<void> {
                                        WEFT_ASSIGN(const std::string script, command_line::completion_script(options.shell));
                                        return print(script);
                                      });
  command.app()
      .add_option("SHELL", command.options().shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
}

void add_manual(CLI::App& app, Action& action) {
  struct ManualOptions {
    std::string directory;
  };
  Command<ManualOptions>(app, action, "manual", "Write the manual pages of all commands into a directory",
                         [&app](const ManualOptions& options) { return write_manual(app, options.directory); })
      .argument("DIRECTORY", &ManualOptions::directory, "Made unless it is there");
}

void add_examples(CLI::App& app) {
  for_each_command(app, [](CLI::App& command) {
    const std::string name = command_line::full_name(command);
    for (const Example& example : kExamples)
      if (name == example.command)
        command.footer((command.get_footer().empty() ? "" : command.get_footer() + "\n") + "Examples:\n" + example.lines);
  });
}

std::shared_ptr<const bool> add_json(CLI::App& app) {
  auto wanted = std::make_shared<bool>(false);
  for_each_command(app, [&wanted](CLI::App& command) {
    if (!command_line::commands_of(command).empty() || kWithoutJson.contains(command_line::full_name(command))) return;
    if (command.get_option_no_throw("--json") != nullptr) return;
    command.add_flag("--json", *wanted, "As JSON: an empty object when it is done");
  });
  return wanted;
}

}  // namespace weft::tools
