// How many slots each job has on each node until the next control cycle: Algorithm 1 of RAS (Polo's thesis, section 4.2.4).
//
// A job slot belongs to one job. The number of slots of a node is not configured: there are as many as tasks fit the node. Readers
// that fetch while maps run are placed first, evenly over the nodes. All other slots are exchanged between jobs so that the lowest
// utility becomes as high as possible, and then added while any task fits.
//
// Deviates: slots are added on all nodes together, for the job with the lowest utility, on the node that has most left of the
// resource that its tasks need most; the paper takes slots away from one node and fills it again before the next. So nodes get
// mixtures, and few tasks are spread out. The readers of a job get nodes until all have one, not one of each node in a cycle.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

/// What a task uses of its node, and its demand in the master's account: both must fit.
struct SlotDemand {
  Resources use, demand;
  friend bool operator==(const SlotDemand&, const SlotDemand&) = default;
};
struct SlotJob {
  SlotDemand task;                  // of a map, or of a reader whose inputs are complete
  SlotDemand early;                 // of a reader that fetches what maps write
  std::uint32_t pending = 0;        // number of the first that run or may run
  std::uint32_t early_pending = 0;  // number of the second that run or may run
};
struct SlotNode {
  SlotDemand capacity;  // kinds other than cpu with 0 are not limited
};

/// How tasks fit beside others. All resources except memory can be shared without much loss, and may be overcommitted. Of the
/// resource that a task needs most, only a part of the task must fit: with whole tasks a node could be a third idle. Of the others,
/// the node may be overcommitted by a part of its capacity: busy processors do not keep away a task that waits for the disk.
struct Overcommit {
  double part = 0;  // of a task, that need not fit; of a node, by which it may be overcommitted

  static constexpr bool shared(const ResourceKind& kind) { return kind.amount != &Resources::memory; }
  /// `left` of `has` is free on the node, before the task. `most`: this is the resource that the task needs most.
  constexpr bool fits(const ResourceKind& kind, bool most, double wants, double left, double has) const {
    if (!shared(kind)) return wants <= left;
    return most ? wants * (1 - part) <= left : wants <= left + (part > 0 ? part * has : 0);
  }
};

class SlotMatrix {
 public:
  /// Of a job (by its position) with that many slots, and that many of its early readers placed.
  using Utility = std::function<double(std::uint32_t job, std::uint32_t slots, std::uint32_t early)>;
  struct Cell {
    std::uint32_t job = 0, slots = 0, early = 0;
  };

  SlotMatrix(std::vector<SlotJob> jobs, const std::vector<SlotNode>& nodes, Utility utility, Overcommit overcommit = {});

  /// Adds a slot before the placement begins: of a running task, or of the cycle before. It need not fit. False: all tasks of the
  /// job have slots.
  bool hold(std::uint32_t node, std::uint32_t job, bool early);
  /// Whether one more task of the job fits the node.
  bool fits(std::uint32_t node, std::uint32_t job, bool early) const;
  /// The algorithm: at most `rounds` rounds, until the lowest utility does not rise any more.
  void place(int rounds);

  /// Of the jobs with tasks.
  double lowest_utility() const;
  /// The taken part of the fullest resource.
  double fullness() const;
  const std::vector<Cell>& at(std::uint32_t node) const { return nodes_[node].cells; }
  std::uint32_t slots(std::uint32_t job) const { return jobs_[job].slots; }
  std::uint32_t early(std::uint32_t job) const { return jobs_[job].early; }
  double utility(std::uint32_t job) const { return jobs_[job].utility; }

 private:
  static constexpr std::size_t kMost = 2 * kResourceKinds.size();
  using Amounts = std::array<double, kMost>;  // the first dimensions_ of them
  struct Job {
    SlotJob of;
    std::uint32_t task_shape = 0, early_shape = 0;
    std::uint32_t slots = 0, early = 0;
    double utility = 0;
  };
  struct Node {
    Amounts has{}, left{};
    std::vector<Cell> cells;
    std::uint32_t early = 0;
  };
  struct Shape {
    Amounts amounts{};
    std::size_t most = 0;                                // the dimension that it needs most
    std::set<std::pair<double, std::uint32_t>> wanting;  // utility and position of jobs with tasks without a slot
  };

  std::uint32_t shape_of(const SlotDemand& task);
  bool fits(const Node& node, std::size_t dimension, bool most, double wants) const;
  bool fits(const Node& node, const Shape& shape) const;
  void change(std::uint32_t node, std::uint32_t job, int slots, int early);
  /// The job with the lowest utility of those with a task that fits the node; null: there is none.
  const std::pair<double, std::uint32_t>* lowest(const Node& node) const;
  void place_early();
  void fill();
  bool take_away(std::uint32_t node);

  Utility utility_;
  std::size_t dimensions_ = 0;
  std::vector<std::pair<bool, std::size_t>> kinds_;  // of each dimension: use rather than demand, and its kind
  Amounts has_{};                                    // capacity of all nodes together
  Overcommit overcommit_;
  std::vector<Job> jobs_;
  std::vector<Node> nodes_;
  std::vector<Shape> shapes_;
  std::map<Amounts, std::uint32_t> shape_ids_;
  Amounts least_{};  // that a task of any job takes
};

}  // namespace weft::schedulers
