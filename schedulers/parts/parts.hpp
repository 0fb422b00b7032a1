// The small interfaces that policies implement, one question each. Composed (composed.hpp) makes a scheduler of them.
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

/// Hadoop 1 has slots of two types; each is given away on its own. Where no node has typed slots there is one kind, `any`.
enum class SlotKind : std::uint8_t { any = 0, map = 1, reduce = 2 };
/// The slot types of this cluster.
std::span<const SlotKind> slot_kinds(const ClusterView& view);
SlotKind slot_kind_of(const StageInfo& stage, bool typed);
/// What shares are counted in: slots of the kind, or cores.
double amount_of(const Resources& resources, SlotKind kind);

class Part {
 public:
  virtual ~Part() = default;
  /// See Scheduler::start. `before`: the same part of the scheduler that was in charge until now, if it had one.
  virtual Result<void> start(const ClusterView& view, Part* before) { return (void)view, (void)before, Result<void>(); }
  virtual void on_event(const ClusterView& view, const Notice& notice) { (void)view, (void)notice; }
  /// A control cycle: while there are jobs, tick() is called when this much time has passed since its last call, the first time
  /// with the first job. 0: not at present.
  virtual Time period() const { return Time(0); }
  /// Something has happened that the next cycle, planned for then, should not wait for: when it is to begin instead. Asked often.
  virtual Time next_tick(Time planned) const { return planned; }
  /// Called at the beginning of schedule(). Whether nodes may take other tasks than before: then all that have room are looked at.
  virtual bool tick(const ClusterView& view, Decisions& decisions) { return (void)view, (void)decisions, false; }
  /// schedule() has given away what it can: may ask for another call, or say why something waits.
  virtual void decided(const ClusterView& view, Decisions& decisions) { (void)view, (void)decisions; }
};

/// Whether a task may be launched on the node that asks, for all that the dispatcher does not know.
using TaskCheck = std::function<bool(std::uint32_t task)>;

/// What WhoNext offers jobs to.
class Turn {
 public:
  virtual ~Turn() = default;
  /// Launches one task of the job if it can. After `true` every order may have changed.
  virtual bool serve(const JobInfo& job) = 0;
  virtual void hold(JobId job, std::string_view reason) = 0;
  /// False: since the last offer only the job served then has changed, and those passed over before it would be passed over again.
  /// An order may go on where it was.
  virtual bool starts_over() const { return true; }

  /// The node that asks; null where all nodes with room are offered at once.
  virtual const NodeInfo* node() const { return nullptr; }
  /// The same as serve(job), of that stage alone and at most that far from its input. Does not say why it waits, nor count it as an
  /// opportunity passed up.
  virtual bool serve(const JobInfo& job, const StageInfo& stage, Locality farthest) {
    return (void)job, (void)stage, (void)farthest, false;
  }
  /// How near the files are of the task that node() would take of the stage; `node` where it reads none. Nothing: it takes none,
  /// for a limit, a locality wait or a placement. Whether there is room is not looked at.
  virtual std::optional<Locality> nearest(const JobInfo& job, const StageInfo& stage) {
    return (void)job, (void)stage, std::nullopt;
  }
  /// Launches that task on node(), which has room for it. Where `may` refuses it, a few others of the stage are tried.
  virtual bool launch(const JobInfo& job, const StageInfo& stage, std::string_view reason, const TaskCheck& may) {
    return (void)job, (void)stage, (void)reason, (void)may, false;
  }
};

/// Who next.
class WhoNext : public Part {
 public:
  /// Calls turn.serve() (or nearest() and launch(), where it is asked by nodes) with what has pending tasks, best first, until
  /// something is launched (true) or nothing is left.
  virtual bool offer(const ClusterView& view, SlotKind kind, Turn& turn) = 0;
  /// A pass begins, in which so many nodes have room.
  virtual void begin(const ClusterView& view, std::size_t nodes) { (void)view, (void)nodes; }
  /// It is to be asked for one node at a time, whatever the composition says: the answer depends on the node.
  virtual bool by_node() const { return false; }
  /// False: map slots and reduce slots are not given away one kind after the other, it is asked for any.
  virtual bool by_slot_kind() const { return true; }
  /// Asked when one node has room: whether others that have some must be looked at again, because what it refused them for may have
  /// changed.
  virtual bool wants_all_nodes() { return false; }
  /// One that is by_node() has been asked for all nodes: says why those wait that got nothing.
  virtual void explain(const ClusterView& view, Turn& turn) { (void)view, (void)turn; }
  virtual Result<void> admit(const ClusterView& view, const JobInfo& job) const { return (void)view, (void)job, Result<void>(); }
  /// Whether it offers every job that has something pending.
  virtual bool offers_all() const { return true; }
  /// Tasks of the job are not kept for the nodes that their input is brought to (promises.hpp): fetching again costs it less than
  /// waiting.
  virtual bool in_haste(const ClusterView& view, const JobInfo& job) const { return (void)view, (void)job, false; }
  /// See Scheduler::round_order.
  virtual RoundOrder round_order() const { return RoundOrder::by_submission; }
  /// See Scheduler::far_prefetches.
  virtual std::optional<std::uint32_t> far_prefetches(RackId rack) const { return (void)rack, std::nullopt; }
  /// Whether one more attempt at a task of the stage keeps within the limits of the job's group: for speculative attempts.
  virtual bool has_room(const ClusterView& view, const JobInfo& job, const StageInfo& stage) const {
    return (void)view, (void)job, (void)stage, true;
  }
  virtual std::vector<GroupStatus> groups(const ClusterView& view) const { return (void)view, std::vector<GroupStatus>(); }
  /// See Scheduler::goals_decide.
  virtual bool goals_decide() const { return false; }
};

/// Which of a job's stages first.
class StageOrder : public Part {
 public:
  /// Appends the runnable stages of the job, best first; perhaps others that are ready but have nothing pending. `node`: that asks;
  /// null: several.
  virtual void order(const ClusterView& view, const JobInfo& job, const NodeInfo* node, std::vector<StageId>& out) = 0;
};

/// How far from its data a job may run now, and how long it waits for better (delay scheduling).
class LocalityWait : public Part {
 public:
  virtual Locality allowed(const ClusterView& view, const JobInfo& job) = 0;
  /// The job was offered room on `nodes` nodes and took none of it. True: it takes worse at once.
  virtual bool skipped(const ClusterView& view, const JobInfo& job, std::size_t nodes, Decisions& decisions) = 0;
  virtual void launched(const ClusterView& view, const JobInfo& job, Locality locality) = 0;
};

/// Where tasks go.
class Placement : public Part {
 public:
  /// Whether it answers for the tasks of the stage; the tasks of others go near their input.
  virtual bool places(const ClusterView& view, const JobInfo& job, const StageInfo& stage) const = 0;
  /// The pending task that `node` should run of such a stage; nothing: none of them, now.
  virtual std::optional<std::uint32_t> choose(const ClusterView& view, const JobInfo& job, const StageInfo& stage,
                                              const NodeInfo& node) = 0;
  /// No node took a task of the stage in this round. May ask to be called again.
  virtual void waiting(const ClusterView& view, const JobInfo& job, const StageInfo& stage, Decisions& decisions) = 0;
  /// See Scheduler::preplace. False: leaves these to the general rule, where the composition has it.
  virtual bool preplace(const ClusterView& view, const Preplaceable& what, Decisions& decisions) {
    return (void)view, (void)what, (void)decisions, false;
  }
};

/// What to kill, so that others get what they are entitled to.
class Preemption : public Part {
 public:
  /// Called at the beginning of schedule(); keeps its own interval with wake_at(). Whether anything was killed.
  virtual bool preempt(const ClusterView& view, Decisions& decisions) = 0;
};

/// Up to what jobs launch in a pass: a share of their own, say, less what they lend to others.
class Limit : public Part {
 public:
  /// Called when the pass begins.
  virtual void plan(const ClusterView& view) = 0;
  /// Asked before each launch.
  virtual bool may_launch(const ClusterView& view, const JobInfo& job, const StageInfo& stage) = 0;
  /// False: no stage of the job may.
  virtual bool may_launch(const ClusterView& view, const JobInfo& job) { return (void)view, (void)job, true; }
};

/// One round over the jobs. What a pass leaves goes to the next; what the last one leaves stays idle.
struct Pass {
  std::unique_ptr<WhoNext> who;        // none: that of the composition
  std::unique_ptr<StageOrder> stages;  // none: likewise
  std::unique_ptr<Limit> limit;        // none: all that they can use
};

/// How room is given away. jobs: whoever is next gets the best node there is. nodes: each node with room, by its id, gets what is
/// next for it, as in a heartbeat.
enum class Asks : std::uint8_t { jobs, nodes };

/// A scheduler as its parts. Only `who` must be there.
struct Composition {
  std::unique_ptr<WhoNext> who;                 // also admits jobs, and knows their groups
  std::unique_ptr<StageOrder> stages;           // none: in order of definition
  std::unique_ptr<LocalityWait> locality_wait;  // none: takes what there is
  std::unique_ptr<Placement> placement;         // none: near the input
  std::unique_ptr<Preemption> preemption;       // none: never
  std::vector<Pass> passes;                     // in this order; none: one, without a limit
  Asks asks = Asks::jobs;
  double slow_start = 1;               // see Scheduler::slow_start
  bool preplaces = true;               // readers of shuffles are placed while maps run (preplacement.hpp); false: when launched
  std::uint32_t remote_per_call = 0;   // tasks far from their data a node gets in one call; 0: any number
  std::uint32_t reduces_per_call = 0;  // readers of shuffles a node gets in one call; 0: any number
};

}  // namespace weft::schedulers
