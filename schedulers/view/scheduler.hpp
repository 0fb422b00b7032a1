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

/// Whose units leave memory first.
enum class RoundOrder : std::uint8_t {
  by_submission,   // those of the job that comes last in FIFO's order
  by_rounds_left,  // those of the shuffle with the fewest units still to be read: it does with the least memory the longest (FAIR)
};

/// Something happened that a scheduler may keep state about. Told after the view shows it, except for the `…_ended` and `…_left`
/// kinds, told while the view still does.
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
    job_changed,      // what it has pending, running or used changed, for whatever reason: for policies that keep orders of jobs.
                      // Told before schedule() of the same event, and after each launch and preemption
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
    node = 0,   // a heartbeat, or room on `node`; nothing else changed since the last call
    work = 1,   // there is new work (or several nodes changed): look at all nodes
    timer = 2,  // the time asked for with wake_at() has come
  };
  Kind kind = Kind::work;
  NodeId node{};  // Kind::node
};

/// A stage whose tasks read shuffles, and what is known of these before its inputs are complete.
struct Preplaceable {
  struct Input {
    StageId stage;  // its partition i is read by task first_task + i
    std::uint32_t first_task = 0;
  };
  JobId job;
  StageId reader;
  std::vector<Input> fresh;  // enough maps of these have ended to tell how large their partitions will be
  std::vector<Input> known;  // those of earlier calls: their blocks are being brought to where tasks are placed already
};

/// What a scheduler can do. Each call is checked and carried out at once, so the view already shows its effect; a refused one
/// changes nothing, is recorded, and says why. Asking again for what is already so is refused, not repeated.
class Decisions {
 public:
  virtual ~Decisions() = default;
  virtual Result<void> launch(const TaskId& task, NodeId node, std::string_view reason) = 0;
  /// Kills a running attempt; its task goes back to pending without a failure being counted.
  virtual Result<void> preempt(const AttemptId& attempt, std::string_view reason) = 0;
  /// Fixes the node of a task that is not launched yet, so that its input can be brought there (SCache, SARP, CoGRS).
  virtual Result<void> preplace(const TaskId& task, NodeId node, std::string_view reason) = 0;
  /// Records why a stage (or, without one, a whole job) gets nothing now: what `weft job explain` shows.
  virtual void hold(JobId job, std::optional<StageId> stage, std::string_view reason) = 0;
  /// Asks for a call with Trigger::timer at `at` or a little later. Delay, preemption intervals, control cycles.
  virtual void wake_at(Time at) = 0;
};

/// What a pool or queue is entitled to and has, for listings. In cores (or slots).
struct GroupStatus {
  std::string name, parent;     // parent: empty at the top
  double weight = 1;            // or the capacity in percent
  double guaranteed = 0;        // minimum share, or the queue's capacity
  double fair_share = 0;        // of what there is now, by demand
  std::optional<double> limit;  // never more than this
  double used = 0, demand = 0;  // demand: used and wanted
  std::size_t jobs = 0;
};

/// Belongs to one core and its thread.
class Scheduler {
 public:
  virtual ~Scheduler() = default;
  virtual std::string_view name() const = 0;

  /// Called once before anything else. `view` may show jobs already, and `before` is the scheduler that served them until now (null
  /// at the start of a master): when the configuration is reloaded, or another scheduler is chosen while jobs run. Take what state
  /// there is to keep. An error refuses the change, and `before` goes on: leave it as it is in that case.
  virtual Result<void> start(const ClusterView& view, Scheduler* before) { return (void)view, (void)before, Result<void>(); }
  /// Whether the job may come in (an unknown queue). The error goes to the submitter.
  virtual Result<void> admit(const ClusterView& view, const JobInfo& job) const { return (void)view, (void)job, Result<void>(); }
  virtual void on_event(const ClusterView& view, const Notice& notice) { (void)view, (void)notice; }
  /// May decide nothing. Called after every event that could allow a launch, when the event is fully applied.
  virtual void schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) = 0;
  /// Called after schedule() while the view has stragglers and free nodes: launches speculative attempts on what schedule() left
  /// free. This one puts each on a node near its input (speculation.hpp).
  virtual void speculate(const ClusterView& view, const Trigger& trigger, Decisions& decisions);

  /// Called when the sizes of an input of `what.reader` can be told, before any of its tasks runs, and again when a node where some
  /// were placed has left: preplaces tasks, all rounds of them, so that their input is brought there while maps still run (SCache).
  /// This one places none.
  virtual void preplace(const ClusterView& view, const Preplaceable& what, Decisions& decisions) {
    (void)view, (void)what, (void)decisions;
  }

  /// Slow start of a job that asks for none, on a cluster without one: the part of a stage's maps, 0 to 1, that must have ended
  /// before stages that read it may start. Asked once, when the job has been admitted. 1: its stages start with complete inputs.
  virtual double slow_start(const ClusterView& view, const JobInfo& job) const { return (void)view, (void)job, 1; }

  /// Whose shuffle blocks leave memory first when those that were brought to placed tasks do not all fit. The master asks it before
  /// each such decision.
  virtual RoundOrder round_order() const { return RoundOrder::by_submission; }

  /// How many fetches from other racks a node of that rack may prefetch with at a time; nothing: as many as it likes, always. Asked
  /// about once a second.
  virtual std::optional<std::uint32_t> far_prefetches(RackId rack) const { return (void)rack, std::nullopt; }

  /// Promises that after schedule() no runnable task fits on any usable node's room, but for those that were placed on another node
  /// and would cross a known uplink (parts/promises.hpp).
  virtual bool work_conserving() const { return false; }
  /// Pools or queues, parents before children.
  virtual std::vector<GroupStatus> groups(const ClusterView& view) const { return (void)view, std::vector<GroupStatus>(); }
  /// Gives each job as many slots as it needs to end before its deadline, and shares the rest: for expected ends (job_ends.hpp).
  virtual bool goals_decide() const { return false; }
};

}  // namespace weft::schedulers
