// weft master
#include <atomic>
#include <cstdio>
#include <memory>
#include <optional>
#include <thread>

#include <CLI/CLI.hpp>

#include "base/file.hpp"
#include "base/private_directory.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/text.hpp"
#include "engine/cli/commands.hpp"
#include "engine/client/stop_signal.hpp"
#include "engine/master/file_service.hpp"
#include "engine/master/server.hpp"

namespace weft::cli {

namespace {

struct MasterOptions {
  master::ServerOptions server;
  std::string port_file;
  master::FileServiceOptions files;
};

Result<void> run(MasterOptions options) {
  keep_files_private();
  rpc::raise_descriptor_limit();
  const client::StopSignal stop(client::StopSignal::Hangup::reloads);
  std::atomic<bool> broken{false};
  if (!options.files.data_directory.empty()) options.server.storage = master::file_service(options.files);
  std::optional<Error> why;  // written before `broken` is
  options.server.on_fatal = [&](const Error& error) {
    why = error;
    broken = true;
  };
  WEFT_ASSIGN(auto server, master::Server::start(options.server));
  std::printf("weft master listens on %s\n", server->address().c_str());
  std::fflush(stdout);
  if (!options.port_file.empty()) WEFT_TRY(write_file(options.port_file, server->address() + "\n"));
  while (!stop.requested() && !broken) {
    if (stop.take_reload()) server->reload();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  server.reset();
  if (why) return fail(*why);
  return {};
}

}  // namespace

void add_master(CLI::App& app, Action& action) {
  auto options = std::make_shared<MasterOptions>();
  master::ServerOptions& server = options->server;
  server.speculation.on = true;
  CLI::App* command = app.add_subcommand("master", "Run a master: it takes jobs and gives their tasks to workers");
  command->add_option("--listen", server.listen, "HOST:PORT to listen on; port 0 takes any")->capture_default_str();
  command->add_option("--scheduler", server.scheduler, "Scheduler, with options: NAME or 'NAME(key=value,…)'")
      ->capture_default_str();
  command
      ->add_option("--scheduler-plugin", server.scheduler_plugins,
                   "Shared object that brings schedulers of one's own; may be repeated")
      ->take_all()
      ->allow_extra_args(false);
  command
      ->add_option_function<std::string>(
          "--scheduler-timeout",
          [options](const std::string& text) { options->server.scheduler_timeout = parse_duration(text).value_or(Duration(0)); },
          "With plugins: how long a scheduler may think at a time before the master gives up (default: 5s)")
      ->check([](const std::string& text) {
        const auto parsed = parse_duration(text);
        return !parsed ? parsed.error().to_string() : *parsed > Duration(0) ? std::string() : std::string("must be more than 0");
      });
  command
      ->add_option_function<std::string>(
          "--speculation",
          [options](const std::string& text) {
            if (auto parsed = master::parse_speculation(text)) options->server.speculation = *parsed;
          },
          "Second attempts at tasks that take much longer than others of their stage: on, off, or\n"
          "'on(slower=1.5,shortest=5s,…)' (default: on)")
      ->check([](const std::string& text) {
        const auto parsed = master::parse_speculation(text);
        return parsed ? std::string() : parsed.error().to_string();
      });
  command
      ->add_option_function<std::string>(
          "--shuffle-mode",
          [options](const std::string& text) {
            options->server.shuffle_mode = shuffle::parse_mode(text).value_or(shuffle::Mode::memory);
          },
          "Of jobs that do not say: memory keeps map outputs there and brings them to their readers early, pull writes them to\n"
          "disk and fetches them late (default: memory)")
      ->check(CLI::IsMember({"memory", "pull"}));
  command
      ->add_option(
          "--shuffle-replicas", server.shuffle_replicas,
          "Of jobs that do not say: copies of map outputs, on different workers, 1 or 2: with two a lost worker's maps need\n"
          "not run again (default: 1)")
      ->check(CLI::IsMember({"1", "2"}));
  command->add_option(
      "--journal", server.journal,
      "File that keeps what a restarted master must know: which jobs ended and how, which ids were given; continued\n"
      "when it exists (default: none is kept)");
  command->add_option(
      "--topology", server.topology,
      "Racks: a file of lines HOST RACK, or a program that prints the rack of the host it is given (default: workers say)");
  command->add_option("--event-log", server.event_log,
                      "File of events as JSON lines; continued when it exists (default: none is written)");
  command->add_option("--directory", server.directory, "Where uploaded programs are kept (default: a temporary directory)");
  command->add_option(
      "--data-dir", options->files.data_directory,
      "Directory of the namespace of the cluster's files; continued when it exists (default: the cluster keeps none)");
  const auto duration = [command](const std::string& flag, Duration& value, const std::string& help) {
    command
        ->add_option_function<std::string>(
            flag, [&value](const std::string& text) { value = parse_duration(text).value_or(value); }, help)
        ->check([](const std::string& text) {
          const auto parsed = parse_duration(text);
          return !parsed ? parsed.error().to_string() : *parsed > Duration(0) ? std::string() : std::string("must be more than 0");
        });
  };
  storage::NamespaceOptions& files = options->files.options;
  duration("--reclaim-delay", files.reclaim_delay, "How long the chunks of removed files are kept (default: 1min)");
  duration("--lease", files.lease, "How long a writer may be silent before its file is given up (default: 1min)");
  duration("--lost-grace", files.lost_grace,
           "How long a lost worker may take to come back before its chunks are copied (default: 2s)");
  command->add_option("--port-file", options->port_file, "Write the address to this file once bound");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace weft::cli
