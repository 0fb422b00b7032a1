// A scheduler decides which task runs where. It sees the ClusterView and answers with decisions; it does no I/O, reads no clock,
// never blocks, and keeps only its own state. Randomness comes from a generator seeded by an option.
//
// Most schedulers are compositions of small parts (parts.hpp, composed.hpp); this is what the master sees of any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "schedulers/view/view.hpp"

namespace weft::schedulers {

/// Which prefetched units leave memory first.
enum class RoundOrder : std::uint8_t {
  by_submission,   // those of the job that comes last in FIFO's order
  by_rounds_left,  // those of the shuffle with the fewest units still to be read: it needs the least memory for longest (FAIR)
};

/// Which jobs with deadlines have slots before others.
enum class Goals : std::uint8_t {
  none,     // deadlines decide nothing
  needed,   // each has as many slots as it needs to end before its deadline, the nearest deadline first
  at_risk,  // the same, but only of jobs whose deadlines would soon be out of reach (prediction/goals_met.hpp)
};

/// How running jobs come by slots from now on: what expected ends (prediction/job_ends.hpp) go by.
struct Sharing {
  Goals goals = Goals::none;
  double margin = 0;  // the part of its expected time by which a job at risk may take longer
  double wait = 0;    // seconds after which slots of other jobs are free
  /// The order in which jobs get all slots that they can use, of those that no goal needs. Empty: they share them, in the present
  /// proportion, or evenly where goals need some.
  std::vector<JobId> order{};

  friend bool operator==(const Sharing&, const Sharing&) = default;
};

/// An event that a scheduler may keep state about. It comes after the view shows the change; `job_ended` and `node_left` come while
/// the view still shows the job or node.
struct Notice {
  enum class Kind : std::uint8_t {
    job_arrived,
    job_ended,
    stage_added,
    stage_ready,
    stage_complete,
    task_launched,
    task_finished,
    task_failed,
    node_joined,
    node_left,
    task_preempted,
    job_changed,      // its pending or running tasks, or the amounts they use, changed: for policies that keep orders of jobs.
                      // It comes before schedule() of the same event, and after each launch and preemption
    node_changed,     // its capacity, or whether it is excluded
    attempt_added,    // a speculative attempt of a running task was launched
    attempt_dropped,  // one of a task's two attempts is gone, the other goes on
  };
  Kind kind;
  JobId job{};
  StageId stage{};
  std::uint32_t task = 0;
  NodeId node{};
};

/// Why schedule() is called.
struct Trigger {
  enum class Kind : std::uint8_t {
    node = 0,   // a heartbeat, or free capacity on `node`; nothing else changed since the last call
    work = 1,   // there is new work (or several nodes changed): look at all nodes
    timer = 2,  // the time of a wake_at() has come
  };
  Kind kind = Kind::work;
  NodeId node{};  // Kind::node
};

/// A stage whose tasks read shuffles that are not complete, and its inputs as far as they are known.
struct Preplaceable {
  struct Input {
    StageId stage;  // its partition i is read by task first_task + i
    std::uint32_t first_task = 0;
  };
  JobId job;
  StageId reader;
  std::vector<Input> fresh;  // since the last call enough maps of these have ended to predict the sizes of their partitions
  std::vector<Input> known;  // those of earlier calls: their blocks are being prefetched to where tasks are placed
};

/// What a scheduler can do. Each call is checked and carried out at once, so the view shows its effect when it returns. A refused
/// call changes nothing, is recorded, and returns why. A call for what is already the case is refused.
class Decisions {
 public:
  virtual ~Decisions() = default;
  virtual Result<void> launch(const TaskId& task, NodeId node, std::string_view reason) = 0;
  /// Kills a running attempt. Its task is pending again, and no failure is counted.
  virtual Result<void> preempt(const AttemptId& attempt, std::string_view reason) = 0;
  /// Fixes the node of a task that is not launched yet, so that its input can be prefetched to it (SCache, SARP, CoGRS).
  virtual Result<void> preplace(const TaskId& task, NodeId node, std::string_view reason) = 0;
  /// Records why a stage (or, without one, a whole job) gets nothing now: what `weft job explain` shows.
  virtual void hold(JobId job, std::optional<StageId> stage, std::string_view reason) = 0;
  /// Asks for a call with Trigger::timer at `at` or a little later. Delay, preemption intervals, control cycles.
  virtual void wake_at(Time at) = 0;
};

/// The shares of a pool or queue and what it has, for listings. In cores (or slots).
struct GroupStatus {
  std::string name, parent;     // parent: empty at the top
  double weight = 1;            // or the capacity in percent
  double guaranteed = 0;        // minimum share, or the queue's capacity
  double fair_share = 0;        // of the present capacity, by demand
  std::optional<double> limit;  // never more than this
  double used = 0, demand = 0;  // demand: used and wanted
  std::size_t jobs = 0;
};

/// Belongs to one core and its thread.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual std::string_view name() const = 0;

  /// Called once before anything else. When the configuration is reloaded, or another scheduler is chosen while jobs run, `view`
  /// shows jobs already, and `before` is the scheduler in charge until now (null at the start of a master): take over its state. An
  /// error refuses the change, and `before` goes on: leave it unchanged in that case.
  virtual Result<void> start(const ClusterView& view, Scheduler* before) { return (void)view, (void)before, Result<void>(); }
  /// Whether the job may come in (an unknown queue). The error goes to the submitter.
  virtual Result<void> admit(const ClusterView& view, const JobInfo& job) const { return (void)view, (void)job, Result<void>(); }
  virtual void on_event(const ClusterView& view, const Notice& notice) { (void)view, (void)notice; }
  /// May decide nothing. Called after every event that could allow a launch, when the event is fully applied.
  virtual void schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) = 0;
  /// Called after schedule() while the view has stragglers and free nodes: launches speculative attempts on the capacity that
  /// schedule() left free. This one launches each on a node near its input (speculation.hpp).
  virtual void speculate(const ClusterView& view, const Trigger& trigger, Decisions& decisions);

  /// Called when the sizes of an input of `what.reader` can be predicted, before any of its tasks runs, and again when a node where
  /// some were placed has left: preplaces tasks, all rounds of them, so that their input is prefetched while maps still run
  /// (SCache). This one places none.
  virtual void preplace(const ClusterView& view, const Preplaceable& what, Decisions& decisions) {
    (void)view, (void)what, (void)decisions;
  }

  /// Slow start, where neither the job nor the cluster sets it: the part of a stage's maps, 0 to 1, that must have ended before
  /// stages that read it may start. Asked once, when the job has been admitted. 1: its stages start with complete inputs.
  virtual double slow_start(const ClusterView& view, const JobInfo& job) const { return (void)view, (void)job, 1; }

  /// Which blocks leave memory first when not all that were prefetched fit. Asked before each such decision of the master.
  virtual RoundOrder round_order() const { return RoundOrder::by_submission; }

  /// How many prefetches from other racks a node of that rack may have under way; nothing: any number, always. Asked about once a
  /// second.
  virtual std::optional<std::uint32_t> far_prefetches(RackId rack) const { return (void)rack, std::nullopt; }

  /// True: after schedule() no runnable task fits any usable node, except tasks that are reserved for another node across a known
  /// uplink (parts/task_reservations.hpp).
  virtual bool work_conserving() const { return false; }
  /// Pools or queues, parents before children.
  virtual std::vector<GroupStatus> groups(const ClusterView& view) const { return (void)view, std::vector<GroupStatus>(); }
  virtual Sharing sharing(const ClusterView& view) const { return (void)view, Sharing(); }
};

}  // namespace weft::schedulers
