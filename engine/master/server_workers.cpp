// The server's side of its workers.
#include <cstring>

#include <fmt/core.h>

#include "base/rpc/derived.hpp"
#include "engine/master/server_impl.hpp"
#include "storage/files/protocol.hpp"

namespace weft::master {

/// What the connection of a worker is; client connections have none.
struct ServerImpl::WorkerTag {
  std::optional<NodeId> node;  // once it has joined
};

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

/// Slots are its cpu; its tasks' memory counts unless it says otherwise.
Result<schedulers::Resources> capacity_of(const protocol::Register& worker) {
  schedulers::Resources capacity;
  if (!worker.capacity.empty()) {
    auto given = schedulers::parse_resources(worker.capacity);
    if (!given) return fail(std::move(given).error().wrap("the worker's capacity"));
    capacity = *given;
  }
  if (capacity.cpu != 0)
    return fail(Code::invalid_argument, "a worker's cpu is its slots; say --slots instead of --capacity cpu=…");
  capacity.cpu = worker.slots;
  if (capacity.memory == 0) capacity.memory = static_cast<double>(worker.memory_bytes);
  return capacity;
}

std::string_view host_of(std::string_view peer) { return peer.substr(0, peer.rfind(':')); }

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

}  // namespace

void ServerImpl::on_register(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
  if (connection->context) return responder.fail(Error(Code::invalid_argument, "this worker is registered already"));
  if (auto same = connection->one_release(); !same) {
    log_.warn("{}: registration refused: {}", connection->peer(), same.error().to_string());
    return responder.fail(same.error());
  }
  auto info = protocol::decode<protocol::Register>(message);
  if (!info) return responder.fail(info.error());
  const auto tag = std::make_shared<WorkerTag>();
  connection->context = tag;
  const auto to = std::make_shared<rpc::Responder>(std::move(responder));
  auto take_in = [this, connection, tag, to](protocol::Register worker, Result<std::optional<Rack>> rack) {
    schedulers::UplinkRate uplink;
    if (rack && *rack) {
      worker.rack = (*rack)->name;
      uplink = (*rack)->uplink;
    }
    const NodeId id = new_node();
    when_durable(
        [this, connection, tag, to, id, worker, uplink, refused = rack ? Result<void>() : fail(rack.error())](Result<void> kept) {
          if (connection->context != tag) return;  // it is gone
          if (kept) kept = refused;
          auto joined = kept ? join(connection, *tag, id, worker, uplink) : fail(std::move(kept).error());
          if (joined) return to->reply(std::move(*joined));
          log_.warn("{}: registration refused: {}", connection->peer(), joined.error().to_string());
          connection->context.reset();
          to->fail(joined.error());
        });
  };
  if (!topology_) return take_in(std::move(*info), std::nullopt);
  background_->post([this, take_in, info = std::move(*info)] {
    reactor_->post([take_in, info, rack = topology_->rack_of(info.host)] { take_in(info, rack); });
  });
}

Result<rpc::Payload> ServerImpl::join(const rpc::ConnectionPtr& connection, WorkerTag& tag, NodeId id, protocol::Register info,
                                      const schedulers::UplinkRate& uplink) {
  WorkerJoined joined;
  joined.node = id;
  joined.name = info.name;
  joined.host = info.host;
  joined.rack = info.rack;
  joined.data_address = info.data_address;
  WEFT_ASSIGN(joined.capacity, capacity_of(info));
  joined.attributes = info.attributes;
  joined.prefetch_bytes = info.prefetch_bytes;
  joined.rack_uplink = uplink;
  log_.info("worker {} at {} joined as node {} with {}", info.name, connection->peer(), id.value(), to_string(joined.capacity));
  Node& node = nodes_[id];
  node.info = std::move(info);
  node.connection = connection;
  node.heard = now();
  if (auto applied = apply(std::move(joined)); !applied) {
    nodes_.erase(id);
    return fail(std::move(applied).error());
  }
  tag.node = id;
  return protocol::encode(protocol::Registered{id, options_.heartbeat, node.info.rack});
}

Result<rpc::Payload> ServerImpl::on_fetch_binary(const rpc::ConnectionPtr& connection, const rpc::Message& message) {
  WEFT_TRY(connection->one_release());
  WEFT_ASSIGN(const protocol::BinaryRequest request, protocol::decode<protocol::BinaryRequest>(message));
  WEFT_ASSIGN(BinaryStore::Piece piece, binaries_->read(request.binary, request.offset, protocol::kBinaryChunkBytes));
  return rpc::with_bulk(protocol::encode(protocol::BinaryChunk{piece.total}), SharedBytes(std::move(piece.bytes)));
}

/// What a worker's handler of a fatal signal says, on a connection that is not the worker's: believed when it comes from its
/// machine, and only as the reason when the worker's own connection is gone.
Result<void> ServerImpl::on_dying(const rpc::ConnectionPtr& connection, const rpc::Message& message) {
  WEFT_TRY(connection->one_release());
  WEFT_ASSIGN(const protocol::Dying dying, protocol::decode<protocol::Dying>(message));
  const auto node = nodes_.find(dying.node);
  if (node == nodes_.end() || host_of(node->second.connection->peer()) != host_of(connection->peer()))
    return fail(Code::invalid_argument, fmt::format("there is no node {} that could be dying", dying.node.value()));
  node->second.dying_of = dying.signal;
  return {};
}

void ServerImpl::on_notify(const rpc::ConnectionPtr& connection, rpc::Message message) {
  const auto tag = std::static_pointer_cast<WorkerTag>(connection->context);
  auto node = tag && tag->node ? nodes_.find(*tag->node) : nodes_.end();
  Result<void> done = message.type == protocol::kDying ? on_dying(connection, message)
                      : node == nodes_.end()           ? fail(Code::invalid_argument, "a message of a peer that is not registered")
                                                       : on_worker_message(node->first, node->second, message);
  if (done) return;
  log_.warn("{}: {}; disconnecting", connection->peer(), done.error().to_string());
  connection->close();
}

Result<void> ServerImpl::on_worker_message(NodeId id, Node& node, const rpc::Message& message) {
  node.heard = now();
  if (message.type == protocol::kHeartbeat) {
    WEFT_ASSIGN(const protocol::Heartbeat heartbeat, protocol::decode<protocol::Heartbeat>(message));
    if (node.clock.add(heartbeat.clock - Duration(std::chrono::system_clock::now().time_since_epoch())))
      log_.warn("the clock of worker {} is {}: times in logs and of files will not agree with the master's; set the clock of {}",
                node.info.name, clock_text(node.clock.ahead()), node.info.host);
    node.heartbeat = heartbeat;
    WorkerHeartbeat event;
    event.node = id;
    event.used = resources_of(heartbeat.measured.worker);
    event.machine = resources_of(heartbeat.measured.machine);
    event.cross_rack = {heartbeat.measured.cross_rack_out, heartbeat.measured.cross_rack_in};
    return apply(std::move(event));  // refused when the core gave the node up: it must register again
  }
  if (storage_ && message.type >= kFirstWorkerStorageMessage && message.type <= kLastStorageMessage)
    return storage_->on_worker_notify(id, message);
  if (message.type == protocol::kReplicaEnded) {
    WEFT_ASSIGN(protocol::ReplicaEnded ended, protocol::decode<protocol::ReplicaEnded>(message));
    on_copy_ended(id, std::move(ended));
    return {};
  }
  if (message.type == protocol::kPrefetchReport) {
    WEFT_ASSIGN(const auto jobs, protocol::decode<protocol::PrefetchReport>(message));
    on_prefetch_report(id, jobs.jobs);
    return {};
  }
  if (message.type != protocol::kTaskEvents) return fail(Code::corrupt, fmt::format("unknown message {}", message.type));
  WEFT_ASSIGN(protocol::Events events, protocol::decode<protocol::Events>(message));
  for (protocol::Event& event : events.events) on_task_event(id, std::move(event));
  return {};
}

void ServerImpl::on_storage_request(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
  if (!storage_) {
    if (message.type == storage::files::kStorageHello) return responder.reply(rpc::encode_derived(storage::files::StorageSite{}));
    return responder.fail(Error(Code::invalid_argument, "this master keeps no files; start it with --data-dir DIRECTORY"));
  }
  if (message.type < kFirstWorkerStorageMessage) return storage_->on_client_request(message, std::move(responder));
  const auto tag = std::static_pointer_cast<WorkerTag>(connection->context);
  const auto node = tag && tag->node ? nodes_.find(*tag->node) : nodes_.end();
  if (node == nodes_.end()) return responder.fail(Error(Code::invalid_argument, "a message of a peer that is not registered"));
  const protocol::Register& info = node->second.info;
  storage_->on_worker_request({node->first, info.name, info.host, info.rack}, message, std::move(responder));
}

void ServerImpl::on_task_event(NodeId node, protocol::Event event) {
  const AttemptId attempt = event.attempt;
  Event made;
  if (event.kind == runtime::TaskEnd::finished) {
    made = TaskFinished{attempt,
                        node,
                        std::move(event.output),
                        std::move(event.result),
                        std::move(event.counters),
                        event.input_bytes,
                        event.input_records,
                        event.shuffle_times,
                        std::move(event.sample_histogram)};
  } else {
    log_.info("{} on {}: {}", to_string(attempt), nodes_.at(node).info.name, event.message);
    made = TaskFailed{attempt, node, event.kind, std::move(event.message), event.fetch};
  }
  if (auto applied = apply(std::move(made)); !applied) log_.debug("{}: {}", to_string(attempt), applied.error().to_string());
}

void ServerImpl::on_copy_ended(NodeId node, protocol::ReplicaEnded ended) {
  const OutputCopy copy{node, ended.job, ended.shuffle, ended.map, ended.attempt};
  const auto applied = ended.error.empty() ? apply(OutputReplicated{copy}) : apply(CopyFailed{copy, ended.error});
  if (!applied) {
    log_.debug("{}", applied.error().to_string());
  } else if (!ended.error.empty()) {
    log_.warn("job {}: {} could not make a replica of the output of map {} of shuffle {}: {}", ended.job.value(),
              nodes_.at(node).info.name, ended.map, ended.shuffle.value(), ended.error);
  }
}

void ServerImpl::on_prefetch_report(NodeId node, const std::vector<protocol::JobPrefetch>& jobs) {
  for (const protocol::JobPrefetch& job : jobs)
    if (job.job.value() < next_job_) prefetched_[job.job][node] = job.bytes, record_progress_of(job.job);
  while (prefetched_.size() > jobs_.size() + options_.core.finished_jobs_kept) prefetched_.erase(prefetched_.begin());
}

void ServerImpl::on_close(const rpc::ConnectionPtr& connection, const Error& error) {
  if (const auto tag = std::static_pointer_cast<WorkerTag>(std::exchange(connection->context, nullptr))) {
    auto node = tag->node ? nodes_.find(*tag->node) : nodes_.end();
    if (node == nodes_.end()) return;
    std::string why = error.code() == Code::cancelled ? std::string(kWorkerLeft) : error.to_string();
    if (node->second.dying_of != 0) why = signal_name(node->second.dying_of);
    logged_heartbeats_.forget(*tag->node);
    const auto lost = apply(WorkerLost{*tag->node, why});
    if (!lost && storage_) storage_->worker_lost(*tag->node);  // the core had given it up before; it may have said something since
    nodes_.erase(*tag->node);
    return;
  }
  std::vector<JobId> orphans;
  for (const auto& [id, job] : jobs_)
    if (job.driver == connection) orphans.push_back(id);
  for (JobId id : orphans) (void)apply(JobKilled{id, "its driver was lost"});
}

/// The node, after it was sent what it needs to start executors of the job.
ServerImpl::Node* ServerImpl::prepared(NodeId id, JobId job_id) {
  auto found = nodes_.find(id);
  auto job = jobs_.find(job_id);
  if (found == nodes_.end() || job == jobs_.end()) return nullptr;
  Node& node = found->second;
  if (!node.prepared.insert(job_id).second) return &node;
  const client::Submit& submit = job->second.submit;
  send(node, id,
       protocol::JobSetup{job_id, submit.name, submit.program, submit.arguments, submit.directory, submit.memory_bytes,
                          submit.same_binary, submit.binary, submit.demand.cpu > 0 ? submit.demand.cpu : 1, submit.user,
                          submit.shuffle_mode.value_or(shuffle::Mode::memory)});
  for (const auto& [action, value] : job->second.values) send(node, id, protocol::ActionValue{job_id, action, value});
  return &node;
}

void ServerImpl::send(Node& node, NodeId id, protocol::Command command) {
  node.outbox.push_back(std::move(command));
  if (std::exchange(node.flush_posted, true)) return;
  reactor_->post([this, id] { flush(id); });
}

void ServerImpl::flush(NodeId id) {
  auto node = nodes_.find(id);
  if (node == nodes_.end()) return;
  node->second.flush_posted = false;
  node->second.connection->notify(protocol::kCommands,
                                  protocol::encode(protocol::Commands{std::exchange(node->second.outbox, {})}));
}

}  // namespace weft::master
