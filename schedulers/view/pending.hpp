// The pending tasks of one stage, indexed by where their input lies. Every operation is O(log n) in the number of tasks.
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

  /// The first pending task whose input is at least this near to a node (of that host and rack): smallest index first. Tasks that
  /// must avoid another node count as `any` and come first there, so that a retry is not delayed. Never a task that must avoid
  /// `node`.
  std::optional<std::uint32_t> pick(NodeId node, HostId host, RackId rack, Locality locality) const;
  /// The nearest one: node, then rack, then any.
  std::optional<Pick> pick(NodeId node, HostId host, RackId rack) const;

  // Kept by the core.
  void insert(std::uint32_t task, std::optional<NodeId> avoid);
  void erase(std::uint32_t task);
  /// A host turned out to be in this rack.
  void place(HostId host, RackId rack);
  /// Tasks waiting for another node than these: by the node they avoid.
  const std::map<NodeId, std::set<std::uint32_t>>& avoiding() const { return avoiding_; }

 private:
  struct HostIndex {
    std::vector<std::uint32_t> tasks;  // all tasks with input there, ascending
    IndexSet pending;                  // positions in `tasks`
    std::optional<RackId> rack;
  };
  void update_places(std::uint32_t task, bool pending);

  IndexSet free_;  // pending, may run anywhere
  std::map<NodeId, std::set<std::uint32_t>> avoiding_;
  std::uint32_t constrained_ = 0;
  std::vector<std::uint32_t> first_host_;  // of task i: hosts_[first_host_[i] .. first_host_[i + 1])
  std::vector<HostId> hosts_;
  std::map<HostId, HostIndex> by_host_;
  std::map<RackId, IndexSet> by_rack_;
};

}  // namespace weft::schedulers
