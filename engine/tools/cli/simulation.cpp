#include "engine/tools/cli/simulation.hpp"

#include <cstdio>
#include <cstdlib>

#include <unistd.h>

#include "engine/tools/cli/command.hpp"

namespace weft::tools {

namespace {

using namespace simulator;

constexpr KeyOption kClusterOptions[] = {
    {"--nodes", "nodes", "N|N:…,N:…|trace",
     "Number of nodes (100), or of several kinds with their keys (20:cores=4,5:accelerator=1), or 'trace': the hosts and racks "
     "that "
     "the workload names"},
    {"--cores", "cores", "N", "Cores or slots of a node (8)"},
    {"--map-slots", "map_slots", "N", "Map slots of a node, as in Hadoop 1"},
    {"--reduce-slots", "reduce_slots", "N", "Reduce slots of a node"},
    {"--memory", "memory", "SIZE", "Memory of a node; without it, memory is not accounted for"},
    {"--racks", "racks", "N", "Racks (1)"},
    {"--nic", "network.nic", "SIZE", "With --network: bytes per second of a node, each way"},
    {"--disk", "network.disk", "SIZE", "With --network: bytes per second of a disk, each way"},
    {"--uplink", "network.uplink", "SIZE", "With --network: bytes per second of a rack, each way"},
    {"--oversubscription", "network.oversubscription", "X", "With --network: NICs of a rack over its uplink"},
    {"--replicas", "storage.replicas", "N", "Replicas of inputs (3)"},
    {"--heartbeat", "heartbeat", "TIME", "Nodes report and get tasks this often; 0: at once"},
    {"--slow-start", "slow_start", "X", "Part of the maps that end before reduces start (what the scheduler says, usually 1)"},
    {"--preplace", "preplace", "X", "Part of the maps that end before reduces are placed by predicted sizes (1: never)"},
    {"--shuffle-mode", "shuffle.mode", "memory|pull",
     "memory: outputs in memory, prefetched while maps run; pull: from disk, late (simpler than both)"},
    {"--shuffle-memory", "shuffle.memory", "SIZE", "Of a node for map outputs and prefetched blocks (no limit)"},
    {"--shuffle-replicas", "shuffle_replicas", "1|2", "Nodes that hold each map output, 1 or 2 (1)"},
    {"--speculation", "speculation", "on|off|'on(…)'",
     "Speculative attempts of slow tasks: on, off, or 'on(slower=1.5,shortest=5s,…)' (off)"},
};

constexpr std::string_view kNodes = "nodes=";

}  // namespace

void add_workload_options(CLI::App& command, experiment::Options& what) {
  command.footer("Workloads:\n" + workloads::describe_kinds());
  add_value(command, "--workload", what.workload, "KIND:FILE,...", "KIND:FILE[,key=value,...]; the kinds are below");
  add_value(command, "--from-log", what.from_log, "FILE",
            "Event log of a real cluster: replay its jobs, under its scheduler or others");
  add_duration_option(command, "--last", what.last, Zero::refused,
                      "Only jobs that were submitted within this time before the end of the event log, such as 1h");
  add_value(command, "--scheduler-plugin", what.plugins, "FILE",
            "Shared object with a scheduler of your own (schedulers/plugin.hpp)")
      ->take_all();
  command.add_option("--scale", what.resize.scale, "Multiply the bytes and tasks of each stage");
  command.add_option("--arrival-scale", what.resize.arrival_scale, "Multiply arrival times; 0: all arrive at once");
  command.add_option("--limit-jobs", what.resize.limit, "Only the first jobs of the file");
}

void add_cluster_options(CLI::App& command, SimulatedCluster& cluster) {
  std::vector<std::string>& settings = cluster.settings;
  add_value(command, "--cluster", cluster.file, "FILE", "TOML file of the cluster (weft simulate --print-cluster shows all keys)")
      ->group(kClusterGroup);
  for (const KeyOption& option : kClusterOptions) add_key_option(command, option, settings)->group(kClusterGroup);
  command
      .add_flag_callback(
          "--network", [&settings] { settings.emplace_back("network.flows=true"); },
          "Moving bytes takes time: flows share links max-min fairly")
      ->group(kClusterGroup);
  const auto set = [&settings](const std::vector<std::string>& more) { settings.insert(settings.end(), more.begin(), more.end()); };
  command.add_option_function<std::vector<std::string>>("--set", set, "Any other key of the cluster: --set faults.stragglers=0.05")
      ->type_name("KEY=VALUE")
      ->group(kClusterGroup)
      ->take_all()
      ->delimiter('\0');
}

Result<void> use(const SimulatedCluster& cluster, experiment::Options& what) {
  Config config;
  what.cluster.declare(config);
  if (!what.from_log.empty()) WEFT_TRY(config.set("preplace=0.05"));  // as a master does
  if (!cluster.file.empty()) WEFT_TRY(config.load_file(cluster.file));
  for (const std::string& setting : cluster.settings) {
    if (setting.starts_with(kNodes) && setting.find(':') != std::string::npos) {
      auto kinds = experiment::kinds_setting(std::string_view(setting).substr(kNodes.size()));
      if (!kinds) return fail(std::move(kinds).error().wrap("--nodes"));
      WEFT_TRY(config.set("kinds=" + *kinds));
    } else {
      WEFT_TRY(config.set(setting == "nodes=trace" ? "trace_hosts=true" : setting));
    }
  }
  return {};
}

void end_on_stall(experiment::Options& what) {
  what.on_stall = [](const Error& why) {
    std::fprintf(stderr, "weft: %s\n", why.to_string().c_str());
    ::_exit(EXIT_FAILURE);
  };
}

experiment::Progress progress_lines(bool quiet) {
  const bool shown = !quiet && ::isatty(STDERR_FILENO) == 1;
  return [shown](const std::string& line) {
    if (shown) std::fprintf(stderr, "%s\n", line.c_str());
  };
}

}  // namespace weft::tools
