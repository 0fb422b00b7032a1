// weft worker
#include "runtime/worker/worker.hpp"

#include <cstdio>
#include <memory>
#include <thread>

#include "base/config.hpp"
#include "base/machine.hpp"
#include "base/private_directory.hpp"
#include "base/rpc/credentials.hpp"
#include "base/rpc/descriptors.hpp"
#include "base/text.hpp"
#include "engine/client/stop_signal.hpp"
#include "engine/master/nodes/capacity_words.hpp"
#include "engine/tools/cli/command.hpp"
#include "engine/tools/web/worker_metrics.hpp"
#include "runtime/worker/capacity_files.hpp"
#include "runtime/worker/kept_name.hpp"
#include "runtime/worker/worker_chunks.hpp"
#include "runtime/worker/worker_devices.hpp"
#include "runtime/worker/worker_tables.hpp"
#include "schedulers/view/resources.hpp"
#include "storage/parquet/module.hpp"

namespace weft::tools {

namespace {

struct WorkerSettings {
  runtime::WorkerOptions worker;
  std::string config;
  runtime::WorkerChunkOptions chunks;
  std::string http;  // address of its metrics; empty: none
  bool lists_devices = false;
  std::vector<std::string> settings;  // command-line options as "worker.key=value": they override the file
};

Result<void> run(WorkerSettings options) {
  keep_files_private();
  WEFT_ASSIGN(options.worker.security, rpc::security_of_environment());
  rpc::raise_descriptor_limit();
  storage::parquet::tell_children();
  Config config;
  runtime::declare(config, options.worker);
  if (!options.config.empty()) WEFT_TRY(config.load_file(options.config));
  for (const std::string& setting : options.settings) WEFT_TRY(config.set(setting));

  for (const std::string& directory : options.chunks.directories) WEFT_TRY(check_directory("--chunk-dir", directory));
  WEFT_TRY(check_distinct("--chunk-dir", options.chunks.directories));
  if (!options.chunks.directories.empty()) {
    const std::string host = options.worker.host.empty() ? machine_name() : options.worker.host;
    if (options.worker.name.empty()) options.worker.name = runtime::kept_name(options.chunks.directories, host);
    options.worker.chunks =
        runtime::worker_tables({options.chunks.directories, options.chunks.reserve}, runtime::worker_chunks(options.chunks));
  }
  if (!options.worker.capacity.empty()) WEFT_TRY(master::parse_offer(options.worker.capacity));

  options.worker.own_process = true;
  const client::StopSignal stop;
  std::unique_ptr<web::WorkerMetrics> metrics;  // outlives the worker
  if (!options.http.empty()) {
    WEFT_ASSIGN(metrics, web::WorkerMetrics::start(options.http));
    options.worker.on_heartbeat = [&served = *metrics](const runtime::protocol::Heartbeat& heartbeat) { served.note(heartbeat); };
    options.worker.on_registration = [&served = *metrics](bool registered) { served.note_registration(registered); };
    std::printf("weft worker's metrics are at %s/metrics\n", metrics->url().c_str());
    std::fflush(stdout);
  }
  WEFT_ASSIGN(const auto worker, runtime::Worker::start(options.worker));
  const Duration drain = options.worker.drain;
  std::jthread watcher([&](const std::stop_token& ended) {
    while (!ended.stop_requested()) {
      if (stop.requested()) return drain > Duration(0) ? worker->drain(drain) : worker->stop();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  Error why = worker->wait();
  watcher.request_stop();
  if (why.code() == Code::cancelled) return {};
  return fail(std::move(why));
}

constexpr KeyOption kWorkerOptions[] = {
    {"--slots", "worker.slots", "N", "Tasks at a time (default: one per processor that it may use)"},
    {"--memory", "worker.memory", "SIZE", "Memory of an executor's tasks together (default: a quarter of the machine's)"},
    {"--store-memory", "worker.store", "SIZE", "Map outputs kept in memory (default: a quarter of the machine's)"},
    {"--link-rate", "worker.link_rate", "SIZE", "Bytes per second fetched from each other worker (default: no limit)"},
    {"--directory", "worker.directory", "DIR", "Work directory (default: a temporary one)"},
    {"--listen", "worker.listen", "HOST:PORT", "Where other workers fetch map outputs (default: 127.0.0.1:0)"},
    {"--advertise", "worker.advertise", "HOST", "Host name or address that other workers should use for this one"},
    {"--share", "worker.share", "true|false", "Whether workers of this machine map each other's map outputs (default: true)"},
    {"--compress", "worker.compress", "true|false",
     "Whether map outputs are compressed for other machines where that saves enough (default: true)"},
    {"--name", "worker.name", "NAME",
     "Name in listings, for one worker at a time (default: one that its chunk directories keep; without any, HOST-PID, and a "
     "number where that is taken)"},
    {"--host", "worker.host", "HOST", "This machine, as inputs and topology files name it (default: its host name)"},
    {"--rack", "worker.rack", "RACK", "Rack of this machine (default: default); the file of a master's --topology overrides it"},
    {"--stop-grace", "worker.stop_grace", "TIME",
     "How long a preempted or late task may take to stop before its executor is killed (default: 2s)"},
    {"--drain", "worker.drain", "TIME",
     "When told to end (SIGTERM), how long it may take to finish its tasks and to hand over map outputs and chunks (default: 0s)"},
    {"--drain-chunks", "worker.drain_chunks", "sole|all",
     "Which of its chunks others must have by then: those that nobody else has, or all (default: sole)"},
    {"--master-patience", "worker.master_patience", "TIME",
     "How long its tasks go on while the master, if it keeps jobs, is away (default: 10min; 0s: not at all)"},
    {"--run-as", "worker.run_as", "self|submitter|USER",
     "As whom jobs' programs run, when the worker is root's: submitter is the job's user, or nobody where this machine has no such "
     "user "
     "(default: self)"},
    {"--sandbox", "worker.sandbox", "true|false",
     "Whether jobs' programs see the machine's files read-only, and none of other jobs; with --run-as (default: false)"},
    {"--cgroup", "worker.cgroup", "auto|GROUP|none",
     "Where each job gets a control group for its memory, processes and share of the processors (default: auto, the worker's own "
     "group)"},
    {"--job-processes", "worker.job_processes", "N",
     "Processes and threads that a job may have here, besides those of its tasks (default: 4096; 0: no limit)"},
    {"--capacity", "worker.capacity", "RESOURCES", "Resources besides slots: memory=4GiB,disk_read=200MB (memory: as --memory)"},
    {"--devices", "worker.devices", "none|auto|cpu|LABELS",
     "Devices for kernels that its tasks may hold: GPUs or else other accelerators (auto), or those of --list-devices, 0.0,0.1 "
     "(default: none)"},
    {"--yield", "worker.yield", "true|false",
     "Whether others on this machine keep the processors and the memory they take (default: false)"},
};

/// What is wrong with a file, for the command line; nothing when it can be parsed.
template <class Parse>
std::string why_not(const std::string& path, Parse&& parse) {
  const auto text = runtime::read_capacity_text(path);
  if (!text) return text.error().to_string();
  const auto parsed = parse(*text);
  return parsed ? std::string() : path + ": " + parsed.error().to_string();
}

void add_settings(CLI::App& command, std::vector<std::string>& settings) {
  const auto list = [&](const KeyOption& option) {
    const auto set = [&settings, key = std::string(option.key)](const std::vector<std::string>& values) {
      settings.push_back(key + "=" + join(values, ","));
    };
    command.add_option_function<std::vector<std::string>>(option.name, set, option.help)->type_name(option.value);
  };
  const KeyOption master{"--master", "worker.master", "HOST:PORT",
                         "Address of the master, or of each, separated by commas (default: 127.0.0.1:7077)"};
  add_key_option(command, master, settings)->envname("WEFT_MASTER");
  for (const KeyOption& option : kWorkerOptions) add_key_option(command, option, settings);
  const KeyOption capacity{"--capacity-from", "worker.capacity_from", "FILE",
                           "File that says what it may be given at present: slots=1,memory=2GiB"};
  add_key_option(command, capacity, settings)->check([](const std::string& path) {
    return why_not(path, master::parse_capacity_words);
  });
  const KeyOption forecast{"--forecast", "worker.forecast", "FILE",
                           "File of what it will be given, by the hours of a day: lines of 09:00 50%"};
  add_key_option(command, forecast, settings)->check([](const std::string& path) { return why_not(path, master::parse_forecast); });
  list({"--attribute", "worker.attributes", "NAME=VALUE", "A fact for schedulers, such as gpu=1; may be repeated"});
  list({"--writable", "worker.writable", "DIR", "Directory to which programs in a sandbox can write outputs; may be repeated"});
  list({"--local-data", "worker.local_data", "DIR",
        "Directory, as inputs name it, whose files lie on this machine; may be repeated"});
}

void add_chunk_options(CLI::App& command, runtime::WorkerChunkOptions& chunks) {
  add_value(command, "--chunk-dir", chunks.directories, "DIR",
            "Directory for chunks of the cluster's files; may be repeated, one per disk")
      ->take_all()
      ->allow_extra_args(false);
  add_size_option(command, "--chunk-reserve", chunks.reserve,
                  "Space of each chunk directory's file system that is left free (default: 1GiB)");
  add_size_option(command, "--scrub-rate", chunks.scrub_rate,
                  "Bytes per second that are read to find damaged chunks (default: 8MiB; 0: none)");
  add_duration_option(command, "--scrub-interval", chunks.scrub_interval, Zero::refused,
                      "How often every chunk is read to find damage (default: 1d)");
  add_size_option(command, "--copy-rate", chunks.copy_rate,
                  "Bytes per second of chunks copied to other workers (default: 128MiB; 0: no limit)");
}

Result<void> print_devices() {
  std::string why;
  WEFT_ASSIGN(const auto devices, runtime::list_devices(why));
  if (devices.empty()) std::printf("no devices: %s\n", why.empty() ? "the drivers know none" : why.c_str());
  for (const runtime::Device& device : devices)
    std::printf("%-6s %-12s %10s  %s (%s)\n", device.label.c_str(), device.kind.c_str(), human_bytes(device.memory_bytes).c_str(),
                device.name.c_str(), device.platform.c_str());
  return {};
}

void print_settings() {
  runtime::WorkerOptions defaults;
  Config config;
  runtime::declare(config, defaults);
  std::fputs(config.describe().c_str(), stdout);
}

}  // namespace

void add_worker(CLI::App& app, Action& action) {
  Command<WorkerSettings> command(app, action, "worker", "Run tasks on this machine for a master",
                                  [](const WorkerSettings& given) { return given.lists_devices ? print_devices() : run(given); });
  add_settings(command.app(), command.options().settings);
  add_chunk_options(command.app(), command.options().chunks);
  command.value("--http", &WorkerSettings::http, "HOST:PORT",
                "Where its metrics, /healthz and /readyz are served (default: nowhere)");
  command.app()
      .add_option("--config", command.options().config, "Settings file (TOML); options override it")
      ->check(CLI::ExistingFile);
  command.app().add_flag("--list-devices", command.options().lists_devices, "Print the devices that --devices can name");
  command.app().add_flag_callback(
      "--print-config",
      [] {
        print_settings();
        throw CLI::Success();
      },
      "Print all settings with their documentation");
}

}  // namespace weft::tools
