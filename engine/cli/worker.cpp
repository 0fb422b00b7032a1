// weft worker
#include "runtime/worker/worker.hpp"

#include <cstdio>
#include <memory>
#include <thread>

#include <CLI/CLI.hpp>

#include "base/config.hpp"
#include "base/private_directory.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/text.hpp"
#include "engine/cli/commands.hpp"
#include "engine/client/stop_signal.hpp"
#include "runtime/worker/worker_chunks.hpp"
#include "runtime/worker/worker_tables.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::cli {

namespace {

struct WorkerOptions {
  runtime::WorkerOptions worker;
  std::string config;
  runtime::WorkerChunkOptions chunks;
  std::vector<std::string> settings;  // command-line options as "worker.key=value": they override the file
};

Result<void> run(WorkerOptions options) {
  keep_files_private();
  rpc::raise_descriptor_limit();
  Config config;
  runtime::declare(config, options.worker);
  if (!options.config.empty()) WEFT_TRY(config.load_file(options.config));
  for (const std::string& setting : options.settings) WEFT_TRY(config.set(setting));

  if (!options.chunks.directories.empty()) {
    options.worker.chunks =
        runtime::worker_tables({options.chunks.directories, options.chunks.reserve}, runtime::worker_chunks(options.chunks));
  }
  if (!options.worker.capacity.empty()) WEFT_TRY(schedulers::parse_resources(options.worker.capacity));

  const client::StopSignal stop;
  WEFT_ASSIGN(const auto worker, runtime::Worker::start(options.worker));
  std::jthread watcher([&](const std::stop_token& ended) {
    while (!ended.stop_requested()) {
      if (stop.requested()) return worker->stop();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  Error why = worker->wait();
  watcher.request_stop();
  if (why.code() == Code::cancelled) return {};
  return fail(std::move(why));
}

}  // namespace

void add_worker(CLI::App& app, Action& action) {
  auto options = std::make_shared<WorkerOptions>();
  CLI::App* command = app.add_subcommand("worker", "Run tasks on this machine for a master");
  const auto setting = [&](const std::string& flag, const std::string& key, const std::string& help) {
    return command->add_option_function<std::string>(
        flag, [options, key](const std::string& value) { options->settings.push_back(key + "=" + value); }, help);
  };
  setting("--master", "worker.master", "HOST:PORT of the master (default 127.0.0.1:7077)")->envname("WEFT_MASTER");
  setting("--slots", "worker.slots", "Tasks at a time (default: one per core)");
  setting("--memory", "worker.memory", "Memory of an executor's tasks together (default: a quarter of the machine's)");
  setting("--store-memory", "worker.store", "Map outputs kept in memory (default: a quarter of the machine's)");
  setting("--link-rate", "worker.link_rate",
          "Bytes a second of map outputs that are fetched from each other worker (default: as fast as they come)");
  setting("--directory", "worker.directory", "Work directory (default: a temporary one)");
  setting("--listen", "worker.listen", "HOST:PORT where other workers fetch map outputs (default 127.0.0.1:0)");
  setting("--advertise", "worker.advertise", "Host name or address that other workers should use for this one");
  setting("--share", "worker.share", "Whether workers of this machine map each other's map outputs (default: true)");
  setting("--name", "worker.name", "Name in listings (default: HOST-PID)");
  setting("--host", "worker.host", "This machine, as inputs and topology files name it (default: its host name)");
  setting("--rack", "worker.rack", "Rack of this machine (default: default); a master with --topology knows better");
  setting("--stop-grace", "worker.stop_grace",
          "How long a preempted or late task may take to stop before its executor is killed (default: 2s)");
  setting("--capacity", "worker.capacity", "What it has beside slots: memory=4GiB,disk_read=200MB (memory: as --memory)");
  command->add_option_function<std::vector<std::string>>(
      "--attribute",
      [options](const std::vector<std::string>& values) { options->settings.push_back("worker.attributes=" + join(values, ",")); },
      "NAME=VALUE that schedulers may want to know, such as gpu=1; may be repeated");
  command->add_option_function<std::vector<std::string>>(
      "--local-data",
      [options](const std::vector<std::string>& values) { options->settings.push_back("worker.local_data=" + join(values, ",")); },
      "Directory, as inputs name it, whose files lie on this machine; may be repeated");
  command
      ->add_option("--chunk-dir", options->chunks.directories,
                   "Directory for chunks of the cluster's files; may be repeated, one per disk")
      ->take_all()
      ->allow_extra_args(false);
  const auto size = [command](const std::string& flag, std::uint64_t& value, const std::string& help) {
    command
        ->add_option_function<std::string>(
            flag, [&value](const std::string& text) { value = parse_size(text).value_or(value); }, help)
        ->check([](const std::string& text) {
          const auto parsed = parse_size(text);
          return parsed ? std::string() : parsed.error().to_string();
        });
  };
  size("--chunk-reserve", options->chunks.reserve, "Space of each chunk directory's file system that is left free (default: 1GiB)");
  size("--scrub-rate", options->chunks.scrub_rate, "Bytes a second that are read to find damaged chunks (default: 8MiB; 0: none)");
  command
      ->add_option_function<std::string>(
          "--scrub-interval",
          [options](const std::string& text) { options->chunks.scrub_interval = parse_duration(text).value_or(Duration(0)); },
          "How often every chunk is read to find damage (default: 1d)")
      ->check([](const std::string& text) {
        const auto parsed = parse_duration(text);
        return !parsed ? parsed.error().to_string() : *parsed > Duration(0) ? std::string() : std::string("must be more than 0");
      });
  size("--copy-rate", options->chunks.copy_rate, "Bytes a second of chunks copied to other workers (default: 128MiB; 0: no bound)");
  command->add_option("--config", options->config, "Settings file (TOML); options override it")->check(CLI::ExistingFile);
  command->add_flag_callback(
      "--print-config",
      [] {
        runtime::WorkerOptions defaults;
        Config config;
        runtime::declare(config, defaults);
        std::fputs(config.describe().c_str(), stdout);
        throw CLI::Success();
      },
      "Print all settings with their documentation");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace weft::cli
