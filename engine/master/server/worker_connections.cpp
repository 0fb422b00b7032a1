#include "engine/master/server/worker_connections.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <fmt/core.h>

#include "base/text.hpp"
#include "engine/master/storage/storage_service.hpp"

namespace weft::master {

/// What the connection of a worker is; client connections have none.
struct WorkerConnections::Tag {
  std::optional<NodeId> node;  // once it has joined
};

namespace {

constexpr Duration kPresenceDeadline = std::chrono::seconds(3);

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

/// Of who was asked: not an answer, of whatever kind.
bool is_silence(const Error& error) { return error.code() == Code::deadline_exceeded || error.code() == Code::unavailable; }

std::string_view host_of(std::string_view peer) { return peer.substr(0, peer.rfind(':')); }

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

}  // namespace

void WorkerConnections::on_register(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
  if (connection->context) return responder.fail(Error(Code::invalid_argument, "this worker is registered already"));
  if (auto same = connection->one_release(); !same) {
    log_.warn("{}: registration refused: {}", connection->peer(), same.error().to_string());
    return responder.fail(same.error());
  }
  auto info = protocol::decode<protocol::Register>(message);
  if (!info) return responder.fail(info.error());
  const auto tag = std::make_shared<Tag>();
  connection->context = tag;
  const auto to = std::make_shared<rpc::Responder>(std::move(responder));
  auto take_in = [this, connection, tag, to](protocol::Register worker, Result<std::optional<Rack>> rack) {
    schedulers::UplinkRate uplink;
    if (rack && *rack) {
      worker.rack = (*rack)->name;
      uplink = (*rack)->uplink;
    }
    const NodeId id = parts_.recorder.new_node();
    parts_.recorder.when_durable_or_full(
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
  auto find_rack = [this, take_in](const protocol::Register& worker) {
    if (parts_.topology == nullptr) return take_in(worker, std::nullopt);
    parts_.background.post([this, take_in, worker] {
      parts_.reactor.post([take_in, worker, rack = parts_.topology->rack_of(worker.host)] { take_in(worker, rack); });
    });
  };
  const auto rival = info->named ? rival_of(*info) : std::nullopt;
  if (!rival) return find_rack(*info);
  // Its machine may have gone without a word. Who does not answer is lost, before the heartbeats that do not come tell as much.
  nodes_.at(*rival).connection->request(
      protocol::kPresence, {}, kPresenceDeadline,
      [this, connection, tag, find_rack, rival = *rival, info = std::move(*info)](const Result<rpc::Message>& answer) {
        if (connection->context != tag) return;  // it is gone
        if (!answer && is_silence(answer.error()) && nodes_.contains(rival))
          expel(rival, "it did not answer when another worker came under its name");
        find_rack(info);
      });
}

std::optional<NodeId> WorkerConnections::rival_of(const protocol::Register& info) const {
  for (const auto& [id, node] : nodes_)
    if (node.info.name == info.name && (info.process == 0 || node.info.process != info.process)) return id;
  return std::nullopt;
}

Result<void> WorkerConnections::settle_name(protocol::Register& info) {
  for (auto at = nodes_.begin(); at != nodes_.end();) {
    const auto& [id, node] = *at++;
    if (info.process != 0 && node.info.process == info.process) expel(id, "it has come back on another connection");
  }
  const auto rival = rival_of(info);
  if (!rival) return {};
  if (info.named) {
    const Node& other = nodes_.at(*rival);
    return fail(Code::already_exists,
                fmt::format("the worker {} is there already, on {} at {}, and alive: give this one another --name, or end that one",
                            info.name, other.info.host, other.connection->peer()));
  }
  const std::string wanted = info.name;
  for (int number = 2; rival_of(info); ++number) info.name = fmt::format("{}-{}", wanted, number);
  return {};
}

void WorkerConnections::expel(NodeId id, const std::string& why) {
  const rpc::ConnectionPtr connection = nodes_.at(id).connection;
  connection->context = nullptr;
  forget(id, why);
  connection->close();
}

Result<rpc::Payload> WorkerConnections::join(const rpc::ConnectionPtr& connection, Tag& tag, NodeId id, protocol::Register info,
                                             const schedulers::UplinkRate& uplink) {
  WorkerJoined joined;
  joined.node = id;
  joined.host = info.host;
  joined.rack = info.rack;
  joined.data_address = info.data_address;
  WEFT_ASSIGN(const schedulers::Resources capacity, capacity_of(info));
  WEFT_TRY(settle_name(info));
  joined.name = info.name;
  joined.capacity = capacity;
  joined.attributes = info.attributes;
  joined.prefetch_bytes = info.prefetch_bytes;
  joined.rack_uplink = uplink;
  joined.processors = info.usable_processors;
  log_.info("worker {} at {} joined as node {} with {}", info.name, connection->peer(), id.value(), to_string(joined.capacity));
  Node& node = nodes_[id];
  node.info = std::move(info);
  node.connection = connection;
  node.heard = parts_.shell.now();
  if (auto applied = parts_.shell.apply(std::move(joined)); !applied) {
    nodes_.erase(id);
    return fail(std::move(applied).error());
  }
  tag.node = id;
  if (const std::string why = parts_.shell.core().why_excluded(id); !why.empty())
    log_.error("worker {} gets no tasks for {}: {}; see the end of its log on {}", node.info.name,
               human_duration(*parts_.shell.core().view().node(id)->excluded_until - parts_.shell.now()), why, node.info.host);
  std::optional<ColocatedLoad::Machine> machine;
  if (node.info.processors > 0)
    machine = {static_cast<double>(node.info.processors), static_cast<double>(node.info.machine_memory)};
  capacities_.joined(id, node.info.name, node.info.host, capacity, machine);
  update_capacity(id);
  return protocol::encode(protocol::Registered{id, parts_.options.heartbeat, node.info.rack, node.info.name});
}

/// What a worker's handler of a fatal signal says, on a connection that is not the worker's: believed when it comes from its
/// machine, and only as the reason when the worker's own connection is gone.
Result<void> WorkerConnections::on_dying(const rpc::ConnectionPtr& connection, const rpc::Message& message) {
  WEFT_TRY(connection->one_release());
  WEFT_ASSIGN(const protocol::Dying dying, protocol::decode<protocol::Dying>(message));
  const auto node = nodes_.find(dying.node);
  if (node == nodes_.end() || host_of(node->second.connection->peer()) != host_of(connection->peer()))
    return fail(Code::invalid_argument, fmt::format("there is no node {} that could be dying", dying.node.value()));
  node->second.dying_of = dying.signal;
  return {};
}

std::shared_ptr<WorkerConnections::Tag> WorkerConnections::tag_of(const rpc::ConnectionPtr& connection) {
  return std::static_pointer_cast<Tag>(connection->context);
}

std::map<NodeId, WorkerConnections::Node>::iterator WorkerConnections::node_of(const rpc::ConnectionPtr& connection) {
  const auto tag = tag_of(connection);
  return tag && tag->node ? nodes_.find(*tag->node) : nodes_.end();
}

std::optional<WorkerSite> WorkerConnections::site_of(const rpc::ConnectionPtr& connection) {
  const auto node = node_of(connection);
  if (node == nodes_.end()) return std::nullopt;
  const protocol::Register& info = node->second.info;
  return WorkerSite{node->first, info.name, info.host, info.rack};
}

void WorkerConnections::on_notify(const rpc::ConnectionPtr& connection, const rpc::Message& message) {
  const auto node = node_of(connection);
  Result<void> done = message.type == protocol::kDying ? on_dying(connection, message)
                      : node == nodes_.end()           ? fail(Code::invalid_argument, "a message of a peer that is not registered")
                                                       : on_message(node->first, node->second, message);
  if (done) return;
  log_.warn("{}: {}; disconnecting", connection->peer(), done.error().to_string());
  connection->close();
}

Result<void> WorkerConnections::on_heartbeat(NodeId id, Node& node, const rpc::Message& message) {
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
  capacities_.measured(id, event.used, event.machine, parts_.shell.now());
  WEFT_TRY(parts_.shell.apply(std::move(event)));  // refused when the core gave the node up: it must register again
  update_capacity(id);
  if (node.leaving) tell_remains(id, node);
  return {};
}

Result<void> WorkerConnections::on_leaving(NodeId id, Node& node, const rpc::Message& message) {
  WEFT_ASSIGN(const protocol::Leaving leaving, protocol::decode<protocol::Leaving>(message));
  WEFT_TRY(parts_.shell.apply(WorkerLeaving{id}));
  log_.info("worker {} is leaving: it gets no more tasks, and others copy what they need of it", node.info.name);
  node.leaving = true;
  node.hands_over_chunks = parts_.storage != nullptr && leaving.keeps_chunks;
  if (node.hands_over_chunks)
    parts_.storage->worker_leaves({id, node.info.name, node.info.host, node.info.rack}, leaving.chunks_return);
  tell_remains(id, node);
  return {};
}

void WorkerConnections::tell_remains(NodeId id, const Node& node) const {
  const NodeRemains of_jobs = parts_.shell.core().remains(id);
  const std::uint64_t chunks =
      node.hands_over_chunks ? parts_.storage->to_hand_over({id, node.info.name, node.info.host, node.info.rack}) : 0;
  node.connection->notify(protocol::kRemains,
                          protocol::encode(protocol::Remains{of_jobs.tasks, of_jobs.outputs, of_jobs.abandoned, chunks}));
}

/// What is wrong with a text is logged, and what it said before stays; a worker sends each text once.
Result<void> WorkerConnections::on_capacity_texts(NodeId id, const Node& node, const rpc::Message& message) {
  WEFT_ASSIGN(const protocol::CapacityTexts texts, protocol::decode<protocol::CapacityTexts>(message));
  if (std::max(texts.capacity.size(), texts.forecast.size()) > protocol::kMostCapacityText ||
      std::abs(texts.utc_offset.count()) > kDay.count())
    return fail(Code::corrupt, "capacity texts that cannot be");
  const auto warn = [&](std::string_view what, const Result<void>& done) {
    if (!done)
      log_.warn("worker {}: its {} is wrong: {}; what it said before stays", node.info.name, what, done.error().to_string());
  };
  warn("--capacity-from file", capacities_.said(id, texts.capacity));
  warn("--forecast file", capacities_.forecast(id, texts.forecast, texts.utc_offset));
  update_capacity(id);
  return {};
}

void WorkerConnections::update_capacity(NodeId id) {
  auto event = capacities_.news(id, parts_.shell.now(), std::chrono::system_clock::now().time_since_epoch());
  if (!event) return;
  const std::string said = fmt::format("worker {} has {} at present{}{}", nodes_.at(id).info.name, to_string(*event->capacity),
                                       event->why.empty() ? "" : ": ", event->why);
  const schedulers::NodeInfo* known = parts_.shell.core().view().node(id);
  const bool changes = known != nullptr && known->capacity != *event->capacity;
  if (const auto applied = parts_.shell.apply(std::move(*event)); !applied) return log_.debug("{}", applied.error().to_string());
  if (changes) log_.info("{}", said);
}

Result<void> WorkerConnections::set_capacity(const std::string& name, std::string_view text, std::string_view reason) {
  WEFT_ASSIGN(NodeSetting setting, capacities_.set(name, text, reason));
  parts_.recorder.record(std::move(setting));
  std::vector<NodeId> of_name;
  for (const auto& [id, node] : nodes_)
    if (node.info.name == name) of_name.push_back(id);
  for (const NodeId id : of_name) update_capacity(id);
  return {};
}

void WorkerConnections::restore(const std::vector<NodeSetting>& settings) {
  for (const NodeSetting& setting : settings) {
    const auto restored = capacities_.restore(setting);
    if (restored) {
      log_.info("worker {} will have {} at most, {}", setting.worker, setting.capacity, setting.why);
    } else {
      log_.warn("what an operator set of worker {} is forgotten: {}", setting.worker, restored.error().to_string());
    }
  }
}

Result<void> WorkerConnections::on_message(NodeId id, Node& node, const rpc::Message& message) {
  node.heard = parts_.shell.now();
  if (message.type == protocol::kHeartbeat) return on_heartbeat(id, node, message);
  if (message.type == protocol::kLeaving) return on_leaving(id, node, message);
  if (message.type == protocol::kCapacityTexts) return on_capacity_texts(id, node, message);
  if (parts_.storage && message.type >= kFirstWorkerStorageMessage && message.type <= kLastStorageMessage)
    return parts_.storage->on_worker_notify(id, message);
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
  if (message.type != protocol::kTaskEvents) return fail(Code::corrupt, fmt::format("unknown message {}", message.type));
  WEFT_ASSIGN(protocol::Events events, protocol::decode<protocol::Events>(message));
  for (protocol::Event& event : events.events) on_task_event(id, std::move(event));
  return {};
}

void WorkerConnections::on_task_event(NodeId node, protocol::Event event) {
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
                        std::move(event.sample_histogram),
                        event.usage};
  } else {
    log_.info("{} on {}: {}", to_string(attempt), nodes_.at(node).info.name, event.message);
    made = TaskFailed{attempt, node, event.kind, std::move(event.message), event.fetch};
  }
  if (auto applied = parts_.shell.apply(std::move(made)); !applied)
    log_.debug("{}: {}", to_string(attempt), applied.error().to_string());
}

void WorkerConnections::on_replica_ended(NodeId node, protocol::ReplicaEnded ended) {
  OutputReplica& replica = ended.replica;
  replica.node = node;
  const auto applied =
      ended.error.empty() ? parts_.shell.apply(OutputReplicated{replica}) : parts_.shell.apply(ReplicaFailed{replica, ended.error});
  if (!applied) {
    log_.debug("{}", applied.error().to_string());
  } else if (!ended.error.empty()) {
    log_.warn("job {}: {} could not make a replica of the output of map {} of shuffle {}: {}", replica.job.value(),
              nodes_.at(node).info.name, replica.map, replica.shuffle.value(), ended.error);
  }
}

void WorkerConnections::on_prefetch_report(NodeId node, const std::vector<protocol::JobPrefetch>& jobs) {
  for (const protocol::JobPrefetch& job : jobs) {
    if (!parts_.recorder.given(job.job)) continue;
    parts_.prefetched.add(job.job, node, job.bytes);
    parts_.shell.note(job.job, node, job.bytes);
    parts_.recorder.record_progress_of(job.job);
  }
  parts_.prefetched.keep(parts_.jobs.size() + parts_.options.core.finished_jobs_kept);
}

bool WorkerConnections::on_close(const rpc::ConnectionPtr& connection, const Error& error) {
  const auto tag = tag_of(connection);
  connection->context = nullptr;
  if (!tag) return false;
  const auto node = tag->node ? nodes_.find(*tag->node) : nodes_.end();
  if (node == nodes_.end()) return true;
  std::string why = error.code() == Code::cancelled ? std::string(kWorkerLeft) : error.to_string();
  if (node->second.dying_of != 0) why = signal_name(node->second.dying_of);
  forget(*tag->node, why);
  return true;
}

void WorkerConnections::forget(NodeId id, const std::string& why) {
  const auto lost = parts_.shell.apply(WorkerLost{id, why});
  // The core may have given it up before; it may have said something since.
  if (!lost && parts_.storage) parts_.storage->worker_lost(id);
  capacities_.left(id);
  nodes_.erase(id);
}

void WorkerConnections::close() {
  for (auto& [id, node] : nodes_) node.connection->close();
}

}  // namespace weft::master
