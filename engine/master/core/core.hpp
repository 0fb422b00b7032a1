// The JobMaster core: a deterministic state machine without I/O (no socket, file, thread, clock or random source). Driven by three
// shells: the server, the embedded engine, and a simulated one. One thread at a time.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/master/core/events.hpp"
#include "engine/master/core/stage_figures.hpp"
#include "runtime/protocol/task_phases.hpp"
#include "schedulers/prediction/job_ends.hpp"
#include "schedulers/view/estimates.hpp"
#include "schedulers/view/scheduler.hpp"
#include "shuffle/prefetch/prefetch_stats.hpp"

namespace weft::master {

struct CoreOptions {
  std::uint32_t max_failures_per_node = 0;            // consecutive failures before a node is excluded; 0: derived
  Time heartbeat_timeout = std::chrono::seconds(10);  // a silent worker is lost; 0: never
  Time heartbeat{0};                                  // how often workers report, for schedulers; 0: not known
  std::uint64_t max_result_bytes = 256u << 20;        // of one action
  std::size_t finished_jobs_kept = 1000;
  Time exclusion = std::chrono::minutes(2);  // how long a node that keeps failing gets no tasks
  std::uint64_t split_bytes = 4u << 20;      // a hot partition is cut into pieces of no less; 0: never cut
  /// Adjacent partitions are given to one task until it reads so much, where the plan allows it and enough tasks for all slots
  /// stay; 0: never.
  std::uint64_t merge_bytes = 1u << 20;
  Time placement_wait = std::chrono::minutes(1);  // for tasks that no worker there is large enough for, once accepted
  Time decide_every{0};        // the scheduler is called at multiples of this only; 0: after each event that could allow a launch
  bool keep_splits = true;     // of inputs, for launches; a shell that knows its tasks' input saves the memory
  bool on_heartbeats = false;  // with decide_every 0: only for the node a heartbeat came from (Hadoop 1), and for its own timers
  /// Of jobs that do not say (JobOptions): a stage may start when so much of each of its inputs is there, and the nodes of its
  /// running tasks are notified of further map outputs (ShuffleExtended). 1: when its inputs are complete. Unset: what the
  /// scheduler says (Scheduler::slow_start).
  std::optional<double> slow_start{};
  /// When so much of an input is there the scheduler is asked where its readers go (Scheduler::preplace). 1: it is not.
  double preplace_at = 1;
  Speculation speculation{};                // until an event says otherwise
  std::uint32_t max_refusals = 10'000;      // refused decisions in one call of the scheduler, then the call is cut off
  std::uint32_t max_decisions = 1'000'000;  // decisions of any kind in one call
};

enum class JobState : std::uint8_t { running, finished, failed, killed };
constexpr JobState last_of(JobState) { return JobState::killed; }
/// "running".
std::string_view name_of(JobState state);

// The statuses below travel to clients and into the journal: their fields are those of engine/master/protocol/protocol.capnp, in
// its order.

/// What the finished tasks of a stage used, each counted once; and how its attempts ran.
struct StageUsage {
  runtime::TaskPhases phases;     // of all together
  Time cpu{0};                    // processor time of all together
  std::uint64_t peak_memory = 0;  // held by the operators of the task that held the most
  std::uint32_t accelerated = 0;  // attempts launched, finished or not, to run functions for attributes of their nodes
  runtime::BadRecords bad_records{};
  StageAttempts attempts{};
  Time began{0}, ended{0};  // the first launch, and the last end of the last task, once there was one; 0: not yet
  TaskFigures<Distribution> figures{};
};

/// Of the duration of a stage's tasks.
struct StageEstimate {
  Time predicted{0};                                                        // before it began; 0: by nobody
  schedulers::EstimateSource source = schedulers::EstimateSource::assumed;  // of the prediction
  Time mean{0};                                                             // of the tasks that finished; 0: none has
};

struct StageStatus {
  StageId id;
  std::string name;
  std::uint32_t tasks = 0, finished = 0, running = 0, failed_attempts = 0;
  bool waiting = false;  // for its inputs
  std::string reason;    // the last thing said about why a task of it does not run (weft job explain); empty when none
  std::uint64_t input_bytes = 0, shuffle_bytes = 0;    // read from files, written to its shuffle
  std::uint32_t speculative = 0, speculative_won = 0;  // speculative attempts launched; of these, those that finished first
  std::uint32_t speculating = 0;                       // tasks that run in two attempts now
  /// Of its shuffle, once it is whole (a prediction by schedulers/prediction/size_prediction.hpp): all of it, and its largest
  /// partition. 0: not known, or not asked for.
  std::uint64_t predicted_shuffle_bytes = 0, predicted_largest_partition = 0;
  /// Of its shuffle, rounds of readers whose blocks wait out of the nodes' memory now, and these blocks; rounds that were deferred
  /// since the first was, and of these, those that were wanted in memory again.
  std::uint32_t rounds_deferred = 0;
  std::uint64_t bytes_deferred = 0;
  std::uint32_t rounds_evicted = 0, rounds_returned = 0;
  /// Of its map outputs, with shuffle_replicas 2: those that have a replica, those that will not, and those lost whose replica is
  /// used.
  std::uint32_t replicas = 0, replicas_abandoned = 0, replicas_used = 0;
  StageUsage usage{};
  StageEstimate estimate{};
  Time left{0};  // until its last task has ended, of a running job (time_left.hpp); 0: not known
};

/// How a running job does against its deadline, as far as is known (schedulers/prediction/job_ends.hpp).
struct Expectation {
  Time end{0};         // on the core's clock; 0: not known
  Time alone{0};       // if it had the whole cluster from now on; 0: not known
  double slots = 0;    // tasks that run at a time, as it has them or is expected to
  double needed = 0;   // that must from now on, to meet the deadline
  double cluster = 0;  // that there is room for, of all jobs
};

inline constexpr std::uint32_t kLostWorkersNamed = 16;  // in the status of a job

/// Of the stages of a job so far; 0: of jobs that an earlier release kept.
struct TaskCounts {
  std::uint64_t all = 0, finished = 0, running = 0;
};

struct JobStatus {
  JobId id;
  std::string name, user, pool;
  JobState state = JobState::running;
  std::string error;  // one line; empty unless failed or killed
  Time submitted{0}, ended{0};
  std::vector<StageStatus> stages;
  Counters counters;  // of winning attempts only
  std::uint64_t shuffle_bytes = 0, input_bytes = 0, input_records = 0;
  std::optional<Time> deadline;
  int priority = 0;
  std::uint32_t shuffle_replicas = 1;  // copies of map outputs
  /// Of its blocks, on all nodes. The core knows nothing of it: the shell fills it in, from what workers say now and then.
  shuffle::PrefetchStats prefetch{};
  std::vector<std::string> lost_workers{};  // while it ran, but for those that left by themselves: "w2 (SIGBUS)"; the first few
  std::uint32_t workers_lost = 0;           // how many
  std::optional<double> weight{};           // of its share, against other jobs; not known of jobs that an earlier release kept
  std::optional<Expectation> expected{};    // of a running job with a deadline; filled in by the shell, too
  TaskCounts tasks{};
  std::map<std::string, std::string> options{};  // JobOptions that were set, by name, as the command line takes them
  Time left{0};                                  // until it has ended, while it runs (time_left.hpp); 0: not known
};

/// What went wrong inside the scheduler. The core goes on: everything decided before the fault stands, the scheduler is called
/// again at the next event.
struct SchedulerFaults {
  std::uint64_t refused = 0;  // decisions, ever
  std::uint64_t faults = 0;   // calls that threw or were cut off, ever
  std::string fault;          // the last of them, in words
  Time at{0};                 // of that
};

/// Tasks of one stage that do not run, or started early and cannot go on, and why.
struct WaitingTasks {
  enum class Why : std::uint8_t { parents, held, avoiding, placed, outputs };  // outputs: they run, and wait for map outputs
  friend constexpr Why last_of(Why) { return Why::outputs; }
  StageId stage;
  std::string stage_name;
  std::uint32_t tasks = 0;
  Why why = Why::held;
  std::string reason;         // one line
  std::optional<Time> since;  // when that was said or decided
};
/// How long schedulers take a task of a stage to be, and why.
struct UsedEstimate {
  StageId stage;
  std::string stage_name;
  Time duration{0};
  schedulers::EstimateSource source = schedulers::EstimateSource::assumed;
  std::string basis;  // what it rests on, in words
};
/// `weft job explain`: from what was recorded, and from what the cluster has now.
struct JobExplanation {
  JobId id;
  std::string name;
  JobState state = JobState::running;
  std::string summary;  // of the whole job, one line
  std::uint64_t running = 0, finished = 0;
  std::vector<WaitingTasks> waiting;              // by stage
  Time now{0};                                    // on the master's clock, as the times above; filled in by the shell
  std::uint64_t speculating = 0, straggling = 0;  // of the running: in two attempts; slow, and a speculative attempt would help
  std::vector<UsedEstimate> estimates{};          // of the stages that are not complete
};

/// Makes a scheduler from its text and the texts of the files that it names. No I/O.
using SchedulerFactory = std::function<Result<std::unique_ptr<schedulers::Scheduler>>(
    const std::string& spec, const std::map<std::string, std::string>& files)>;

/// What a node still has that others need.
struct NodeRemains {
  std::uint32_t tasks = 0;      // that run there
  std::uint32_t outputs = 0;    // map outputs of running jobs without a copy, one of which is being made or waits for a node
  std::uint32_t abandoned = 0;  // outputs that no worker could copy: they are made again when it is gone
};

struct Restored;
struct StageShape;

class Core {
 public:
  /// Without a factory SchedulerConfigured is refused.
  Core(std::unique_ptr<schedulers::Scheduler> scheduler, CoreOptions options, SchedulerFactory factory = {});
  ~Core();

  /// Before the first event: the clock goes on from `now`, with the nodes and jobs of the master before. The nodes are away until
  /// their workers register again (WorkerRejoined), and lost when they do not in time. Appends the commands it leads to; those to
  /// workers may be dropped, because they are repeated when the worker is back.
  void restore(Time now, Restored restored, std::vector<Command>& commands);
  /// Applies one event and appends the commands it leads to. A refusal changes nothing and says why.
  Result<void> apply(Time now, Event event, std::vector<Command>& commands);

  /// With `predict`, how large incomplete shuffles will be: that looks at some millions of sizes.
  Result<JobStatus> job(JobId id, bool predict = false) const;
  std::vector<JobStatus> jobs() const;  // by id; without stages
  Result<JobExplanation> explain(JobId id) const;
  /// How the partitions of the stage became tasks, once one of them was launched. Nothing: there is no such stage.
  std::optional<StageShape> shape(JobId job, StageId stage) const;
  const schedulers::ClusterView& view() const;
  const SchedulerFaults& scheduler_faults() const;
  /// What the last SchedulerConfigured said; empty before the first.
  const SchedulerConfigured& configuration() const;
  /// Of the running jobs. A look at all running tasks.
  std::map<JobId, schedulers::ExpectedEnd> expected_ends() const;
  /// A look at all map outputs on the node. Nothing of a node that is not there.
  NodeRemains remains(NodeId node) const;
  /// Of a node that takes no tasks because its worker crashed again and again: that, in words. Empty: not so.
  std::string why_excluded(NodeId node) const;
  /// Pools or queues as the scheduler sees them. The error is what it threw.
  Result<std::vector<schedulers::GroupStatus>> groups() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft::master
