// Job slots in control cycles: the common part of RAS and Reverse-Adaptive (Polo's thesis, sections 4.2 and 5.3.4). In each cycle,
// jobs get slots on nodes (slot_matrix.hpp) by their utility (utility.hpp). Until the next cycle, nodes launch tasks in these
// slots, the lowest utility first, where running tasks and measurements leave enough free capacity (task_use.hpp). Nothing is
// killed: a slot that another job got is free when its task ends.
//
// Deviates: a cycle begins early, but no earlier than `react` after the one before, when jobs or stages come or go, a job has no
// task left to launch, or a node's capacity changes. Jobs without a goal share the slots that goals leave by weight: their utility
// grows with their slots over their weight.
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
#include "schedulers/parts/fair_ends.hpp"
#include "schedulers/parts/parts.hpp"
#include "schedulers/parts/task_use.hpp"

namespace weft::schedulers {

/// The need of a job with a goal.
struct SlotNeed {
  double required = 1;        // slots, so that the job ends in time at this pace
  std::optional<double> fit;  // slots that cannot be delayed (Reverse-Adaptive)
  bool lost = false;          // the goal cannot be met any more: the job gets slots that others do not need
};

/// Decides how many slots jobs need, and predicts the capacity of nodes.
class SlotGoals {
 public:
  struct Job {
    const JobInfo* info = nullptr;
    std::uint32_t pending = 0, running = 0;  // tasks that run or may run; those of them that run
    Resources use;                           // by such a task
  };
  virtual ~SlotGoals() = default;
  /// Of each job, in this order; needs of jobs without a goal are ignored. The next cycle begins after `cycle`.
  virtual std::vector<SlotNeed> needs(const ClusterView& view, std::span<const Job> jobs, Time cycle) = 0;
  /// The capacity that the node is expected to have throughout the next `lasting`.
  virtual Resources available(const ClusterView& view, const NodeInfo& node, Time lasting) const {
    return (void)view, (void)lasting, node.capacity;
  }
};

struct JobSlotsOptions {
  Time cycle = std::chrono::seconds(30), react = std::chrono::milliseconds(100);
  TaskUseOptions use;
  /// Slots are counted for each job, and a job may use them on any node that has room, first on those of its input. Slots that no
  /// goal needs go to one job after the other, so that small ones end early and none much later than if all had shared fairly.
  /// Otherwise as published: each slot is on a node, and of the rest those jobs get most that have most tasks.
  bool bounded = false;
};
/// The options mode, cycle, react, node, measured and overcommit.
Result<JobSlotsOptions> take_job_slots(Options& options);

class JobSlots final : public OrderingPolicy {
 public:
  /// A job at the beginning of a cycle.
  struct Standing {
    double utility = 0;
    std::uint32_t slots = 0, early = 0;
    SlotNeed need;
    bool goal = false;
    double turn = 0;  // with `bounded`, between 0 and 1: jobs with a smaller one go first where no goal decides
  };
  using Watch = std::function<void(Time now, JobId job, const Standing& standing)>;

  JobSlots(const JobSlotsOptions& options, std::unique_ptr<SlotGoals> goals);
  /// Calls `watch` with each job's standing in each cycle.
  void watch(Watch watch) { watch_ = std::move(watch); }

  Asks asks() const override { return Asks::nodes_of_any_slot; }
  bool offers_all() const override { return false; }
  Sharing sharing(const ClusterView&) const override { return {.goals = Goals::needed}; }
  const FairEnds* fair_ends() const override { return options_.bounded ? &ends_ : nullptr; }
  Time period() const override { return options_.cycle; }
  Result<void> start(const ClusterView& view, Part* before) override;
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

  std::vector<SlotGoals::Job> demands(const ClusterView& view, std::vector<SlotJob>& jobs) const;
  void give_turns();
  double utility(const SlotGoals::Job& job, const Standing& standing, std::uint32_t early_pending, double share) const;
  void place(const ClusterView& view, std::span<const SlotGoals::Job> jobs, std::vector<SlotJob> slot_jobs);
  using Numbers = std::map<JobId, std::uint32_t>;  // of jobs, in a matrix
  void keep_running(const ClusterView& view, const Numbers& numbers, SlotMatrix& matrix, const std::vector<const NodeInfo*>& nodes,
                    bool readers_only) const;
  void keep_slots(const ClusterView& view, const Numbers& numbers, SlotMatrix& matrix,
                  const std::vector<const NodeInfo*>& nodes) const;
  bool launch_in(const ClusterView& view, const Slot& slot, const JobInfo& job, Launcher& launcher) const;
  bool launch_any(const ClusterView& view, Launcher& launcher, Locality farthest, bool in_slots = true) const;
  bool launch_elsewhere(const ClusterView& view, Launcher& launcher);
  std::string reason(JobId job) const;

  JobSlotsOptions options_;
  std::unique_ptr<SlotGoals> goals_;
  TaskUse use_;
  FairEnds ends_{Weights()};  // where bounded
  Watch watch_;
  Slots slots_;
  std::map<JobId, Standing> standings_;
  std::vector<std::pair<double, JobId>> by_utility_;  // jobs with slots, the lowest utility first
  std::map<JobId, std::string> last_reasons_;         // as recorded
  std::set<JobId> without_reason_, with_failed_;      // jobs of which no reason is recorded; jobs with tasks that have failed
  Time last_ = Time::min();                           // when the present cycle began
  bool changed_ = false;                              // an event since then makes the next cycle begin early
};

}  // namespace weft::schedulers
