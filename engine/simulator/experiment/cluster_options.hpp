// A simulated cluster as people write it: keys of a TOML file, most of them command line options too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.hpp"
#include "base/result.hpp"
#include "engine/simulator/cluster_model.hpp"
#include "engine/simulator/workloads/recording.hpp"

namespace weft::simulator::experiment {

struct ClusterOptions {
  std::uint32_t nodes = 0;   // 0: not given, which is 100, or the nodes of the log that is replayed
  bool trace_hosts = false;  // instead: the hosts and racks that the workload names
  std::uint32_t racks = 1;
  std::optional<double> cores{};  // not given: 8, or those of the nodes of the log
  double map_slots = 0, reduce_slots = 0, accelerator = 0;
  std::uint64_t memory = 0, disk_read = 0, disk_write = 0, network_in = 0, network_out = 0;
  double speed = 1;
  std::vector<std::string> kinds;         // instead of `nodes`: "count=20", "count=5,accelerator=1"
  std::vector<std::string> groups;        // "count=6,cores=4,speed=25,attributes=(gpu=1)": further nodes
  std::vector<std::string> node_faults;   // "at=10s,node=3,silent=true,repair=1min"
  std::vector<std::string> availability;  // "from=1h,nodes=80,part=0.5"
  std::string availability_file, forecast_file;
  std::string speculation;                // empty: off, or as a log says
  std::vector<std::string> rack_uplinks;  // "rack=3,up=50MB,down=100MB"
  std::uint64_t disk_shared = 0, memory_shared = 0;
  std::string shuffle_mode;  // "", "memory", "pull"

  bool flows = false;
  std::uint64_t nic = 0, disk = 0, uplink = 0;  // bytes per second
  ClusterModel model;                           // everything that needs no conversion

  /// The variables must not move afterwards.
  void declare(Config& config);
  /// The keys of one kind of node, which groups have, too.
  void declare_node(Config& config);
  /// invalid_argument, naming the key.
  Result<ClusterModel> build(const std::vector<HostSpec>& hosts) const;
  /// The capacity of a node of the first kind: the machine of traces (workloads::Context).
  schedulers::Resources machine() const;
  /// Whether something is said about which nodes and racks there are, or about what a node has.
  bool names_nodes() const;

 private:
  /// Of `nodes`, or the hosts that the workload names.
  Result<NodeGroup> first_group(const std::vector<HostSpec>& hosts, std::uint32_t& of_racks) const;
};

/// "20:cores=4,5:cores=4,accelerator=1" as settings of `kinds`: a number of nodes, and keys of these behind a colon.
/// invalid_argument, naming what is wrong.
Result<std::string> kinds_setting(std::string_view text);

/// Puts the nodes of a recorded run in place of the first kind of the options, with their absences. If the options give a number of
/// nodes, these are of the same kinds in turn, without absences. Amounts that the options give for a node replace recorded ones.
/// Where moving bytes takes time and the options say nothing of uplinks, those that the log names count. Nodes that `kinds` names
/// stay.
Result<void> use_recorded_nodes(const std::vector<workloads::RecordedNode>& nodes, const ClusterOptions& options,
                                ClusterModel& model);

/// "100 nodes of cpu=8 in 10 racks, no network": for the head of a report.
std::string describe(const ClusterModel& model);

}  // namespace weft::simulator::experiment
