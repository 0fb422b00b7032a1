// When a job will launch each of its tasks: a plan inside its share, kept up to date as the job goes on.
//
// A plan says from when on tasks are due. A task that ends when it was believed to, or is launched when it is due, changes nothing
// of a plan: O(log n). One that is launched earlier, on what others lend, leaves its place in the plan. Whatever else happens makes
// the plan stale: make() then plans again, but keeps the old plan where that ends earlier and can still be kept.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "schedulers/planning/job_dag.hpp"
#include "schedulers/planning/room_ahead.hpp"

namespace weft::schedulers {

enum class IntraPolicy : std::uint8_t { packing, critical_path, dagps };

/// safe: a plan that ends earlier than the one that was made before, and has room, takes its place; else that is kept. faithful:
/// a new plan owes nothing to the one before, and lasts as long as the reversed DAG does. reference: as in the simulator of
/// Carbyne's authors, too: the plan leaves out the tasks that run and has what they leave of the share, it is made again with every
/// event, and a DAG of which a task does not fit is not planned.
enum class PlanMode : std::uint8_t { safe, faithful, reference };

struct PlanOptions {
  PlanMode mode = PlanMode::safe;
  IntraPolicy intra = IntraPolicy::packing;
  Digits digits{};
};

class JobPlan {
 public:
  /// `room`: where what is planned and what runs is noted, as parts of `capacity`, of which a node has `largest` at most. All
  /// outlive the plan.
  JobPlan(const JobInfo& job, RoomAhead& room, const Resources& capacity, const Parts& largest)
      : job_(&job), room_(&room), capacity_(&capacity), largest_(&largest) {}

  const JobInfo& job() const { return *job_; }
  bool stale() const { return stale_; }
  /// Nobody believes to know how long some of its tasks take: there is nothing that it could plan.
  bool unknown() const { return !dag_.unknown.empty(); }
  const std::vector<StageId>& unknown_stages() const { return dag_.unknown; }
  /// The first stage whose tasks were seen to take half as long again as was believed, or half as long, in the mean: what is
  /// believed of the others may be as wrong.
  std::optional<StageId> misjudged() const { return misjudged_; }
  /// What is believed of the job is good enough to put tasks off.
  bool trusted() const { return !unknown() && !misjudged_; }
  /// The next make() is to plan again.
  void set_stale() { stale_ = true; }
  /// Whether the plan was made for about this share: with many jobs, each that comes or goes changes all shares a little.
  bool made_for(const Parts& share) const;
  /// When the job will have ended.
  Time ends() const { return ends_; }
  /// From the moment it was made on.
  Time length() const { return length_; }
  /// Which part of one of its largest tasks the share holds, at most 1. Below 1 the plan runs one task at a time, as no job runs
  /// less.
  double part_of_task() const { return part_; }

  /// Tasks of the stage that should run by now.
  std::uint32_t due(StageId stage) const;
  bool any_due() const { return due_tasks_ > 0; }
  /// What the tasks that are due ask for, as parts of the cluster.
  const Parts& due_demand() const { return due_demand_; }
  /// When the next tasks are due; Time::max(): never.
  Time next_start() const { return next_ == ahead_.size() ? Time::max() : ahead_[next_].start; }
  /// Makes due what is.
  void advance(Time now);

  /// Plans again. `share`: what the job may have; `free`: of the cluster now, but for what others' tasks ask that are due.
  void make(Time now, const Parts& share, const Parts& free, const PlanOptions& options);
  /// The next make() must not keep the plan: it cannot be kept. Takes what it noted out of the room.
  void drop();

  // What happened.
  /// False: the task was not due.
  bool launched(Time now, StageId stage, std::uint32_t task);
  void ended(Time now, StageId stage, std::uint32_t task);
  void failed(StageId stage, std::uint32_t task);
  /// Stages were added, or their input sizes are known.
  void changed() {
    stale_ = true;
    trouble_.clear();
  }
  /// Compares what runs with the job's own account: attempts may have been lost.
  void check_running(const ClusterView& view);

 private:
  struct Running {
    Time until{0}, took{0};
    Parts demand{};
  };
  using TaskKey = std::pair<StageId, std::uint32_t>;

  void note(const PlannedLaunches& one, bool back);
  void withdraw();
  void put_back();
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
  RoomAhead* room_;
  const Resources* capacity_;
  const Parts* largest_;
  std::uint64_t finished_ = 0;  // tasks, when it was looked at
  bool stale_ = true;
  std::optional<StageId> misjudged_;
  bool sound_ = false;  // nothing has happened for which the plan could not be kept
  JobDag dag_;
  std::vector<PlannedLaunches> ahead_;  // by start, which is a point of time here
  std::size_t next_ = 0;                // of ahead_: the first that is not due
  std::vector<std::uint32_t> due_;      // by position
  std::uint32_t due_tasks_ = 0;
  Parts due_demand_{}, share_{}, made_for_{};
  Time ends_ = Time::max(), length_{0};
  double part_ = 1;
  std::map<TaskKey, Running> running_;
  std::map<StageId, std::array<double, 2>> trouble_;  // ranks by direction; worked out once for the DAG
};

}  // namespace weft::schedulers
