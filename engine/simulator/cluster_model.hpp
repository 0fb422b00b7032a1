// The simulated cluster: machines, network, storage, faults. Plain values; validate() checks them.
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
  double processors = 0;                          // that tasks of a node can use together, for schedulers; 0: unknown
};

/// How long moving bytes takes. Rates are bytes per second; 0: no limit. With `flows` off, moves take no time, but are counted.
///
/// All moves under way share NICs, disks and uplinks max-min fairly. Where ShuffleModel::mode is unset, a task fetches shuffle data
/// in one flow, which draws on all its sources in proportion to what is left there. With a mode it fetches from one source after
/// the other.
struct NetworkModel {
  bool flows = false;
  double nic = 0;                                                // of a node, each direction
  double disk_read = 0, disk_write = 0;                          // of a node
  double uplink = 0;                                             // of a rack, each direction; 0: from the oversubscription
  std::map<std::uint32_t, schedulers::UplinkRate> rack_uplinks;  // of these racks instead, by direction; 0: it never limits
  double oversubscription = 0;                                   // NICs of a rack over its uplink; 0: the uplink never limits
  /// A sender's NIC limits a fetch only if it supplies more than an eighth of the fetch, or more than `sender_parts` / nodes of it.
  /// Ignoring the other senders overstates a NIC's rate by at most `sender_parts`. 0: all senders count.
  double sender_parts = 2;
  /// The time of a request to another rack and its reply, beside the bytes. A task waits four round trips for its input from there:
  /// to connect, to exchange greetings, to open the chunk, to request it. It waits one for each source there that it fetches from.
  /// A prefetched block waits one if nothing else was coming from its source.
  Time round_trip{0};
  Time fetch_interval = std::chrono::seconds(3);   // how often an early reader asks which further maps ended
  Time report_interval = std::chrono::seconds(1);  // how often nodes report their cross-rack rates to the master
};

/// How map outputs reach the reduces that read them (docs/shuffle.md).
struct ShuffleModel {
  /// memory: each node has a worker's shuffle service: outputs in memory, prefetching to the nodes of preplaced reduces (see
  /// ClusterModel::preplace), deferred rounds, eviction. pull: maps write to disk while they work, and reduces fetch everything
  /// when they start. Unset: as pull, except that maps write after their work.
  std::optional<shuffle::Mode> mode;
  std::uint64_t memory = 0;              // of a node for outputs and prefetched blocks; 0: unlimited
  std::uint64_t page_cache = 0;          // with a mode: limit of the bytes that maps have written and the disk has not
  double compressed = 1;                 // with a mode: bytes of map outputs on the network, as a part of their size
  std::uint64_t fetch_bytes = 4u << 20;  // wanted size of one fetch that prefetches: larger ones are simulated faster
};

/// What tasks that work at the same time share on their node (StageSpec::load). Amounts are of a node; 0: no limit.
struct InterferenceModel {
  double cpu = 0;     // cores
  double disk = 0;    // bytes per second, read and written together
  double memory = 0;  // bytes
  /// When tasks want d times the amount, each gets the part d^-(1 + loss) of what it wants: seeks and paging cost the rest.
  double disk_loss = 0.2, memory_loss = 0.5;
  bool on() const { return cpu > 0 || disk > 0 || memory > 0; }
};

/// Where the replicas lie of inputs for which the workload names no hosts: the first anywhere, the second in another rack, the
/// third in the rack of the second, the rest anywhere.
struct StorageModel {
  std::uint32_t replicas = 3;         // 0: inputs have no place (and are read without a move)
  double concentration = 0;           // part of a job's blocks with a replica that is placed in the job's home rack
  std::uint32_t output_replicas = 1;  // of written output; the first is local, so 1 makes no traffic
};

/// A node that dies at a given time, beside the random deaths, or changes its speed then.
struct NodeFault {
  Time at{0};
  std::uint32_t node = 0;  // its number from 0
  bool silent = false;     // the master notices the death only by missing heartbeats
  Time repair{0};          // time until it comes back, empty; 0: never
  double speed = 0;        // of the node from then on, as a multiple of its group's; 0: it dies
};

struct FaultModel {
  Time between_deaths{0};                     // mean time between node deaths in the cluster; 0: none
  double silent = 0;                          // part of the deaths that the master notices only by missing heartbeats
  Time repair = std::chrono::minutes(10);     // mean time until a dead node comes back, empty; 0: never
  Time detection = std::chrono::seconds(10);  // until a silent node counts as lost
  std::vector<NodeFault> nodes;
  double attempt_failures = 0;  // part of the attempts that fail by themselves before their work is done
  double lost_outputs = 0;      // part of the map outputs that cannot be read
  double stragglers = 0;        // part of the attempts that are slow
  double straggler_factor = 3;  // mean factor of their work (uniform from 1 to twice this, minus 1)
};

/// Schedulers see estimates of tasks that differ from the truth by a factor 1 + bias + uniform(-spread, spread) for each stage.
struct EstimateError {
  double duration_bias = 0, duration_spread = 0;
  double demand_bias = 0, demand_spread = 0;
};

/// From `from` on, the first `nodes` nodes have this part of their capacity for tasks, and the others nothing. Running tasks go on
/// to their ends.
struct Availability {
  Time from{0};
  std::uint32_t nodes = UINT32_MAX;
  double part = 1;

  double part_of(std::uint32_t node) const { return node < nodes ? part : 0; }
};

/// The forecast of the availability that schedulers see (NodeInfo::forecast): each part times 1 + bias + uniform(-spread, spread),
/// drawn for each step, and at most 1.
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

  Time heartbeat{0};  // nodes report ends and get tasks at their heartbeats only; 0: at once
  Time step{0};       // the scheduler decides at multiples of this only, after all other events of that moment; 0: at once
  /// Slow start: the part of the maps that must be done before reduces are launched, for jobs without a part of their own. Unset:
  /// the scheduler's, usually 1.
  std::optional<double> slow_start{};
  double preplace = 1;                 // part of the maps that must be done before reduces are preplaced; 1: they never are
  std::uint32_t shuffle_replicas = 1;  // replicas of map outputs, 1 or 2
  master::Speculation speculation;     // when the master launches speculative attempts
  std::uint64_t seed = 1;

  std::uint32_t node_count() const;
  /// One node with `units` of every resource, no network, decisions once a second (the model of Carbyne's authors).
  static ClusterModel one_machine(double units);
};

/// invalid_argument, with one line that names an impossible value and the possible ones.
Result<void> validate(const ClusterModel& model);

}  // namespace weft::simulator
