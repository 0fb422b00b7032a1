// What commands that simulate share: options of the workload and of the cluster.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/simulator/experiment/experiment.hpp"

namespace CLI {
class App;
}

namespace weft::tools {

inline constexpr std::uint32_t kMostSeeds = 1'000'000;

/// Options of the cluster as they were given.
struct SimulatedCluster {
  std::string file;                   // TOML
  std::vector<std::string> settings;  // "key=value" in the order given, which win
};

inline constexpr const char* kClusterGroup = "Cluster";

/// --workload, --from-log, --scheduler-plugin and what changes the jobs, with the kinds of workloads at the end of the help.
void add_workload_options(CLI::App& command, simulator::experiment::Options& what);
/// --cluster, --set, and options for the usual keys.
void add_cluster_options(CLI::App& command, SimulatedCluster& cluster);

/// Sets what.cluster. invalid_argument and io name the key or the file.
Result<void> use(const SimulatedCluster& cluster, simulator::experiment::Options& what);

/// A plugin whose scheduler does not return ends the process with a line.
void end_on_stall(simulator::experiment::Options& what);

/// Lines on standard error, if that is a terminal and not `quiet`.
simulator::experiment::Progress progress_lines(bool quiet);

}  // namespace weft::tools
