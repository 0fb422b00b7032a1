// The small interfaces that policies implement, one question each. Composed (composed.hpp) makes a scheduler of them.
//
// A part sees every notice, so that it can keep its orders up to date; it is asked only while schedule() runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/scheduler.hpp"

namespace weft::schedulers {

/// Hadoop 1 has slots of two types; each is given away on its own. Where no node has typed slots there is one kind, `any`.
enum class SlotKind : std::uint8_t { any = 0, map = 1, reduce = 2 };
/// The slot types of this cluster.
std::vector<SlotKind> slot_kinds(const ClusterView& view);
SlotKind slot_kind_of(const StageInfo& stage, bool typed);
/// What shares are counted in: slots of the kind, or cores.
double amount_of(const Resources& resources, SlotKind kind);

class Part {
 public:
  virtual ~Part() = default;
  /// See Scheduler::start. `before`: the same part of the scheduler that was in charge until now, if it had one.
  virtual Result<void> start(const ClusterView& view, Part* before) { return (void)view, (void)before, Result<void>(); }
  virtual void on_event(const ClusterView& view, const Notice& notice) { (void)view, (void)notice; }
};

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
};

/// Who next.
class WhoNext : public Part {
 public:
  /// Calls turn.serve() with jobs that have pending tasks, best first, until one launches something (true) or none is left.
  virtual bool offer(const ClusterView& view, SlotKind kind, Turn& turn) = 0;
  virtual Result<void> admit(const ClusterView& view, const JobInfo& job) const { return (void)view, (void)job, Result<void>(); }
  /// Whether it offers every job that has something pending.
  virtual bool offers_all() const { return true; }
  /// See Scheduler::round_order.
  virtual RoundOrder round_order() const { return RoundOrder::by_submission; }
  /// Whether one more attempt at a task of the stage keeps within the limits of the job's group: for speculative attempts.
  virtual bool has_room(const ClusterView& view, const JobInfo& job, const StageInfo& stage) const {
    return (void)view, (void)job, (void)stage, true;
  }
  virtual std::vector<GroupStatus> groups(const ClusterView& view) const { return (void)view, std::vector<GroupStatus>(); }
};

/// Which of a job's stages first.
class StageOrder : public Part {
 public:
  /// Appends the runnable stages of the job, best first; perhaps others that are ready but have nothing pending.
  virtual void order(const ClusterView& view, const JobInfo& job, std::vector<StageId>& out) = 0;
};

/// How far from its data a job may run now, and how long it waits for better (delay scheduling).
class LocalityWait : public Part {
 public:
  virtual Locality allowed(const ClusterView& view, const JobInfo& job) = 0;
  /// The job was offered room on `nodes` nodes and took none of it. True: it takes worse at once.
  virtual bool skipped(const ClusterView& view, const JobInfo& job, std::size_t nodes, Decisions& decisions) = 0;
  virtual void launched(const ClusterView& view, const JobInfo& job, Locality locality) = 0;
};

/// Where the tasks of a stage that reads shuffles go.
class ReducePlacement : public Part {
 public:
  /// The pending task that `node` should run; nothing: none of them, now.
  virtual std::optional<std::uint32_t> choose(const ClusterView& view, const JobInfo& job, const StageInfo& stage,
                                              const NodeInfo& node) = 0;
  /// No node took a task of the stage in this round. May ask to be called again.
  virtual void waiting(const ClusterView& view, const JobInfo& job, const StageInfo& stage, Decisions& decisions) = 0;
};

/// What to kill, so that others get what they are entitled to.
class Preemption : public Part {
 public:
  /// Called at the beginning of schedule(); keeps its own interval with wake_at(). Whether anything was killed.
  virtual bool preempt(const ClusterView& view, Decisions& decisions) = 0;
};

/// What a job leaves to others in the first pass over the jobs; the second pass gives away what is left over.
class Yield : public Part {
 public:
  /// Called at the beginning of schedule().
  virtual void plan(const ClusterView& view) = 0;
  virtual bool may_launch(const ClusterView& view, const JobInfo& job, const StageInfo& stage) = 0;
  /// False: no stage of the job may.
  virtual bool may_launch(const ClusterView& view, const JobInfo& job) { return (void)view, (void)job, true; }
};

/// A scheduler as its parts. Only `who` must be there.
struct Composition {
  std::unique_ptr<WhoNext> who;
  std::unique_ptr<StageOrder> stages;           // none: in order of definition
  std::unique_ptr<LocalityWait> locality_wait;  // none: takes what there is
  std::unique_ptr<ReducePlacement> reduces;     // none: anywhere
  std::unique_ptr<Preemption> preemption;       // none: never
  std::unique_ptr<Yield> yield;                 // none: nobody yields
  std::unique_ptr<WhoNext> leftover;            // who gets what was yielded; none: as `who`
  bool second_pass = true;                      // false: what is yielded stays idle
  std::uint32_t remote_per_call = 0;            // tasks far from their data a node gets in one call; 0: any number
  std::uint32_t reduces_per_call = 0;           // readers of shuffles a node gets in one call; 0: any number
};

}  // namespace weft::schedulers
