// The simulated machines, their racks, and the links between them: which links a move of bytes uses, for which part.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "engine/simulator/cluster_model.hpp"
#include "engine/simulator/flow_network.hpp"
#include "engine/simulator/result.hpp"

namespace weft::simulator {

/// The bytes that a rack's uplink had carried at the last reading.
struct UplinkMeter {
  Time at{0};
  RackTraffic bytes;
};

struct Machine {
  std::string name;
  std::uint32_t rack = 0;
  const NodeGroup* group = nullptr;
  NodeId id;                            // of its present registration
  bool alive = false;                   // in the world
  bool known = false;                   // to the master
  double available = 1;                 // part of its capacity, by ClusterModel::availability
  double speed = 1;                     // times that of its group, as faults have changed it
  std::vector<std::uint32_t> attempts;  // slots of what runs there
  // Heartbeats.
  Time phase{0}, last_beat{-1};
  bool awake = false;  // its next heartbeat is on the agenda
  schedulers::UplinkRate reported_rate{};
  UplinkMeter uplink;
  std::vector<FlowNetwork::Flow> behind;  // on their way from the page cache to the disk
};

/// Bytes on their way: over which links, and how they count.
struct Move {
  TrafficKind kind = TrafficKind::map_read;
  double bytes = 0;  // of the flow
  Traffic traffic;   // it makes
  std::vector<FlowNetwork::Use> uses;
};

/// What a fetch draws from one machine.
struct Source {
  std::uint32_t machine = 0;
  double bytes = 0;
};

class Machines {
 public:
  static constexpr std::uint32_t kOutside = UINT32_MAX;  // a source that is no machine of the cluster
  static constexpr int kFar = 2;                         // distance between racks, and from outside

  /// The links are added to the network when the model has flows.
  Machines(const ClusterModel& model, FlowNetwork& network);

  std::uint32_t count() const { return static_cast<std::uint32_t>(all_.size()); }
  Machine& operator[](std::uint32_t i) { return all_[i]; }
  const Machine& operator[](std::uint32_t i) const { return all_[i]; }
  const std::vector<std::vector<std::uint32_t>>& racks() const { return racks_; }
  /// 0: the same machine, 1: another one in its rack, else kFar. `a` may be kOutside.
  int distance(std::uint32_t a, std::uint32_t b) const {
    if (a == b) return 0;
    return a != kOutside && all_[a].rack == all_[b].rack ? 1 : kFar;
  }
  std::string rack_name(std::uint32_t rack) const;
  std::optional<std::uint32_t> named(const std::string& host) const;

  // Where flows are off, moves take no time, and count for the uplinks at once.
  Move read(std::uint32_t from, std::uint32_t to, double bytes);
  /// Each machine at most once in `sources`. The NICs of sources with a small part of the bytes do not limit the fetch
  /// (NetworkModel::sender_parts).
  Move fetch(const std::vector<Source>& sources, std::uint32_t to);
  /// `local` bytes to the disk of `at`; `copied` of them from there to the first of `copies`, from that to the next, and so on.
  Move write(std::uint32_t at, double local, double copied, const std::vector<std::uint32_t>& copies);
  /// At the disk of `at` only.
  Move disk(std::uint32_t at, double bytes, bool write) const;

  /// The mean rate of a rack's uplink since the meter was last read, as workers measure it; 0 where no uplink is limited.
  schedulers::UplinkRate uplink_rate(FlowNetwork& network, Time now, std::uint32_t rack, UplinkMeter& meter) const;
  /// The present rate of a machine's NIC; 0 where that has no limit.
  schedulers::UplinkRate nic_rate(FlowNetwork& network, std::uint32_t machine) const;
  double uplink_capacity() const { return uplink_; }
  /// Bytes a second that each rack's uplink can carry; 0: any number.
  const std::vector<RackTraffic>& uplink_limits() const { return uplink_limits_; }
  /// The bytes that each rack's uplink has carried; empty with a single rack.
  std::vector<RackTraffic> rack_traffic(FlowNetwork& network, Time now) const;
  /// Counts all flows with that link.
  FlowNetwork::Link meter(TrafficKind kind, int part) const {
    return meters_[static_cast<std::size_t>(kind)][static_cast<std::size_t>(part)];
  }

 private:
  struct Links {
    std::optional<FlowNetwork::Link> in, out, read, write;
  };
  using Parts = std::map<FlowNetwork::Link, double>;  // bytes by link
  static void add(Parts& parts, const std::optional<FlowNetwork::Link>& link, double bytes);
  void cross(Parts& parts, Move& move, std::uint32_t from_rack, std::uint32_t to_rack, double bytes);
  Move finish(Move move, const Parts& parts) const;

  std::vector<Machine> all_;
  std::vector<std::vector<std::uint32_t>> racks_;
  std::map<std::string, std::uint32_t> names_;
  bool flows_ = false;
  double uplink_ = 0;
  bool limits_uplinks_ = false;
  double least_sent_ = 0;  // part of a fetch above which the sender's NIC counts
  std::vector<Links> links_;
  struct Uplink {
    FlowNetwork::Link in = 0, out = 0;  // unlimited ones count only
  };
  std::vector<Uplink> uplinks_;  // by rack
  std::vector<RackTraffic> uplink_limits_;
  std::vector<RackTraffic> rack_traffic_;  // by rack; without flows
  std::array<std::array<FlowNetwork::Link, 3>, kTrafficKinds> meters_{};
};

}  // namespace weft::simulator
