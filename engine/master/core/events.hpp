// What goes into the JobMaster core and what comes out. Plain values; nothing here does I/O.
//
// Events are total: in any state each is applied or refused with a reason, never a crash. Applying the same events to two cores
// gives the same commands, byte for byte.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/bytes.hpp"
#include "base/ids.hpp"
#include "base/result.hpp"
#include "engine/master/core/job_options.hpp"
#include "engine/master/core/speculation.hpp"
#include "engine/master/plan/plan.hpp"
#include "runtime/protocol/commands.hpp"
#include "runtime/protocol/task.hpp"
#include "runtime/protocol/task_end.hpp"
#include "runtime/protocol/task_usage.hpp"
#include "schedulers/view/view.hpp"
#include "shuffle/store/task_shuffle.hpp"

namespace weft::master {

/// Time as the core sees it: since an arbitrary epoch of its shell (virtual in the simulator). Never goes back.
using Time = std::chrono::nanoseconds;

using Counters = std::map<std::string, std::int64_t>;

// ---- events -------------------------------------------------------------------------------------------------------

struct JobSubmitted {
  JobId job;  // chosen by the shell; must be new
  std::string name{};
  JobOptions options{};
  std::optional<Time> deadline{};  // what the options say of it, on the core's clock
  schedulers::JobHints hints{};    // what the options say of weight and hints
};
/// The submission of a job with these options, whose hints and deadline it resolves. invalid_argument: a hint makes no sense.
Result<JobSubmitted> submission(JobId job, std::string name, JobOptions options, Time now);
struct PlanExtended {
  JobId job;
  plan::PlanPart part;
  /// What history says of the part's stages, in their order, filled in by the shell; empty: nothing of any.
  std::vector<std::optional<schedulers::StageProfile>> profiles{};
};
/// The driver is done with the job (orderly).
struct JobClosed {
  JobId job;
};
struct JobKilled {
  JobId job;
  std::string reason;  // "killed by alice", "driver lost"
};

/// The job's driver, which ran in the cluster, is gone for good: the job fails for that reason.
struct DriverFailed {
  JobId job;
  std::string reason;
};

struct WorkerJoined {
  NodeId node;  // chosen by the shell; must be new
  std::string name;
  std::string host;
  std::string rack;
  std::string data_address;        // where its store serves other workers
  schedulers::Resources capacity;  // Resources::cpu is the number of slots
  std::map<std::string, std::string> attributes;
  std::vector<schedulers::CapacityStep> forecast{};  // empty: constant
  std::uint64_t prefetch_bytes = 0;                  // of prefetched blocks that it holds at most; 0: not known
  schedulers::UplinkRate rack_uplink{};              // what the uplink of its rack carries; 0: not known
  double processors = 0;                             // that its tasks can use together; 0: not known
};
struct WorkerHeartbeat {
  NodeId node;
  schedulers::Resources used{};                      // as measured, for the view only
  schedulers::UplinkRate cross_rack{};               // what it moves over its rack's uplink; rates that cannot be are ignored
  std::vector<schedulers::CapacityStep> forecast{};  // empty: as said before
  std::optional<schedulers::Resources> capacity{};   // from now on; what runs goes on. Unset: as before
  schedulers::Resources machine{};                   // used on its machine by everybody, as measured
};
/// From now on the node has that capacity, whoever decided so, or is expected to have. What runs there goes on.
struct CapacityChanged {
  NodeId node;
  std::optional<schedulers::Resources> capacity{};   // at most what it joined with; unset: as it was
  std::vector<schedulers::CapacityStep> forecast{};  // ascending; empty: as said before
  std::string why{};                                 // the capacity is what it is, in words; empty when it is nominal
};
/// The worker ends when it has handed over what it has: it gets no more tasks, and copies are made of its map outputs, which take
/// their place when it is gone. What runs there goes on.
struct WorkerLeaving {
  NodeId node;
};
/// The worker of a node that was restored has registered again, and says what it runs and holds.
struct WorkerRejoined {
  NodeId node;
  std::vector<AttemptId> running;                      // or ended: their ends follow
  std::vector<runtime::protocol::HeldOutput> outputs;  // its own, and replicas of others
  std::set<AttemptId> with_device{};                   // of those that run, the ones that hold a device
};
/// The reason of a worker that said goodbye: it is not missed.
inline constexpr std::string_view kWorkerLeft = "it left";
/// The connection is gone, or the worker said goodbye.
struct WorkerLost {
  NodeId node;
  std::string reason;
};

struct TaskFinished {
  AttemptId attempt;
  NodeId node;
  std::vector<shuffle::PartitionSize> output;  // OutputKind::shuffle
  Buffer result;                               // OutputKind::result
  Counters counters;
  std::uint64_t input_bytes = 0;
  std::uint64_t input_records = 0;
  shuffle::ShuffleTimes shuffle_times{};
  std::vector<std::uint32_t>
      sample_histogram{};  // of a sample of what its stage reads, over the output's partitions; empty: not known
  runtime::TaskUsage usage{};
  bool device = false;  // it held one of the node's devices
};
using FailureKind = runtime::TaskEnd;
struct TaskFailed {
  AttemptId attempt;
  NodeId node;
  FailureKind kind = FailureKind::user_code;
  std::string message;  // with input position
  std::optional<shuffle::FetchFailure> fetch;
  bool device = false;  // it held one of the node's devices
};
using runtime::protocol::OutputReplica;
/// It is there, whole and verified.
struct OutputReplicated {
  OutputReplica replica;
};
/// It could not be made, and will not be.
struct ReplicaFailed {
  OutputReplica replica;
  std::string message;
};
struct TimerFired {
  std::uint64_t timer = 0;
};
/// From now on this scheduler decides, or this configuration of it is in force.
struct SchedulerConfigured {
  std::string spec;                          // "fair(pools=pools.toml)"
  std::map<std::string, std::string> files;  // texts of the files it names, by name
  std::optional<Speculation> speculation{};  // unset: as before
};

using Event = std::variant<JobSubmitted, PlanExtended, JobClosed, JobKilled, WorkerJoined, WorkerHeartbeat, WorkerLost,
                           TaskFinished, TaskFailed, TimerFired, SchedulerConfigured, OutputReplicated, ReplicaFailed,
                           CapacityChanged, WorkerLeaving, WorkerRejoined, DriverFailed>;

Event copy_of(const Event& event);
/// The end of an attempt on that node, as its executor reports it.
Event end_of_attempt(runtime::protocol::Event reported, NodeId node);

// ---- commands -----------------------------------------------------------------------------------------------------
// Those that workers carry out as they are: runtime/protocol/commands.hpp.

using runtime::protocol::KillCause;
using runtime::protocol::KillTask;
using runtime::protocol::NodeLost;
using runtime::protocol::OutputTable;
using runtime::protocol::PrefetchShuffle;
using runtime::protocol::ReleaseJob;
using runtime::protocol::ReleaseShuffle;
using runtime::protocol::ReplicateOutput;
using runtime::protocol::ShuffleExtended;
using runtime::protocol::ShuffleLocations;
using runtime::protocol::WrittenTable;

struct LaunchTask {
  NodeId node;
  AttemptId attempt;
  plan::TaskSpec spec;
  std::vector<ShuffleId> inputs;  // shuffles it reads; their locations were sent to the node before
  Time timeout{0};
  std::string stage_name;
  std::string reason;         // the scheduler's
  bool speculative = false;   // the task runs already: whichever attempt finishes first counts
  bool device = false;        // it holds one of the node's devices
  bool needs_device = false;  // and cannot do without
};
/// An output was lost where it was; its copy takes its place, and nothing is made again. Readers are notified by other commands:
/// this one is for event logs.
struct OutputMoved {
  JobId job;
  ShuffleId shuffle;
  shuffle::MapOutput output;  // where it is now
  NodeId from;
  std::string reason;
};
/// An output that the stage has read is made again and may be another one: what tasks of the stage have made or were making counts
/// no more, and they run again. Workers are notified by other commands: this one is for logs and the journal.
struct StageRolledBack {
  JobId job;
  StageId stage;
  std::uint32_t tasks = 0;  // that had finished, or ran
  std::string reason;
};
struct ActionFinished {
  JobId job;
  ActionId action;
  std::vector<std::vector<Buffer>> results;  // per target, per task
};
/// The job failed or was killed; every later event of it is refused.
struct JobFailed {
  JobId job;
  Error error;
};
struct JobFinished {
  JobId job;
};
struct SetTimer {
  std::uint64_t timer = 0;
  Time at{0};
};

using Command =
    std::variant<LaunchTask, KillTask, ShuffleLocations, ShuffleExtended, PrefetchShuffle, ReplicateOutput, OutputMoved,
                 StageRolledBack, ReleaseShuffle, ReleaseJob, NodeLost, ActionFinished, JobFailed, JobFinished, SetTimer>;

}  // namespace weft::master
