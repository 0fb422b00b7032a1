// The read-only view of schedulers on the cluster: the core's own records and indexes, kept incrementally, never copied.
//
// The core is the only writer (schedulers/view/state.hpp). References stay valid while the node, job or stage exists. Each decision
// may change everything, so do not hold an iterator of an index across one. All orders are deterministic.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "schedulers/view/hints.hpp"
#include "schedulers/view/pending.hpp"
#include "schedulers/view/profile.hpp"
#include "schedulers/view/resources.hpp"
#include "schedulers/view/shuffle_sizes.hpp"

namespace weft::schedulers {

struct NodeInfo {
  NodeId id;
  std::string name;
  HostId host;  // node-local: a split's hosts contain it
  RackId rack;  // rack-local; every dist()
  Resources capacity;
  Resources nominal;                              // the capacity it joined with; `capacity` may change
  double processors = 0;                          // that its tasks can use together, as reported by its worker; 0: not known
  std::string capacity_why;                       // why `capacity` is not nominal, in words; empty: not known, or it is nominal
  Resources used;                                 // the demands of running attempts together; never more than the capacity
  Resources measured;                             // use by its tasks, as last reported (RAS launches only where it leaves room)
  Resources machine_measured;                     // use by all processes on its machine, as last reported
  std::map<std::string, std::string> attributes;  // accelerators: hardware affinity of the Adaptive scheduler
  std::vector<CapacityStep> forecast;             // f(t) of the Reverse-Adaptive scheduler, ascending; empty: constant
  UplinkRate cross_rack;                          // its traffic over the rack's uplink, as reported
  std::set<AttemptId> running;
  std::set<AttemptId> with_device;     // of these, the ones that hold a device
  std::uint32_t launched = 0;          // attempts ever
  std::optional<Time> excluded_until;  // failed too often: takes no task before that
  bool leaving = false;                // its worker is about to end: takes no task, and its map outputs move to other nodes
  bool away = false;                   // a restarted master waits for its worker, which has not registered again yet: takes no task
  bool slow = false;                   // its tasks take much longer than the same tasks elsewhere: takes no speculative attempts
  Time joined{0}, last_heard{0};
  /// Compared with the median of tasks of the same stages: 2 takes half as long. 1 until enough of its tasks have finished.
  double speed = 1;

  bool usable() const { return !excluded_until.has_value() && !leaving && !away; }
  Resources free() const { return capacity - used; }
  /// It joined with devices, which tasks hold one by one. Otherwise the attribute "accelerator" is a fact about the whole node.
  bool lends_devices() const { return nominal.accelerator > 0; }
};

struct RackInfo {
  RackId id;
  std::string name;
  std::set<NodeId> nodes;
  std::set<NodeId> free_nodes;  // usable and with cpu to spare
  Resources capacity, used;
  UplinkRate uplink;           // the capacity of its uplink; 0: not known
  UplinkRate cross_rack;       // the traffic of its nodes together, as reported
  UplinkRate most_cross_rack;  // the largest traffic ever reported, which stands for a capacity that is not known

  /// The part of the busier direction that is used (ShuffleWatcher's NetSat); 0 when nothing has ever crossed.
  double uplink_utilisation() const;
};

enum class TaskState : std::uint8_t { blocked = 0, pending = 1, running = 2, finished = 3 };

/// A node or none, as std::optional<NodeId> in half of its memory.
class MaybeNode {
 public:
  MaybeNode() = default;
  MaybeNode(std::nullopt_t) {}
  MaybeNode(NodeId node) : node_(node) {}
  MaybeNode(std::optional<NodeId> node) : node_(node.value_or(kNone)) {}
  operator std::optional<NodeId>() const { return has_value() ? std::optional(node_) : std::nullopt; }

  bool has_value() const { return node_ != kNone; }
  explicit operator bool() const { return has_value(); }
  NodeId operator*() const { return node_; }
  const NodeId* operator->() const { return &node_; }
  void reset() { node_ = kNone; }
  friend bool operator==(MaybeNode a, MaybeNode b) { return a.node_ == b.node_; }
  friend bool operator==(MaybeNode a, NodeId b) { return a.node_ == b; }
  friend bool operator==(MaybeNode a, std::nullopt_t) { return !a.has_value(); }
  friend bool operator==(MaybeNode a, const std::optional<NodeId>& b) { return a == MaybeNode(b); }
  friend bool operator==(const std::optional<NodeId>& a, MaybeNode b) { return MaybeNode(a) == b; }

 private:
  static constexpr NodeId kNone{UINT32_MAX};
  NodeId node_ = kNone;
};

/// One task; kept small, there may be millions.
struct TaskInfo {
  TaskState state = TaskState::blocked;
  std::uint16_t failures = 0;        // counted ones
  std::uint16_t losses = 0;          // attempts lost through no fault of the task
  std::uint16_t later_attempts = 0;  // started after the running or winning one: speculative attempts
  std::uint32_t attempts = 0;        // started so far
  NodeId node;                       // of the running or winning attempt
  MaybeNode avoid;                   // where it failed last; must not go there while another node could take it
  MaybeNode preplaced;               // SCache: where its input is being prefetched to
  Time launched{0}, ended{0};        // of that attempt: elapsed, remaining, newest first
  std::uint64_t input_bytes = 0;     // of the splits when pending (by length), as measured when finished

  std::uint32_t attempt() const { return attempts - 1 - later_attempts; }  // the running or winning one, once there was one
};

/// A further attempt at a running task that takes long. The first of the two to finish counts, and the other is killed.
struct SpeculativeAttempt {
  std::uint32_t attempt = 0;
  NodeId node;
  Time launched{0};
};

/// The last recorded reason why a job or stage does not run, for `weft job explain`.
struct Reason {
  Time at{0};
  std::string text;
};

struct StageInfo {
  StageId id;
  std::string name;
  Resources demand;                        // of each task
  std::optional<Time> estimated_duration;  // of a task, by the program; task_duration() has further sources (estimates.hpp)
  double estimated_output_ratio = 0;       // bytes written for each byte read, by the program; 0: not known
  std::optional<StageProfile> profile;     // from earlier runs
  std::vector<std::string> variants;       // attributes of nodes for which it has a special function: "accelerator"
  std::vector<StageId> parents, children;  // the DAG; a child starts when all parents are finished
  bool writes_shuffle = false;             // it is the "map" of some stage
  bool reads_shuffle = false;              // it is the "reduce" of some stage
  bool ready = false;                      // its pending tasks may start: its inputs are complete, or nearly so (slow start)
  bool inputs_complete = false;            // all tasks of all parents are finished
  Time inputs_since = Time::min();         // with slow start: when they became complete last; tasks that ran before that waited
  std::uint32_t depth = 0;                 // from the roots (BFS)

  std::vector<TaskInfo> tasks;
  /// Task i reads the partitions [bounds[i], bounds[i + 1]) of its inputs; empty: partition i alone.
  std::vector<std::uint32_t> bounds;
  PendingTasks pending;                                          // empty unless ready
  std::map<NodeId, std::set<std::uint32_t>> preplaced;           // tasks that are not launched, by the node they were placed on
  std::map<std::uint32_t, SpeculativeAttempt> speculative;       // of tasks that run twice
  std::uint32_t running = 0, finished = 0, failed_attempts = 0;  // tasks, tasks, attempts
  Time observed_total{0};                                        // of finished attempts
  std::uint64_t observed_count = 0;
  std::uint64_t input_bytes = 0;  // read by finished tasks (ratio of ShuffleWatcher, regression of SCache)
  ShuffleSizes output;            // of writes_shuffle; forgotten when no stage will read it any more
  std::vector<std::uint32_t>
      sample_histogram;        // of a sample of all its input over the output's partitions (SCache); empty: there is none
  std::optional<Reason> held;  // the last hold() on it
  /// Tasks whose executor died while they held a device: their further attempts take none. After kMostDeviceCrashes no task does.
  std::set<std::uint32_t> without_device{};
  static constexpr std::size_t kMostDeviceCrashes = 3;

  bool complete() const { return finished == tasks.size(); }
  /// The variants that an attempt runs as on the node, by its attributes; empty: as on any other node. Those for accelerators count
  /// on a node that lends devices only while it holds one.
  std::vector<std::string> variants_on(const NodeInfo& node, bool holds_device) const;
  /// Whether an attempt of the task that is launched on the node now holds a device there: it demands one, or it has a function for
  /// accelerators and a device is free. It never waits for one.
  bool takes_device(std::uint32_t task, const NodeInfo& node) const;
  /// The time between an attempt's launch and `until`, less the time that it waited for its inputs, as early readers do.
  Time worked(Time launched, Time until) const {
    return until - (inputs_since > launched && inputs_since <= until ? inputs_since : launched);
  }
  std::optional<Time> mean_duration() const {  // observed, else estimated
    if (observed_count > 0) return observed_total / static_cast<std::int64_t>(observed_count);
    return estimated_duration;
  }
};

struct JobInfo {
  JobId id;
  std::string name, user, pool;  // the pool is also the queue
  int priority = 0;              // larger first
  Time submitted{0};
  std::optional<Time> deadline;  // completion-time goal
  Resources demand;              // of a task unless its stage says otherwise
  JobHints hints;
  double slow_start = 1;   // part of a stage's maps that must have ended before its readers may start
  bool speculates = true;  // its slow tasks may get speculative attempts
  std::map<StageId, StageInfo> stages;
  std::set<StageId> runnable;                            // stages with pending tasks
  std::uint64_t pending = 0, running = 0, finished = 0;  // tasks
  Resources used;                                        // by running attempts: fair shares, dominant shares
  Resources wanted;                                      // by pending tasks; used + wanted is the demand of fair shares
  std::optional<Reason> held;

  const StageInfo* stage(StageId stage_id) const {
    auto found = stages.find(stage_id);
    return found == stages.end() ? nullptr : &found->second;
  }
};

/// What the jobs of a user or a pool (queue) have together. Weights and minimum shares are options of schedulers.
struct GroupInfo {
  std::set<JobId> jobs;
  std::uint64_t pending = 0, running = 0;
  Resources used;
};

/// Priority first, then submit time, then id: FIFO's order, and the tie break of all others.
struct JobOrder {
  int priority = 0;
  Time submitted{0};
  JobId id;
  friend bool operator<(const JobOrder& a, const JobOrder& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.submitted != b.submitted ? a.submitted < b.submitted : a.id < b.id;
  }
};

/// Erases the job from a map or set whose keys begin with job and stage: pairs of these, or TaskIds.
template <class Ordered>
void erase_job(Ordered& all, JobId job) {
  using Key = typename Ordered::key_type;
  all.erase(all.lower_bound(Key{job, StageId(0)}), all.lower_bound(Key{JobId(job.value() + 1), StageId(0)}));
}

class ClusterView {
 public:
  Time now() const { return now_; }
  Time heartbeat() const { return heartbeat_; }            // how often nodes report; 0: not known, or at once
  const Resources& capacity() const { return capacity_; }  // of usable nodes
  const Resources& used() const { return used_; }

  const std::map<NodeId, NodeInfo>& nodes() const { return nodes_; }  // live ones
  const std::map<RackId, RackInfo>& racks() const { return racks_; }
  const std::set<NodeId>& free_nodes() const { return free_nodes_; }  // usable and with cpu to spare
  const std::map<HostId, std::set<NodeId>>& hosts() const { return hosts_; }
  const std::map<JobId, JobInfo>& jobs() const { return jobs_; }              // running ones
  const std::set<JobOrder>& runnable_jobs() const { return runnable_jobs_; }  // those with pending tasks
  /// Running tasks that may be launched a second time, on a node that is not slow (Scheduler::speculate).
  const std::set<TaskId>& stragglers() const { return stragglers_; }
  const std::map<std::string, GroupInfo>& users() const { return users_; }
  const std::map<std::string, GroupInfo>& pools() const { return pools_; }

  const NodeInfo* node(NodeId id) const;
  const RackInfo* rack(RackId id) const;
  const JobInfo* job(JobId id) const;
  const StageInfo* stage(JobId job, StageId stage) const;
  const TaskInfo* task(const TaskId& id) const;

  std::optional<HostId> host_named(const std::string& name) const;
  const std::string& host_name(HostId id) const;
  std::optional<RackId> rack_of(HostId host) const;
  /// 0 same host, 2 same rack, 4 otherwise (also for nodes that are gone).
  int distance(NodeId a, NodeId b) const;

  /// When a running attempt was launched; nothing for one that does not run.
  std::optional<Time> launched(const AttemptId& attempt) const;

  /// Nothing: the task can be launched on the node. Otherwise the text says why not: it must be pending (or a straggler, for a
  /// speculative attempt) with complete inputs, and the node usable and with enough free capacity.
  std::optional<std::string> why_not(const TaskId& task, NodeId node) const;

 protected:
  ClusterView() = default;
  ~ClusterView() = default;

  Time now_{0}, heartbeat_{0};
  Resources capacity_, used_;
  std::map<NodeId, NodeInfo> nodes_;
  std::map<RackId, RackInfo> racks_;
  std::set<NodeId> free_nodes_;
  std::map<HostId, std::set<NodeId>> hosts_;
  std::map<HostId, RackId> host_racks_;
  std::map<std::string, HostId> host_ids_;
  std::vector<std::string> host_names_;
  std::map<std::string, RackId> rack_ids_;
  std::map<JobId, JobInfo> jobs_;
  std::set<JobOrder> runnable_jobs_;
  std::set<TaskId> stragglers_;
  std::map<std::string, GroupInfo> users_, pools_;
};

}  // namespace weft::schedulers
