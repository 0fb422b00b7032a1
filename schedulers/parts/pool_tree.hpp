// The fair scheduler's pools, what their jobs have and want, and the order of each pool's jobs and pools. Kept up to date as jobs
// change: O(depth * log n) per change.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schedulers/config/pools.hpp"
#include "schedulers/parts/parts.hpp"

namespace weft::schedulers {

/// Shares that differ by less are equal.
inline constexpr double kPoolSlack = 1e-9;

/// Amounts of one slot kind.
struct Amounts {
  double used = 0, demand = 0;  // demand: used and wanted
};
constexpr std::size_t kSlotKinds = 3;

class PoolTree {
 public:
  using PoolIndex = std::size_t;
  static constexpr PoolIndex kRoot = 0;

  struct Pool {
    PoolSettings settings;
    PoolIndex parent = kRoot;
    bool configured = true;  // in the file; other pools are made for the jobs that name them
    std::vector<PoolIndex> pools;
    std::set<JobId> jobs;  // directly in it
    std::array<Amounts, kSlotKinds> amounts;
    /// min(m, demand).
    double guaranteed(SlotKind kind) const;
  };

  /// `otherwise`: settings of pools that are not in the file.
  PoolTree(const std::vector<PoolSettings>& settings, PoolSettings otherwise);

  const Pool& pool(PoolIndex index) const { return nodes_[index].pool; }
  std::size_t size() const { return nodes_.size(); }
  /// Of a job that arrived and did not end.
  PoolIndex pool_of(JobId job) const { return jobs_.at(job).pool; }
  /// Whether some pool limits its running jobs.
  bool limited() const { return limited_; }
  /// Whether its pools let the job run at present.
  bool may_run(JobId job) const { return jobs_.at(job).eligible; }
  /// Whether the job is in the pool, or in one below it.
  bool is_below(JobId job, PoolIndex pool) const;
  Amounts amounts_of(JobId job, SlotKind kind) const { return jobs_.at(job).amounts[static_cast<std::size_t>(kind)]; }

  void arrive(const ClusterView& view, const JobInfo& job);
  void change(const ClusterView& view, const JobInfo& job);
  void end(const ClusterView& view, const JobInfo& job);
  /// See OrderingPolicy::offer: in fair order.
  bool offer(const ClusterView& view, SlotKind kind, Launcher& launcher);
  /// Until it uses `until`, the pool is offered before all others: something was killed for it, which others must not take.
  void serve_first(PoolIndex pool, SlotKind kind, double until) { first_.push_back({pool, kind, until}); }
  /// Ends that for all pools.
  void serve_in_order() { first_.clear(); }

  /// The present share of each pool and each job in `capacity`.
  struct Shares {
    std::vector<double> pools;
    std::map<JobId, double> jobs;
  };
  Shares shares(const ClusterView& view, SlotKind kind, double capacity) const;

 private:
  /// Place among siblings: first those below their minimum, by how far; then by what they have per weight; then the earliest.
  struct Rank {
    int band = 0;
    double ratio = 0;
    JobOrder tie;                     // pools: the submission of the first of their jobs with pending tasks of the kind
    std::optional<PoolIndex> pool{};  // none: a job
    bool operator<(const Rank& other) const;
  };
  struct Node {
    Pool pool;
    std::array<std::set<Rank>, kSlotKinds> order;        // children with pending tasks of the kind
    std::array<std::set<JobOrder>, kSlotKinds> waiting;  // submissions of jobs with such tasks, here and below
    std::array<std::optional<Rank>, kSlotKinds> rank;    // its own, in its parent's order
  };
  struct Job {
    PoolIndex pool = kRoot;
    JobOrder order;
    bool active = true;    // it has running or pending tasks
    bool eligible = true;  // no limit of running jobs keeps it waiting
    std::array<Amounts, kSlotKinds> amounts;
    std::array<std::optional<Rank>, kSlotKinds> rank;
  };

  struct First {
    PoolIndex pool = kRoot;
    SlotKind kind = SlotKind::any;
    double until = 0;
  };

  PoolIndex pool_named(const std::string& name);
  bool offer(const ClusterView& view, SlotKind kind, PoolIndex pool, Launcher& launcher);
  void move(PoolIndex parent, std::size_t kind, std::optional<Rank>& from, std::optional<Rank> to);
  void update(Job& job, const JobInfo& info);
  void update_pools(PoolIndex leaf, std::size_t kind, const Amounts& change);
  void wait(PoolIndex leaf, std::size_t kind, const JobOrder& job, bool waits);
  void update_eligible(const ClusterView& view);

  std::vector<Node> nodes_;  // parents before children; the root first
  std::map<std::string, PoolIndex> by_name_;
  PoolSettings default_;
  std::map<JobId, Job> jobs_;
  std::vector<First> first_;
  bool limited_ = false;
  std::set<JobId> to_notify_;  // that a limit keeps them waiting
};

}  // namespace weft::schedulers
