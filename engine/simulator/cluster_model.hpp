// The simulated cluster: machines, network, storage, and what goes wrong. Plain values; validate() names what is impossible.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "engine/master/core/speculation.hpp"
#include "engine/simulator/workload.hpp"
#include "schedulers/view/resources.hpp"
#include "shuffle/store/mode.hpp"

namespace weft::simulator {

/// Machines of one kind. Slots are untyped (capacity.cpu of them) or, as in Hadoop 1, typed: then capacity.map_slots and
/// reduce_slots are given, and stages that read no shuffle take a map slot, the others a reduce slot.
struct NodeGroup {
  std::uint32_t count = 1;
  schedulers::Resources capacity;
  double speed = 1;                               // work takes duration / speed
  std::map<std::string, std::string> attributes;  // for schedulers that know accelerators
  std::vector<std::string> hosts;                 // their names, as traces call them; empty: "node-17"
  std::vector<std::uint32_t> racks;               // of each, numbered from 0; empty: evenly, in consecutive blocks
  double processors = 0;                          // that tasks of a node can use together, for schedulers; 0: not told
};

/// How long moving bytes takes. Rates are bytes per second; 0: as fast as one likes. With `flows` off, moves take no time, but are
/// counted.
///
/// All moves under way share NICs, disks and uplinks max-min fairly. Without ShuffleModel::mode a task's fetch of shuffle data is
/// one flow that draws on all its sources in proportion to what is left there; with a mode it fetches from one source after the
/// other.
struct NetworkModel {
  bool flows = false;
  double nic = 0;                                                // of a node, each direction
  double disk_read = 0, disk_write = 0;                          // of a node
  double uplink = 0;                                             // of a rack, each direction; 0: from the oversubscription
  std::map<std::uint32_t, schedulers::UplinkRate> rack_uplinks;  // of these racks instead, by direction; 0: it never limits
  double oversubscription = 0;                                   // NICs of a rack over its uplink; 0: the uplink never limits
  /// A sender's NIC counts in a fetch of which it gives more than an eighth, or more than so many even parts: 1 / nodes is one.
  /// What is not counted takes a NIC at most so many times its rate. 0: all senders count.
  double sender_parts = 2;
  /// What a request to another rack and its answer take, beside the bytes: a task waits for four of them before its input comes
  /// from there (to connect, to greet, to open the chunk, to ask for it), and for one with each source there that it fetches from.
  /// What is prefetched comes after one where nothing else was coming from its source.
  Time round_trip{0};
  Time fetch_interval = std::chrono::seconds(3);   // how often an early reader asks which further maps ended
  Time report_interval = std::chrono::seconds(1);  // how often nodes tell their cross-rack rates to the master
};

/// How map outputs reach the reduces that read them (docs/shuffle.md).
struct ShuffleModel {
  /// memory: each node has a worker's shuffle service: outputs in memory, prefetching to where reduces were placed (see
  /// ClusterModel::preplace), rounds that are deferred, eviction. pull: maps write to disk while they work, reduces fetch
  /// everything when they start. Without: as pull, but that maps write when they have worked.
  std::optional<shuffle::Mode> mode;
  std::uint64_t memory = 0;              // of a node for outputs and prefetched blocks; 0: unlimited
  std::uint64_t page_cache = 0;          // with a mode: what maps may have written that their node's disk does not have yet
  double compressed = 1;                 // with a mode: what map outputs take on the network, as a part of their size
  std::uint64_t fetch_bytes = 4u << 20;  // wanted size of one fetch that prefetches: larger ones are simulated faster
};

/// What tasks that work at the same time on a node take from each other (StageSpec::load). Of a node; 0: there is enough of it.
struct InterferenceModel {
  double cpu = 0;     // cores
  double disk = 0;    // bytes per second, read and written together
  double memory = 0;  // bytes
  /// When d times as much is wanted as there is, each gets a part of d^-(1 + loss): seeks, paging.
  double disk_loss = 0.2, memory_loss = 0.5;
  bool on() const { return cpu > 0 || disk > 0 || memory > 0; }
};

/// Where the replicas of inputs lie that the workload names no hosts for: the first anywhere, the second in another rack, the third
/// beside the second, the rest anywhere.
struct StorageModel {
  std::uint32_t replicas = 3;         // 0: inputs have no place (and are read without a move)
  double concentration = 0;           // part of a job's blocks that have a replica in the job's home rack for certain
  std::uint32_t output_replicas = 1;  // of written output, the first local; 1: no replication traffic
};

/// A node that dies at a given time, beside the random deaths, or from then on works at another speed.
struct NodeFault {
  Time at{0};
  std::uint32_t node = 0;  // its number from 0
  bool silent = false;     // found by the missing heartbeats only
  Time repair{0};          // it comes back, empty, after so long; 0: never
  double speed = 0;        // so many times that of its group, also for what runs there; 0: it dies
};

struct FaultModel {
  Time between_deaths{0};                     // mean time between node deaths in the cluster; 0: none
  double silent = 0;                          // part of the deaths
  Time repair = std::chrono::minutes(10);     // mean time until a dead node comes back, empty; 0: never
  Time detection = std::chrono::seconds(10);  // after which a silent node is taken for lost
  std::vector<NodeFault> nodes;
  double attempt_failures = 0;  // part of the attempts that fail by themselves, somewhere on the way
  double lost_outputs = 0;      // part of the map outputs that turn out to be unreadable
  double stragglers = 0;        // part of the attempts that are slow
  double straggler_factor = 3;  // how much longer the work of those takes, at most (uniform between 1 and twice this, minus 1)
};

/// What schedulers are told about tasks differs from what tasks do: a factor 1 + bias + uniform(-spread, spread) for each stage.
struct EstimateError {
  double duration_bias = 0, duration_spread = 0;
  double demand_bias = 0, demand_spread = 0;
};

/// From `from` on the first `nodes` nodes have this part of their capacity for tasks, and the others nothing. Running tasks end
/// undisturbed.
struct Availability {
  Time from{0};
  std::uint32_t nodes = UINT32_MAX;
  double part = 1;

  double part_of(std::uint32_t node) const { return node < nodes ? part : 0; }
};

/// What schedulers are told beforehand of the availability (NodeInfo::forecast): each part times 1 + bias + uniform(-spread,
/// spread), drawn for each step, but never more than all.
struct ForecastModel {
  std::vector<Availability> steps;  // ascending; empty: the availability itself
  double bias = 0, spread = 0;
};

struct ClusterModel {
  std::vector<NodeGroup> groups;
  std::uint32_t racks = 1;
  NetworkModel network;
  ShuffleModel shuffle;
  InterferenceModel interference;
  StorageModel storage;
  FaultModel faults;
  EstimateError estimates;
  std::vector<Availability> availability;  // ascending; empty: all, always
  ForecastModel forecast;

  Time heartbeat{0};  // nodes report ends and are given tasks at their heartbeats only; 0: at once
  Time step{0};       // the scheduler decides at multiples of this only, when all else of that moment has happened; 0: at once
  /// Part of the maps that must be done before reduces are launched, for jobs that do not say; they fetch as further maps end.
  /// Without: what the scheduler says, usually 1.
  std::optional<double> slow_start{};
  double preplace = 1;                 // part of the maps that must be done before reduces are given nodes; 1: they never are
  std::uint32_t shuffle_replicas = 1;  // copies of map outputs, 1 or 2
  master::Speculation speculation;     // when the master has slow tasks run a second time
  std::uint64_t seed = 1;

  std::uint32_t node_count() const;
  /// Every resource is there `units` times, no network, decisions once a second (the model of Carbyne's authors).
  static ClusterModel one_machine(double units);
};

/// invalid_argument, one line: what cannot be and what can.
Result<void> validate(const ClusterModel& model);

}  // namespace weft::simulator
