// When a job will launch each of its tasks: a plan inside its share, kept up to date as the job goes on.
//
// A plan contains when tasks become due. A task that ends at the believed time, or is launched when it is due, does not change the
// plan: O(log n). A task that is launched earlier, on capacity that others lend, is removed from the plan. All other events make
// the plan stale: make() then plans again, but keeps the old plan where that ends earlier and is still possible.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "schedulers/planning/future_capacity.hpp"
#include "schedulers/planning/job_dag.hpp"

namespace weft::schedulers {

enum class IntraPolicy : std::uint8_t { packing, critical_path, dagps };

/// safe: a new plan replaces the old one only if it ends earlier and fits. faithful: a new plan always replaces the old one, and
/// lasts as long as the reversed DAG. reference: as faithful, and as in the simulator of Carbyne's authors: running tasks are not
/// part of the plan and reduce the share, each event makes a new plan, and a DAG with a task that does not fit is not planned.
enum class PlanMode : std::uint8_t { safe, faithful, reference };

struct PlanOptions {
  PlanMode mode = PlanMode::safe;
  IntraPolicy intra = IntraPolicy::packing;
  Digits digits{};
};

class JobPlan {
 public:
  /// Planned and running tasks are added to `future`, as parts of `capacity`. `largest`: the most that any node has. All outlive
  /// the plan.
  JobPlan(const JobInfo& job, FutureCapacity& future, const Resources& capacity, const Parts& largest)
      : job_(&job), future_(&future), capacity_(&capacity), largest_(&largest) {}

  const JobInfo& job() const { return *job_; }
  bool stale() const { return stale_; }
  /// The duration of some of its tasks is not known, so nothing can be planned.
  bool unknown() const { return !dag_.unknown.empty(); }
  const std::vector<StageId>& unknown_stages() const { return dag_.unknown; }
  /// The first stage whose tasks took half as long again as believed, or half as long, in the mean: what is believed of the others
  /// may be as wrong.
  std::optional<StageId> misjudged() const { return misjudged_; }
  /// The believed durations are good enough to delay tasks.
  bool trusted() const { return !unknown() && !misjudged_; }
  /// The next make() plans again.
  void set_stale() { stale_ = true; }
  /// Whether the plan was made for about this share: each job that comes or goes changes all shares a little.
  bool made_for(const Parts& share) const;
  /// From the moment when it was made.
  Time length() const { return length_; }
  /// The part of one of its largest tasks that fits the share, at most 1. Below 1 the plan runs one task at a time, because no job
  /// runs less.
  double part_of_task() const { return part_; }

  /// Tasks of the stage that should run by now.
  std::uint32_t due(StageId stage) const;
  bool any_due() const { return due_tasks_ > 0; }
  /// The demands of the due tasks together, as parts of the cluster.
  const Parts& due_demand() const { return due_demand_; }
  /// When the next tasks become due; Time::max(): never.
  Time next_start() const { return next_ == ahead_.size() ? Time::max() : ahead_[next_].start; }
  /// Tasks whose time has come become due.
  void advance(Time now);

  /// Plans again. `share`: what the job may have; `free`: the free capacity now, less the demands of other jobs' due tasks.
  void make(Time now, const Parts& share, const Parts& free, const PlanOptions& options);
  /// The plan is not possible any more: takes its tasks out of `future`, and the next make() plans again.
  void drop();

  // Events of the job.
  /// False: the task was not due.
  bool launched(Time now, StageId stage, std::uint32_t task);
  void ended(Time now, StageId stage, std::uint32_t task);
  void failed(StageId stage, std::uint32_t task);
  /// Stages were added, or their input sizes became known.
  void changed() {
    stale_ = true;
    trouble_.clear();
  }
  /// Compares the noted running tasks with the job's: attempts may have been lost.
  void check_running(const ClusterView& view);

 private:
  struct Running {
    Time until{0}, took{0};
    Parts demand{};
  };
  using TaskKey = std::pair<StageId, std::uint32_t>;
  /// Running tasks of a stage that are believed to end together.
  struct Ends {
    Time until{0}, took{0};
    std::uint32_t tasks = 0;
  };

  void note(const PlannedLaunches& one, bool back);
  void drop_wave(PlannedLaunches& one);
  void drop_task(std::size_t at);
  void withdraw();
  void restore();
  DagPlan reference_plan(const JobDag& dag, Parts limit, const PlanOptions& options);
  void adopt(Time now, JobDag dag, DagPlan plan);
  void add_running(Time now, JobDag& dag) const;
  void forget(std::map<TaskKey, Running>::iterator task);
  void run(StageId stage, std::uint32_t task, Time since);
  void count_due(std::uint32_t position, double tasks);
  IntraOrder order_of(const JobDag& dag, const Parts& limit, Direction direction, const PlanOptions& options);
  DagPlan packed(const JobDag& dag, const Parts& limit, Direction direction, const PlanOptions& options) {
    return pack(dag.stages, limit, direction, order_of(dag, limit, direction, options));
  }

  const JobInfo* job_;
  FutureCapacity* future_;
  const Resources* capacity_;
  const Parts* largest_;
  std::uint64_t finished_ = 0;  // tasks, at the last check_running()
  bool stale_ = true;
  std::optional<StageId> misjudged_;
  bool sound_ = false;  // the plan is still possible
  JobDag dag_;
  std::vector<PlannedLaunches> ahead_;  // by start, which is a point of time here; those without tasks have none any more
  std::size_t next_ = 0;                // of ahead_: the first that is not due
  std::vector<std::uint32_t> due_;      // by position
  std::uint32_t due_tasks_ = 0;
  Parts due_demand_{}, share_{}, made_for_{};
  Time ends_ = Time::max(), length_{0};
  double part_ = 1;
  std::map<TaskKey, Running> running_;
  std::map<StageId, std::vector<Ends>> ends_of_;      // of these, by time; no stage has none
  std::map<StageId, std::array<double, 2>> trouble_;  // ranks by direction, computed once for the DAG
};

}  // namespace weft::schedulers
