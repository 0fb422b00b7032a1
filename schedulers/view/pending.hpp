// The pending tasks of one stage, indexed by where their input lies. Every operation is O(log n) in the number of tasks. A task
// costs about 20 bytes for each replica of its input, without an allocation of its own: a large cluster has millions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/ids.hpp"
#include "schedulers/view/index_set.hpp"

namespace weft::schedulers {

/// A machine name, interned in the ClusterView (splits name hosts, several nodes may run on one).
using HostId = Id<struct HostTag>;

/// The three-level distance of the papers: 0, 2, 4.
enum class Locality : std::uint8_t { node = 0, rack = 1, any = 2 };
constexpr int distance(Locality locality) { return static_cast<int>(locality) * 2; }

struct Pick {
  std::uint32_t task = 0;
  Locality locality = Locality::any;
};

/// The replicas of a stage's inputs by place (host or rack), and which of them belong to pending tasks. The owner keeps the places
/// of the replicas, in the order of the tasks, and passes them to each call.
template <class Place>
class ReplicaIndex {
 public:
  using Places = std::span<const Place>;
  ReplicaIndex() = default;
  /// No replica belongs to a pending task yet.
  explicit ReplicaIndex(Places places);

  std::span<const std::uint32_t> at(Places places, Place place) const;  // ascending
  std::optional<std::uint32_t> first_pending(Places places, Place place) const;
  void set_pending(Places places, std::uint32_t replica, bool pending);

 private:
  std::vector<std::uint32_t> order_;  // replicas by place, then by number
  IndexSet pending_;                  // positions in it
};

class PendingTasks {
 public:
  PendingTasks() = default;
  /// `hosts[i]` are the hosts of task i's input; an empty outer vector means no task has a preference.
  PendingTasks(std::uint32_t tasks, const std::vector<std::vector<HostId>>& hosts);

  std::uint32_t count() const { return free_.count() + constrained_; }
  bool empty() const { return count() == 0; }
  bool contains(std::uint32_t task) const;
  /// Whether any task of the stage, pending or not, has input that lies somewhere.
  bool placed() const { return !first_host_.empty(); }
  std::span<const HostId> hosts(std::uint32_t task) const;  // replicas, best first
  const IndexSet& unconstrained() const { return free_; }   // for policies with an order of their own

  /// The pending task with the smallest index whose input is at least this near to a node (of that host and rack). Tasks that must
  /// avoid another node count as `any` and come first there, so that a retry is not delayed. Never a task that must avoid `node`.
  std::optional<std::uint32_t> pick(NodeId node, HostId host, RackId rack, Locality locality) const;
  /// The nearest one: node, then rack, then any.
  std::optional<Pick> pick(NodeId node, HostId host, RackId rack) const;

  // Kept by the core.
  void insert(std::uint32_t task, std::optional<NodeId> avoid);
  void erase(std::uint32_t task);
  /// A host turned out to be in this rack.
  void place(HostId host, RackId rack);
  /// Pending tasks that must avoid a node, by that node.
  const std::map<NodeId, std::set<std::uint32_t>>& avoiding() const { return avoiding_; }

 private:
  static constexpr RackId kNowhere{UINT32_MAX};
  std::uint32_t task_of(std::uint32_t replica) const;
  const ReplicaIndex<RackId>& by_rack() const;
  void update_places(std::uint32_t task, bool pending);

  IndexSet free_;  // pending, may run anywhere
  std::map<NodeId, std::set<std::uint32_t>> avoiding_;
  std::uint32_t constrained_ = 0;
  std::vector<std::uint32_t> first_host_;  // of task i: hosts_[first_host_[i] .. first_host_[i + 1]), its replicas
  std::vector<HostId> hosts_;
  std::vector<RackId> racks_;  // of these, or kNowhere
  ReplicaIndex<HostId> by_host_;
  // Made from racks_ when it is needed: the racks of hosts become known one after the other.
  mutable ReplicaIndex<RackId> by_rack_;
  mutable bool racks_changed_ = false;
};

}  // namespace weft::schedulers
