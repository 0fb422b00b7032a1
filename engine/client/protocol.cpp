// Each member of a client message and its field in protocol.capnp, once, for reading and writing (base/rpc/mapping.hpp).
#include "engine/client/protocol.hpp"

#include "base/rpc/mapping.hpp"
#include "engine/client/protocol.capnp.h"

namespace weft::master {

constexpr JobState last_of(JobState) { return JobState::killed; }
constexpr WaitingTasks::Why last_of(WaitingTasks::Why) { return WaitingTasks::Why::placed; }

}  // namespace weft::master

namespace weft::client::wire {
namespace {

/// Resources as "cpu=2,memory=4GiB".
template <class Io, class Field>
void map_resources(Io& io, const Field& field, schedulers::Resources& resources) {
  io.as_text(
      field, resources, [](const schedulers::Resources& value) { return to_string(value); },
      [](const std::string& text) { return schedulers::parse_resources(text); });
}

}  // namespace

template <class Io>
void map(Io& io, Hash128& hash) {
  io(WEFT_WIRE(High), hash.high);
  io(WEFT_WIRE(Low), hash.low);
}

template <class Io>
void map(Io& io, shuffle::PrefetchStats& stats) {
  io(WEFT_WIRE(Prefetched), stats.prefetched_bytes);
  io(WEFT_WIRE(Read), stats.read_bytes);
  io(WEFT_WIRE(Wasted), stats.wasted_bytes);
  io(WEFT_WIRE(Evicted), stats.evicted_bytes);
  io(WEFT_WIRE(EvictedFile), stats.evicted_file_bytes);
  io(WEFT_WIRE(Returned), stats.returned_bytes);
}

// ---- submitting and running jobs

template <class Io>
void map(Io& io, client::Submit& submit) {
  io(WEFT_WIRE(Name), submit.name);
  io(WEFT_WIRE(Program), submit.program);
  io(WEFT_WIRE(Arguments), submit.arguments);
  io(WEFT_WIRE(Directory), submit.directory);
  io(WEFT_WIRE(SameBinary), submit.same_binary);
  io(WEFT_WIRE(Binary), submit.binary);
  io(WEFT_WIRE(MemoryBytes), submit.memory_bytes);
  io(WEFT_WIRE(User), submit.user);
  io(WEFT_WIRE(Pool), submit.pool);
  io(WEFT_WIRE(Priority), submit.priority);
  io(WEFT_WIRE(MaxAttempts), submit.max_attempts);
  io(WEFT_WIRE(TaskTimeout), submit.task_timeout);
  io(WEFT_WIRE(Deadline), submit.deadline);
  map_resources(io, WEFT_WIRE(Demand), submit.demand);
  io.as_text(
      WEFT_WIRE(ShuffleMode), submit.shuffle_mode, [](const auto& mode) { return mode ? shuffle::mode_name(*mode) : ""; },
      [](const std::string& text) -> Result<std::optional<shuffle::Mode>> {
        const auto mode = shuffle::parse_mode(text);
        if (!mode) return fail(Code::invalid_argument, "unknown shuffle mode");
        return mode;
      });
  io.unless_zero(WEFT_WIRE(ShuffleReplicas), submit.shuffle_replicas);
}

template <class Io>
void map(Io& io, client::Submitted& answer) {
  io(WEFT_WIRE(Job), answer.job);
  io(WEFT_WIRE(BinaryKnown), answer.binary_known);
  io(WEFT_WIRE(Slots), answer.slots);
}

template <class Io>
void map(Io& io, client::Upload& upload) {
  io(WEFT_WIRE(Binary), upload.binary);
  io(WEFT_WIRE(Offset), upload.offset);
  io(WEFT_WIRE(Total), upload.total);
}

template <class Io>
void map(Io& io, JobRequest& request) {
  io(WEFT_WIRE(Job), request.job);
}

template <class Io>
void map(Io& io, ValueRecord& record) {
  io(WEFT_WIRE(Job), record.job);
  io(WEFT_WIRE(Action), record.action);
}

template <class Io>
void map(Io& io, client::Poll& poll) {
  io(WEFT_WIRE(Job), poll.job);
  io(WEFT_WIRE(Action), poll.action);
  io(WEFT_WIRE(Wait), poll.wait);
}

/// The results of a target's tasks.
template <class Io>
void map(Io& io, std::vector<Buffer>& results) {
  io.bulk(WEFT_WIRE(Sizes), results);
}

template <class Io>
void map(Io& io, client::PollReply& reply) {
  io(WEFT_WIRE(Status), reply.status);
  io(WEFT_WIRE(Finished), reply.finished);
  io(WEFT_WIRE(Results), reply.results);
}

// ---- how jobs stand

template <class Io>
void map(Io& io, master::StageStatus& stage) {
  io(WEFT_WIRE(Id), stage.id);
  io(WEFT_WIRE(Name), stage.name);
  io(WEFT_WIRE(Tasks), stage.tasks);
  io(WEFT_WIRE(Finished), stage.finished);
  io(WEFT_WIRE(Running), stage.running);
  io(WEFT_WIRE(FailedAttempts), stage.failed_attempts);
  io(WEFT_WIRE(Waiting), stage.waiting);
  io(WEFT_WIRE(Reason), stage.reason);
  io(WEFT_WIRE(InputBytes), stage.input_bytes);
  io(WEFT_WIRE(ShuffleBytes), stage.shuffle_bytes);
  io(WEFT_WIRE(Speculative), stage.speculative);
  io(WEFT_WIRE(SpeculativeWon), stage.speculative_won);
  io(WEFT_WIRE(Racing), stage.speculating);
  io(WEFT_WIRE(PredictedShuffleBytes), stage.predicted_shuffle_bytes);
  io(WEFT_WIRE(PredictedLargestPartition), stage.predicted_largest_partition);
  io(WEFT_WIRE(RoundsHeldBack), stage.rounds_deferred);
  io(WEFT_WIRE(BytesHeldBack), stage.bytes_deferred);
  io(WEFT_WIRE(RoundsEvicted), stage.rounds_evicted);
  io(WEFT_WIRE(RoundsReturned), stage.rounds_returned);
  io(WEFT_WIRE(Copies), stage.replicas);
  io(WEFT_WIRE(CopiesLeft), stage.replicas_abandoned);
  io(WEFT_WIRE(CopiesUsed), stage.replicas_used);
}

template <class Io>
void map(Io& io, master::JobStatus& status) {
  io(WEFT_WIRE(Id), status.id);
  io(WEFT_WIRE(Name), status.name);
  io(WEFT_WIRE(User), status.user);
  io(WEFT_WIRE(Pool), status.pool);
  io(WEFT_WIRE(State), status.state);
  io(WEFT_WIRE(Error), status.error);
  io(WEFT_WIRE(Submitted), status.submitted);
  io(WEFT_WIRE(Ended), status.ended);
  io(WEFT_WIRE(Stages), status.stages);
  io(WEFT_WIRE(Counters), status.counters);
  io(WEFT_WIRE(ShuffleBytes), status.shuffle_bytes);
  io(WEFT_WIRE(InputBytes), status.input_bytes);
  io(WEFT_WIRE(InputRecords), status.input_records);
  io.unless_zero(WEFT_WIRE(Deadline), status.deadline);
  io(WEFT_WIRE(Priority), status.priority);
  io(WEFT_WIRE(ShuffleReplicas), status.shuffle_replicas);
  io(WEFT_WIRE(Prefetch), status.prefetch);
  io(WEFT_WIRE(LostWorkers), status.lost_workers);
  io(WEFT_WIRE(WorkersLost), status.workers_lost);
}

template <class Io>
void map(Io& io, client::JobList& list) {
  io(WEFT_WIRE(Jobs), list.jobs);
  io(WEFT_WIRE(Now), list.now);
}

template <class Io>
void map(Io& io, KillRequest& request) {
  io(WEFT_WIRE(Job), request.job);
  io(WEFT_WIRE(Reason), request.reason);
}

template <class Io>
void map(Io& io, LogsWanted& wanted) {
  io(WEFT_WIRE(Job), wanted.job);
  io(WEFT_WIRE(MaxBytes), wanted.max_bytes);
}

template <class Io>
void map(Io& io, JobLog& log) {
  io(WEFT_WIRE(Node), log.node);
  io(WEFT_WIRE(Error), log.error);
  io.bulk(WEFT_WIRE(Bytes), log.text);
}

template <class Io>
void map(Io& io, JobLogs& logs) {
  io(WEFT_WIRE(Logs), logs.logs);
}

// ---- the cluster, and what the scheduler does and why

template <class Io>
void map(Io& io, NodeStatus& node) {
  io(WEFT_WIRE(Id), node.id);
  io(WEFT_WIRE(Name), node.name);
  io(WEFT_WIRE(Host), node.host);
  io(WEFT_WIRE(Rack), node.rack);
  io(WEFT_WIRE(Address), node.address);
  io(WEFT_WIRE(Slots), node.slots);
  io(WEFT_WIRE(Running), node.running);
  io(WEFT_WIRE(Excluded), node.excluded);
  io(WEFT_WIRE(Heard), node.heard);
  map_resources(io, WEFT_WIRE(Capacity), node.capacity);
  map_resources(io, WEFT_WIRE(Used), node.used);
  io(WEFT_WIRE(Attributes), node.attributes);
  io(WEFT_WIRE(ExcludedFor), node.excluded_for);
  io(WEFT_WIRE(ClockAhead), node.clock_ahead);
  io(WEFT_WIRE(Lost), node.lost);
  io(WEFT_WIRE(StoreMemoryBytes), node.store_memory_bytes);
  io(WEFT_WIRE(StoreDiskBytes), node.store_disk_bytes);
  io(WEFT_WIRE(PrefetchMemoryBytes), node.prefetch_memory_bytes);
  io(WEFT_WIRE(PrefetchFileBytes), node.prefetch_file_bytes);
  io(WEFT_WIRE(Prefetch), node.prefetch);
  io(WEFT_WIRE(Dead), node.dead);
  io(WEFT_WIRE(Cause), node.cause);
}

template <class Io>
void map(Io& io, client::NodeList& list) {
  io(WEFT_WIRE(Nodes), list.nodes);
}

template <class Io>
void map(Io& io, master::WaitingTasks& group) {
  io(WEFT_WIRE(Stage), group.stage);
  io(WEFT_WIRE(Name), group.stage_name);
  io(WEFT_WIRE(Tasks), group.tasks);
  io(WEFT_WIRE(Why), group.why);
  io(WEFT_WIRE(Reason), group.reason);
  io.optional(WEFT_WIRE(HasSince), WEFT_WIRE(Since), group.since);
}

template <class Io>
void map(Io& io, client::Explanation& explanation) {
  master::JobExplanation& job = explanation.job;
  io(WEFT_WIRE(Job), job.id);
  io(WEFT_WIRE(Name), job.name);
  io(WEFT_WIRE(State), job.state);
  io(WEFT_WIRE(Summary), job.summary);
  io(WEFT_WIRE(Running), job.running);
  io(WEFT_WIRE(Finished), job.finished);
  io(WEFT_WIRE(Racing), job.speculating);
  io(WEFT_WIRE(Straggling), job.straggling);
  io(WEFT_WIRE(Waiting), job.waiting);
  io(WEFT_WIRE(Now), explanation.now);
}

template <class Io>
void map(Io& io, GroupInfo& group) {
  schedulers::GroupStatus& status = group.status;
  io(WEFT_WIRE(Name), status.name);
  io(WEFT_WIRE(Parent), status.parent);
  io(WEFT_WIRE(Weight), status.weight);
  io(WEFT_WIRE(Guaranteed), status.guaranteed);
  io(WEFT_WIRE(FairShare), status.fair_share);
  io.optional(WEFT_WIRE(HasLimit), WEFT_WIRE(Limit), status.limit);
  io(WEFT_WIRE(Used), status.used);
  io(WEFT_WIRE(Demand), status.demand);
  io(WEFT_WIRE(Jobs), status.jobs);
  io(WEFT_WIRE(Pending), group.pending);
  io(WEFT_WIRE(Running), group.running);
  map_resources(io, WEFT_WIRE(Resources), group.used);
  io(WEFT_WIRE(Unknown), group.unknown);
}

template <class Io>
void map(Io& io, GroupList& list) {
  io(WEFT_WIRE(Groups), list.groups);
}

template <class Io>
void map(Io& io, SchedulerInfo& info) {
  io(WEFT_WIRE(Spec), info.spec);
  io(WEFT_WIRE(Files), info.files);
  io(WEFT_WIRE(Known), info.known);
  io(WEFT_WIRE(Refused), info.trouble.refused);
  io(WEFT_WIRE(Faults), info.trouble.faults);
  io(WEFT_WIRE(Fault), info.trouble.fault);
  io(WEFT_WIRE(FaultAt), info.trouble.at);
  io(WEFT_WIRE(Now), info.now);
}

}  // namespace weft::client::wire

namespace weft::client {

/// The schema of a message.
template <class M>
struct SchemaOf;

template <class M>
rpc::Payload encode(M message) {
  return rpc::to_payload<typename SchemaOf<M>::Type>(message);
}
template <class M>
Result<M> decode(const rpc::Message& message) {
  return rpc::from_payload<typename SchemaOf<M>::Type, M>(message, M::kName);
}

#define WEFT_CLIENT_MESSAGE(M, Schema)     \
  template <>                              \
  struct SchemaOf<M> {                     \
    using Type = wire::Schema;             \
  };                                       \
  template rpc::Payload encode(M message); \
  template Result<M> decode(const rpc::Message& message)

WEFT_CLIENT_MESSAGE(Submit, Submit);
WEFT_CLIENT_MESSAGE(Submitted, Submitted);
WEFT_CLIENT_MESSAGE(Upload, Upload);
WEFT_CLIENT_MESSAGE(JobRequest, Job);
WEFT_CLIENT_MESSAGE(ValueRecord, Value);
WEFT_CLIENT_MESSAGE(Poll, Poll);
WEFT_CLIENT_MESSAGE(PollReply, PollReply);
WEFT_CLIENT_MESSAGE(JobList, JobList);
WEFT_CLIENT_MESSAGE(KillRequest, Kill);
WEFT_CLIENT_MESSAGE(LogsWanted, LogWanted);
WEFT_CLIENT_MESSAGE(JobLogs, Logs);
WEFT_CLIENT_MESSAGE(NodeList, NodeList);
WEFT_CLIENT_MESSAGE(Explanation, Explanation);
WEFT_CLIENT_MESSAGE(GroupList, Groups);
WEFT_CLIENT_MESSAGE(SchedulerInfo, Scheduler);

}  // namespace weft::client
