// Job slots in control cycles: what RAS and Reverse-Adaptive have in common (Polo's thesis, sections 4.2 and 5.3.4). In each cycle
// every job gets slots on every node (slot_matrix.hpp) by its utility (utility.hpp); until the next one nodes start tasks in them,
// those of the lowest utility first, when what runs and what is measured there leaves room (task_use.hpp). Nothing is killed: a
// slot that has gone to another job is taken over when its task ends.
//
// Deviates: a cycle begins sooner, but no sooner than `react` after the one before, when jobs or stages come or go, a job has no
// task left to start, or a node's capacity changes. Jobs without a goal share what goals leave: their utility grows with their
// slots over their weight, so that they get as many.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "schedulers/config/options.hpp"
#include "schedulers/parts/parts.hpp"
#include "schedulers/parts/task_use.hpp"

namespace weft::schedulers {

/// What a job with a goal needs.
struct SlotNeed {
  double required = 1;        // slots, all in all, so that it ends in time at this pace
  std::optional<double> fit;  // slots that cannot be put off (Reverse-Adaptive)
  bool lost = false;          // the goal cannot be met any more: the job gets what is left when others have what they need
};

/// What decides how urgent jobs are, and what nodes will have.
class SlotGoals {
 public:
  struct Job {
    const JobInfo* info = nullptr;
    std::uint32_t pending = 0, running = 0;  // tasks that run or may run, and of these those that run
    Resources use;                           // of such a task
  };
  virtual ~SlotGoals() = default;
  /// Of each job, in this order; what it says of jobs without a goal does not count. The next cycle begins so long from now.
  virtual std::vector<SlotNeed> needs(const ClusterView& view, std::span<const Job> jobs, Time cycle) = 0;
  /// What the node can be expected to have for a task that takes so long.
  virtual Resources available(const ClusterView& view, const NodeInfo& node, Time lasting) const {
    return (void)view, (void)lasting, node.capacity;
  }
};

struct JobSlotsOptions {
  Time cycle = std::chrono::seconds(30), react = std::chrono::milliseconds(100);
  TaskUseOptions use;
};
/// The options cycle, react, node, measured and overcommit.
Result<JobSlotsOptions> take_job_slots(Options& options);

class JobSlots final : public OrderingPolicy {
 public:
  /// A job at the beginning of a cycle.
  struct Standing {
    double utility = 0;
    std::uint32_t slots = 0, early = 0;
    SlotNeed need;
    bool goal = false;
  };
  using Watch = std::function<void(Time now, JobId job, const Standing& standing)>;

  JobSlots(const JobSlotsOptions& options, std::unique_ptr<SlotGoals> goals);
  /// Tells each cycle's standings to somebody.
  void watch(Watch watch) { watch_ = std::move(watch); }

  Asks asks() const override { return Asks::nodes_of_any_slot; }
  bool offers_all() const override { return false; }
  Time period() const override { return options_.cycle; }
  Time next_tick(Time planned) const override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  bool tick(const ClusterView& view, Decisions& decisions) override;
  bool offer(const ClusterView& view, SlotKind kind, Launcher& launcher) override;
  void explain(const ClusterView& view, Launcher& launcher) override;

 private:
  struct Slot {
    JobId job;
    std::uint32_t slots = 0, early = 0;
    double utility = 0;
  };
  using Slots = std::map<NodeId, std::vector<Slot>>;  // of each node, the lowest utility first

  std::vector<SlotGoals::Job> wishes(const ClusterView& view, std::vector<SlotJob>& jobs) const;
  double utility(const SlotGoals::Job& job, const Standing& standing, std::uint32_t early_pending, double share) const;
  void place(const ClusterView& view, std::span<const SlotGoals::Job> jobs, std::vector<SlotJob> slot_jobs);
  using Numbers = std::map<JobId, std::uint32_t>;  // of jobs, in a matrix
  void keep_running(const ClusterView& view, const Numbers& numbers, SlotMatrix& matrix, const std::vector<const NodeInfo*>& nodes,
                    bool readers_only) const;
  void keep_slots(const ClusterView& view, const Numbers& numbers, SlotMatrix& matrix,
                  const std::vector<const NodeInfo*>& nodes) const;
  bool launch_in(const ClusterView& view, const Slot& slot, const JobInfo& job, Launcher& launcher) const;
  bool launch_elsewhere(const ClusterView& view, Launcher& launcher);
  std::string reason(JobId job) const;

  JobSlotsOptions options_;
  std::unique_ptr<SlotGoals> goals_;
  TaskUse use_;
  Watch watch_;
  Slots slots_;
  std::map<JobId, Standing> standings_;
  std::map<JobId, std::string> told_;
  std::set<JobId> untold_, failed_;  // jobs that nothing was told of; with tasks that have failed somewhere
  Time last_ = Time::min();          // when the present cycle began
  bool changed_ = false;             // what it was made for
};

}  // namespace weft::schedulers
