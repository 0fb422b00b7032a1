// The small interfaces that policies implement, one question each, as kube-scheduler's extension points are. Composed
// (composed.hpp) makes a scheduler of them.
//
// A part sees every notice, so that it can keep its orders up to date; it is asked only while schedule() runs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

class FairEnds;

/// Hadoop 1 has slots of two types, which are filled one after the other. Where no node has typed slots there is one kind, `any`.
enum class SlotKind : std::uint8_t { any = 0, map = 1, reduce = 2 };
/// The slot types of this cluster.
std::span<const SlotKind> slot_kinds(const ClusterView& view);
SlotKind slot_kind_of(const StageInfo& stage, bool typed);
/// The amount that shares are counted in: slots of the kind, or cores.
double amount_of(const Resources& resources, SlotKind kind);

class Part {
 public:
  virtual ~Part() = default;
  /// See Scheduler::start. `before`: the same part of the scheduler that was in charge until now; null: it had none.
  virtual Result<void> start(const ClusterView& view, Part* before) { return (void)view, (void)before, Result<void>(); }
  virtual void on_event(const ClusterView& view, const Notice& notice) { (void)view, (void)notice; }
  /// A control cycle: while there are jobs, tick() is called when this much time has passed since its last call, for the first time
  /// with the first job. 0: there is no cycle at present.
  virtual Time period() const { return Time(0); }
  /// When the next cycle, planned for `planned`, begins: earlier after something that it should not wait for. Asked often.
  virtual Time next_tick(Time planned) const { return planned; }
  /// Called at the beginning of schedule(). True: nodes may take other tasks than before, so all with free capacity are offered.
  virtual bool tick(const ClusterView& view, Decisions& decisions) { return (void)view, (void)decisions, false; }
  /// Called at the end of schedule(): may ask for another call, or record why something waits.
  virtual void decided(const ClusterView& view, Decisions& decisions) { (void)view, (void)decisions; }
};

/// Whether a task may be launched on the node that asks, by rules that the dispatcher does not know.
using TaskCheck = std::function<bool(std::uint32_t task)>;

/// What an ordering policy offers jobs to, best first.
class Launcher {
 public:
  virtual ~Launcher() = default;
  /// Launches one task of the job. False: none can be launched now. After `true` every order may have changed.
  virtual bool launch(const JobInfo& job) = 0;
  /// Records why a job gets nothing: what `weft job explain` shows.
  virtual void hold(JobId job, std::string_view reason) = 0;
  /// False: since the last offer only the job that launched a task has changed, and the jobs offered before it would be refused
  /// again. An order may go on where it was.
  virtual bool starts_over() const { return true; }

  /// How far from their input tasks are launched at most. While it is not `any`, all nodes are asked again afterwards.
  virtual Locality farthest() const { return Locality::any; }
  /// The node that is asked; null where all nodes with free capacity are offered at once.
  virtual const NodeInfo* node() const { return nullptr; }
  /// Launches one task of that stage, at most that far from its input. Records no reason, and counts no skipped opportunity.
  virtual bool launch(const JobInfo& job, const StageInfo& stage, Locality farthest) {
    return (void)job, (void)stage, (void)farthest, false;
  }
  /// How near to its input the task is that node() would take of the stage; `node` where the task has no input. Nothing: node()
  /// takes none, because of a limit, a locality wait or a placement. Does not check whether the task fits.
  virtual std::optional<Locality> nearest(const JobInfo& job, const StageInfo& stage) {
    return (void)job, (void)stage, std::nullopt;
  }
  /// Launches that task on node(), where it must fit. Where `may` refuses it, a few other tasks of the stage are tried.
  virtual bool launch(const JobInfo& job, const StageInfo& stage, std::string_view reason, const TaskCheck& may) {
    return (void)job, (void)stage, (void)reason, (void)may, false;
  }
};

/// Whether jobs or nodes ask for tasks. jobs: the next job gets the best node. nodes: each node with free capacity gets the next
/// task for it, by the id of the node, as in a heartbeat. nodes_of_any_slot: the same, and map slots and reduce slots are not
/// filled one kind after the other.
enum class Asks : std::uint8_t { jobs, nodes, nodes_of_any_slot };

/// Which job launches a task next.
class OrderingPolicy : public Part {
 public:
  /// Calls launcher.launch() (or nearest() and launch(), where nodes ask) with what has pending tasks, best first, until something
  /// is launched (true) or nothing is left.
  virtual bool offer(const ClusterView& view, SlotKind kind, Launcher& launcher) = 0;
  /// A pass begins, in which `nodes` nodes have free capacity.
  virtual void begin(const ClusterView& view, std::size_t nodes) { (void)view, (void)nodes; }
  /// Anything but `jobs`: the order depends on the node, so nodes ask whatever the composition says.
  virtual Asks asks() const { return Asks::jobs; }
  /// Asked when one node reports: whether all nodes with free capacity must be offered, because what this order refused them for
  /// may have changed.
  virtual bool wants_all_nodes() { return false; }
  /// All nodes have asked: records why the jobs wait that launched nothing.
  virtual void explain(const ClusterView& view, Launcher& launcher) { (void)view, (void)launcher; }
  /// Whether it offers every job that has pending tasks.
  virtual bool offers_all() const { return true; }
  /// When jobs shall have ended: for a task of an overdue one that fits on no node, one is kept (kept_nodes.hpp). Null: nothing is
  /// promised.
  virtual const FairEnds* fair_ends() const { return nullptr; }
  /// See Scheduler::sharing.
  virtual Sharing sharing(const ClusterView& view) const { return (void)view, Sharing(); }
};

/// Which jobs may come in. The error goes to the submitter.
class Admission {
 public:
  virtual ~Admission() = default;
  virtual Result<void> admit(const ClusterView& view, const JobInfo& job) const = 0;
};

/// Pools or queues, and their limits.
class JobGroups {
 public:
  virtual ~JobGroups() = default;
  /// Whether one more attempt at a task of the stage keeps within the limits of the job's group: for speculative attempts.
  virtual bool within_limits(const ClusterView& view, const JobInfo& job, const StageInfo& stage) const = 0;
  /// See Scheduler::groups.
  virtual std::vector<GroupStatus> groups(const ClusterView& view) const = 0;
};

/// Which jobs cannot wait.
class Urgency {
 public:
  virtual ~Urgency() = default;
  /// True: no task of the job is reserved for the node that its input is prefetched to (task_reservations.hpp), because fetching
  /// again costs the job less than waiting.
  virtual bool urgent(const ClusterView& view, const JobInfo& job) const = 0;
};

/// How much may be prefetched between racks.
class PrefetchLimits {
 public:
  virtual ~PrefetchLimits() = default;
  /// See Scheduler::far_prefetches.
  virtual std::optional<std::uint32_t> far_prefetches(RackId rack) const = 0;
};

/// Which of a job's stages goes first.
class StageOrder : public Part {
 public:
  /// Appends the runnable stages of the job, best first; perhaps others that are ready but have nothing pending. `node`: the only
  /// node that is offered; null: several are.
  virtual void order(const ClusterView& view, const JobInfo& job, const NodeInfo* node, std::vector<StageId>& out) = 0;
};

/// How far from its input a job may run now, and how long it waits for a nearer node (delay scheduling).
class LocalityWait : public Part {
 public:
  virtual Locality allowed(const ClusterView& view, const JobInfo& job) = 0;
  /// The job was offered `nodes` nodes and skipped them all. True: it takes a farther node at once.
  virtual bool skipped(const ClusterView& view, const JobInfo& job, std::size_t nodes, Decisions& decisions) = 0;
  virtual void launched(const ClusterView& view, const JobInfo& job, Locality locality) = 0;
};

/// Which node runs which task.
class Placement : public Part {
 public:
  /// Whether it answers for the tasks of the stage; the tasks of others go near their input.
  virtual bool places(const ClusterView& view, const JobInfo& job, const StageInfo& stage) const = 0;
  /// The pending task that `node` should run of such a stage; nothing: none of them, now.
  virtual std::optional<std::uint32_t> choose(const ClusterView& view, const JobInfo& job, const StageInfo& stage,
                                              const NodeInfo& node) = 0;
  /// No node took a task of the stage in this round. May ask for another call.
  virtual void waiting(const ClusterView& view, const JobInfo& job, const StageInfo& stage, Decisions& decisions) = 0;
  /// See Scheduler::preplace. False: leaves these tasks to preplacement.hpp, where the composition `preplaces`.
  virtual bool preplace(const ClusterView& view, const Preplaceable& what, Decisions& decisions) {
    return (void)view, (void)what, (void)decisions, false;
  }
};

/// Which attempts are killed, so that others get what they are entitled to.
class Preemption : public Part {
 public:
  /// Called at the beginning of schedule(); keeps its own interval with wake_at(). True: something was killed.
  virtual bool preempt(const ClusterView& view, Decisions& decisions) = 0;
};

/// How much a job may launch in each pass: a share of its own, say, less what it lends to others.
class Limit : public Part {
 public:
  /// Called when the pass begins.
  virtual void plan(const ClusterView& view) = 0;
  /// Asked before each launch.
  virtual bool may_launch(const ClusterView& view, const JobInfo& job, const StageInfo& stage) = 0;
  /// False: no stage of the job may launch.
  virtual bool may_launch(const ClusterView& view, const JobInfo& job) { return (void)view, (void)job, true; }
};

/// One round over the jobs. The capacity that a pass leaves free goes to the next; what the last one leaves stays idle.
struct Pass {
  std::unique_ptr<OrderingPolicy> jobs;  // null: that of the composition
  std::unique_ptr<StageOrder> stages;    // null: that of the composition
  std::unique_ptr<Limit> limit;          // null: jobs launch all that they can
};

/// A scheduler as its parts. Only `jobs` must be set.
struct Composition {
  std::unique_ptr<OrderingPolicy> jobs;
  std::unique_ptr<StageOrder> stages;           // null: in order of definition
  std::unique_ptr<LocalityWait> locality_wait;  // null: no task waits for a nearer node
  std::unique_ptr<Placement> placement;         // null: near the input
  std::unique_ptr<Preemption> preemption;       // null: never
  std::vector<Pass> passes;                     // in this order; empty: one, without a limit
  Asks asks = Asks::jobs;

  // Each is one of the parts above, or lies in one of them.
  const Admission* admission = nullptr;             // null: every job may come in
  const JobGroups* groups = nullptr;                // null: there are none
  const Urgency* urgency = nullptr;                 // null: no job is urgent
  const PrefetchLimits* prefetch_limits = nullptr;  // null: workers prefetch as much as they like

  double slow_start = 1;                               // see Scheduler::slow_start
  RoundOrder round_order = RoundOrder::by_submission;  // see Scheduler::round_order
  bool preplaces = true;               // readers of shuffles are placed while maps run (preplacement.hpp); false: when launched
  bool in_turns = false;               // where nodes ask, each takes one task at a time, those with most free capacity first
  bool near_first = false;             // where several nodes ask, tasks go to nodes that hold their input before any go to others
  bool all_nodes = false;              // all nodes with free capacity are offered even when only one reports
  std::uint32_t remote_per_call = 0;   // tasks far from their data that a node gets in one call; 0: any number
  std::uint32_t reduces_per_call = 0;  // readers of shuffles that a node gets in one call; 0: any number
};

}  // namespace weft::schedulers
