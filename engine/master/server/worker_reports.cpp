#include "engine/master/server/worker_reports.hpp"

#include <chrono>
#include <utility>

#include <fmt/core.h>

#include "base/rpc/frame.hpp"
#include "storage/files/protocol.hpp"

namespace weft::master {
namespace {

schedulers::Resources resources_of(const Usage& usage) {
  schedulers::Resources used;
  used.cpu = usage.cpu;
  used.memory = usage.memory;
  used.disk_read = usage.disk_read;
  used.disk_write = usage.disk_write;
  used.network_in = usage.network_in;
  used.network_out = usage.network_out;
  return used;
}

}  // namespace

void WorkerReports::on_notify(const rpc::ConnectionPtr& connection, const rpc::Message& message) {
  const auto id = context_.table.on(connection);
  Result<void> done = message.type == protocol::kDying ? losses_.on_dying(connection, message)
                      : !id                            ? fail(Code::invalid_argument, "a message of a peer that is not registered")
                                                       : on_message(*id, context_.table.at(*id), message);
  if (done) return;
  log_.warn("{}: {}; disconnecting", connection->peer(), done.error().to_string());
  connection->close();
}

Result<void> WorkerReports::on_message(NodeId id, RegisteredWorker& worker, const rpc::Message& message) {
  worker.heard = context_.shell.now();
  if (message.type == protocol::kHeartbeat) return on_heartbeat(id, worker, message);
  if (message.type == protocol::kLeaving) return on_leaving(id, worker, message);
  if (message.type == protocol::kCapacityTexts) return capacities_.on_texts(id, worker, message);
  if (context_.storage && storage::files::is_worker_notification(message.type))
    return context_.storage->on_worker_notify(id, message);
  if (message.type == protocol::kReplicaEnded) {
    WEFT_ASSIGN(protocol::ReplicaEnded ended, protocol::decode<protocol::ReplicaEnded>(message));
    on_replica_ended(id, std::move(ended));
    return {};
  }
  if (message.type == protocol::kPrefetchReport) {
    WEFT_ASSIGN(const auto jobs, protocol::decode<protocol::PrefetchReport>(message));
    on_prefetch_report(id, jobs.jobs);
    return {};
  }
  if (message.type == protocol::kDriverEnded) {
    WEFT_ASSIGN(const auto ended, protocol::decode<protocol::DriverEnded>(message));
    if (context_.driver_ended) context_.driver_ended(id, ended);
    return {};
  }
  if (message.type != protocol::kTaskEvents) {
    note_unknown(worker, message.type);
    return {};
  }
  WEFT_ASSIGN(protocol::Events events, protocol::decode<protocol::Events>(message));
  worker.events += events.events.size();
  for (protocol::Event& event : events.events) on_task_event(id, std::move(event));
  if (RegisteredWorker* const still = context_.table.find(id)) keep_events(id, *still);
  return {};
}

/// A worker of a later release may send what a master can do without (docs/formats/frame.md).
void WorkerReports::note_unknown(RegisteredWorker& worker, rpc::MessageType type) {
  if (std::exchange(worker.unknown_noted, true)) return;
  log_.warn(
      "worker {} is {} and sent message {}, which this master, {}, does not know: passed over, as others will be; upgrade the "
      "master",
      worker.info.name, worker.connection->peer_software(), type, rpc::software_version());
}

/// Tells the worker how many of its reports are on the disk, once for all that have come by then.
void WorkerReports::keep_events(NodeId id, RegisteredWorker& worker) {
  if (!context_.recorder.keeps_jobs() || worker.events == worker.events_kept || std::exchange(worker.keeping, true)) return;
  context_.recorder.when_durable([this, id, connection = worker.connection, events = worker.events](const Result<void>& kept) {
    RegisteredWorker* const known = context_.table.find(id);
    if (!kept || known == nullptr || known->connection != connection) return;
    known->keeping = false;
    known->events_kept = events;
    connection->notify(protocol::kEventsKept, protocol::encode(protocol::EventsKept{events}));
    keep_events(id, *known);
  });
}

Result<void> WorkerReports::on_heartbeat(NodeId id, RegisteredWorker& worker, const rpc::Message& message) {
  WEFT_ASSIGN(const protocol::Heartbeat heartbeat, protocol::decode<protocol::Heartbeat>(message));
  if (worker.clock.add(heartbeat.clock - Duration(std::chrono::system_clock::now().time_since_epoch())))
    log_.warn("the clock of worker {} is {}: times in logs and of files will not agree with the master's; set the clock of {}",
              worker.info.name, clock_text(worker.clock.ahead()), worker.info.host);
  worker.heartbeat = heartbeat;
  return apply_heartbeat(id, worker);
}

void WorkerReports::on_part(const rpc::ConnectionPtr& connection) {
  const auto id = context_.table.on(connection);
  if (!id) return;
  RegisteredWorker& worker = context_.table.at(*id);
  worker.heard = context_.shell.now();
  if (worker.heartbeat.clock != Duration(0)) (void)apply_heartbeat(*id, worker);  // as it last said
}

Result<void> WorkerReports::apply_heartbeat(NodeId id, RegisteredWorker& worker) {
  const protocol::Heartbeat& heartbeat = worker.heartbeat;
  WorkerHeartbeat event;
  event.node = id;
  event.used = resources_of(heartbeat.measured.worker);
  event.machine = resources_of(heartbeat.measured.machine);
  event.cross_rack = {heartbeat.measured.cross_rack_out, heartbeat.measured.cross_rack_in};
  capacities_.measured(id, event.used, event.machine);
  WEFT_TRY(context_.shell.apply(std::move(event)));  // refused when the core gave the node up: it must register again
  capacities_.update(id);
  if (worker.leaving) report_remains(id, worker);
  return {};
}

Result<void> WorkerReports::on_leaving(NodeId id, RegisteredWorker& worker, const rpc::Message& message) {
  WEFT_ASSIGN(const protocol::Leaving leaving, protocol::decode<protocol::Leaving>(message));
  WEFT_TRY(context_.shell.apply(WorkerLeaving{id}));
  log_.info("worker {} is leaving: it gets no more tasks, and others copy what they need of it", worker.info.name);
  worker.leaving = true;
  worker.hands_over_chunks = context_.storage != nullptr && leaving.keeps_chunks;
  if (worker.hands_over_chunks) context_.storage->worker_leaves(worker.site(id), leaving.chunks_return);
  report_remains(id, worker);
  return {};
}

void WorkerReports::report_remains(NodeId id, const RegisteredWorker& worker) const {
  const NodeRemains of_jobs = context_.shell.core().remains(id);
  const std::uint64_t chunks = worker.hands_over_chunks ? context_.storage->to_hand_over(worker.site(id)) : 0;
  worker.connection->notify(protocol::kRemains,
                            protocol::encode(protocol::Remains{of_jobs.tasks, of_jobs.outputs, of_jobs.abandoned, chunks}));
}

void WorkerReports::on_task_event(NodeId node, protocol::Event event) {
  const AttemptId attempt = event.attempt;
  if (event.kind != runtime::TaskEnd::finished)
    log_.info("{} on {}: {}", to_string(attempt), context_.table.at(node).info.name, event.message);
  if (auto applied = context_.shell.apply(end_of_attempt(std::move(event), node)); !applied)
    log_.debug("{}: {}", to_string(attempt), applied.error().to_string());
}

void WorkerReports::on_replica_ended(NodeId node, protocol::ReplicaEnded ended) {
  OutputReplica& replica = ended.replica;
  replica.node = node;
  const auto applied = ended.error.empty() ? context_.shell.apply(OutputReplicated{replica})
                                           : context_.shell.apply(ReplicaFailed{replica, ended.error});
  if (!applied) {
    log_.debug("{}", applied.error().to_string());
  } else if (!ended.error.empty()) {
    log_.warn("job {}: {} could not make a replica of the output of map {} of shuffle {}: {}", replica.job.value(),
              context_.table.at(node).info.name, replica.map, replica.shuffle.value(), ended.error);
  }
}

void WorkerReports::on_prefetch_report(NodeId node, const std::vector<protocol::JobPrefetch>& jobs) {
  for (const protocol::JobPrefetch& job : jobs) {
    if (!context_.recorder.given(job.job)) continue;
    context_.prefetched.add(job.job, node, job.bytes);
    context_.shell.note(job.job, node, job.bytes);
    context_.recorder.record_progress_of(job.job);
  }
  context_.prefetched.keep(context_.jobs.size() + context_.options.core.finished_jobs_kept);
}

}  // namespace weft::master
