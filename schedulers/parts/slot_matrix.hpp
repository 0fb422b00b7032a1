// Which job has how many slots on which node until the next control cycle: Algorithm 1 of RAS (Polo's thesis, section 4.2.4).
//
// A job slot belongs to one job, and nobody configures how many of them a node has: as many as what their tasks take fits the
// node. Readers that fetch while maps run are placed first, evenly over the nodes. All other slots are exchanged between jobs so
// that the lowest utility becomes as high as can be, and then given away while anything fits.
//
// Deviates: room is given away for all nodes together, to the job with the lowest utility where most is left of what its tasks take
// most of; the paper takes slots away from a node and fills it again before it looks at the next. So nodes get mixtures, and few
// tasks are spread out. The readers of a job get nodes until all have one, not one of each node in a cycle.
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

/// What a task takes of its node, and what the master accounts it for: both have to fit.
struct SlotDemand {
  Resources use, demand;
  friend bool operator==(const SlotDemand&, const SlotDemand&) = default;
};
struct SlotJob {
  SlotDemand task;                  // of a map, or of a reader whose inputs are complete
  SlotDemand early;                 // of a reader that fetches what maps write
  std::uint32_t pending = 0;        // of the first: those that run or may run
  std::uint32_t early_pending = 0;  // of the second
};
struct SlotNode {
  SlotDemand capacity;  // amounts that are 0 in `use` are not looked at, nor those in `demand` but cpu
};

/// How tasks fit beside others. What is shared without much loss, which is all but memory, may be overcommitted. Of what a task
/// takes most of, a part of it has to fit: rounded down to whole tasks a node could be a third idle. What it takes less of may be
/// taken already, up to so much more than the node has: one that waits for the disk is not kept away by busy processors.
struct Overcommit {
  double part = 0;  // of a task that need not fit; and of a node, by which tasks may take more of what they do not take most of

  static constexpr bool shared(const ResourceKind& kind) { return kind.amount != &Resources::memory; }
  /// `left` of `has` on the node, before the task. `most`: it takes more of nothing else.
  constexpr bool fits(const ResourceKind& kind, bool most, double wants, double left, double has) const {
    if (!shared(kind)) return wants <= left;
    return most ? wants * (1 - part) <= left : wants <= left + (part > 0 ? part * has : 0);
  }
};

class SlotMatrix {
 public:
  /// Of a job (by its position) that has so many slots, and so many of its early readers placed.
  using Utility = std::function<double(std::uint32_t job, std::uint32_t slots, std::uint32_t early)>;
  struct Cell {
    std::uint32_t job = 0, slots = 0, early = 0;
  };

  SlotMatrix(std::vector<SlotJob> jobs, const std::vector<SlotNode>& nodes, Utility utility, Overcommit overcommit = {});

  /// Puts slots there before the placement begins: those of running tasks, and of the cycle before. Never more than the job has
  /// tasks. They may be more than fit. False: it has no task without a slot.
  bool hold(std::uint32_t node, std::uint32_t job, bool early);
  /// Whether one more task of the job fits the node.
  bool fits(std::uint32_t node, std::uint32_t job, bool early) const;
  /// The algorithm, in so many rounds at most: until the lowest utility does not become higher any more.
  void place(int rounds);

  /// Of the jobs that have tasks.
  double lowest_utility() const;
  /// The part that is taken of the resource of which most is taken.
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
    std::size_t most = 0;                                // the dimension of which it takes most
    std::set<std::pair<double, std::uint32_t>> wanting;  // utility and position of jobs that have tasks without a slot
  };

  std::uint32_t shape_of(const SlotDemand& task);
  bool fits(const Node& node, std::size_t dimension, bool most, double wants) const;
  bool fits(const Node& node, const Shape& shape) const;
  void change(std::uint32_t node, std::uint32_t job, int slots, int early);
  /// The job with the lowest utility of those that have a task which fits the node; nothing: none has.
  const std::pair<double, std::uint32_t>* lowest(const Node& node) const;
  void place_early();
  void fill();
  bool take_away(std::uint32_t node);

  Utility utility_;
  std::size_t dimensions_ = 0;
  std::vector<std::pair<bool, std::size_t>> kinds_;  // of each dimension: of use rather than of demand, and which
  Amounts has_{};                                    // what nodes have together
  Overcommit overcommit_;
  std::vector<Job> jobs_;
  std::vector<Node> nodes_;
  std::vector<Shape> shapes_;
  std::map<Amounts, std::uint32_t> shape_ids_;
  Amounts least_{};  // that any job's task takes
};

}  // namespace weft::schedulers
