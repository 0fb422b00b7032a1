#include "engine/master/server.hpp"

#include <bit>
#include <csignal>

#include <fmt/core.h>

#include "engine/master/server_impl.hpp"
#include "schedulers/registry.hpp"

namespace weft::master {

Result<std::unique_ptr<Server>> Server::start(ServerOptions options) {
  std::signal(SIGPIPE, SIG_IGN);
  auto server = std::make_unique<ServerImpl>(std::move(options));
  WEFT_TRY(server->begin());
  return std::unique_ptr<Server>(std::move(server));
}

ServerImpl::~ServerImpl() {
  if (!reactor_) return;
  background_->stop();
  reactor_->run([this] {
    if (listener_) listener_->close();
    for (auto& [id, node] : nodes_) node.connection->close();
    storage_.reset();
    timers_.clear();
    for (auto& [id, job] : jobs_) job.waiting.clear();
    if (journal_) end_journal();
  });
  reactor_->stop();
  if (journal_) journal_->close();
}

Result<void> ServerImpl::begin() {
  WEFT_ASSIGN(const rpc::Endpoint listen, rpc::Endpoint::parse(options_.listen));
  std::string directory = options_.directory;
  if (directory.empty()) {
    WEFT_ASSIGN(RunDirectory made, RunDirectory::create("master"));
    temporary_.emplace(std::move(made));
    directory = temporary_->path();
  }
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) return fail(Code::io, fmt::format("cannot create {}: {}", directory, error.message()));
  binaries_ = std::make_unique<BinaryStore>(directory);

  if (!options_.topology.empty()) {
    WEFT_ASSIGN(topology_, Topology::open(options_.topology));
  }

  started_ = SystemClock().now();
  background_ = rpc::Reactor::start("weft-background");
  reactor_ = rpc::Reactor::start("weft-master");
  Result<void> began;
  reactor_->run([&] {
    began = open_core();
    if (began) began = open_storage();
    if (!began) return;
    rpc::Limits limits;
    limits.max_queued = std::size_t{2} << 30;
    limits.layout = protocol::layout();
    auto listener = reactor_->listen(listen, limits, [this](const rpc::ConnectionPtr&) { return handler(); });
    if (!listener) {
      began = fail(std::move(listener).error());
      return;
    }
    listener_ = std::move(*listener);
    address_ = listener_->endpoint().text;
  });
  return began;
}

/// The first event of every run says which scheduler decides.
Result<void> ServerImpl::open_core() {
  WEFT_ASSIGN(catalogue_, scheduling::Catalogue::open(options_.scheduler_plugins));
  WEFT_ASSIGN(auto first, schedulers::make_scheduler("fifo"));
  const bool guarded = catalogue_->has_plugins();
  options_.core.heartbeat = options_.heartbeat;
  auto core = std::make_unique<Core>(std::move(first), options_.core, scheduling::Catalogue::factory(catalogue_));
  if (!options_.journal.empty()) WEFT_TRY(recover(*core));
  core_.emplace(std::move(core), guarded ? std::optional(options_.scheduler_timeout) : std::nullopt);
  if (!options_.event_log.empty()) {
    WEFT_ASSIGN(auto log, EventLog::open(options_.event_log, now(), options_.scheduler));
    event_log_.emplace(std::move(log));
  }
  return configure(options_.scheduler);
}

Result<void> ServerImpl::open_storage() {
  if (!options_.storage) return {};
  StorageShell shell{*reactor_,
                     [this](NodeId id, rpc::MessageType type, rpc::Payload payload) {
                       if (auto node = nodes_.find(id); node != nodes_.end())
                         node->second.connection->notify(type, std::move(payload));
                     },
                     [this](const Error& why) { give_up(why); }};
  WEFT_ASSIGN(storage_, options_.storage(std::move(shell)));
  next_node_ = std::max(next_node_, storage_->first_node().value());
  return {};
}

Result<void> ServerImpl::apply(Event event) {
  if (failed_) return fail(*failed_);
  const Time at = now();
  const auto* heartbeat = std::get_if<WorkerHeartbeat>(&event);
  const bool logged = event_log_ && (heartbeat == nullptr || logged_heartbeats_.admits(*heartbeat, at));
  const std::string line = logged ? event_json(at, event) : std::string();
  const std::optional<JobId> changed = changed_job(event);
  std::vector<Command> commands;
  WEFT_TRY(apply_to_core(at, std::move(event), commands));
  record_outcome(changed, commands);
  if (event_log_) log_event(at, line, commands);
  for (Command& command : commands) std::visit([this](auto& what) { carry_out(what); }, command);
  return {};
}

Result<void> ServerImpl::apply_to_core(Time at, Event event, std::vector<Command>& commands) {
  auto applied = core_->apply(at, std::move(event), commands);
  if (core_->stuck()) {
    give_up(applied.error());
    return applied;
  }
  log_scheduler_faults();
  return applied;
}

/// Nobody is kept waiting for what will not come.
void ServerImpl::give_up(const Error& why) {
  failed_ = why;
  log_.error("{}", why.to_string());
  for (auto& [id, job] : jobs_)
    for (Waiting& waiting : std::exchange(job.waiting, {})) waiting.responder->fail(why);
  if (options_.on_fatal) options_.on_fatal(why);
}

void ServerImpl::log_scheduler_faults() {
  const SchedulerFaults& faults = (*core_)->scheduler_faults();
  if (faults.faults == faults_logged_) return;
  // A scheduler that fails may fail at every event: lines for the first failures, then for ever fewer.
  if (faults.faults < 10 || std::has_single_bit(faults.faults)) log_.error("{} ({} times so far)", faults.fault, faults.faults);
  faults_logged_ = faults.faults;
}

void ServerImpl::log_event(Time at, const std::string& line, const std::vector<Command>& commands) {
  if (!line.empty()) event_log_->add(line);
  for (const Command& command : commands)
    if (auto text = command_json(at, command)) event_log_->add(*text);
  if (auto written = event_log_->flush(); !written) log_.error("{}", written.error().to_string());
}

void ServerImpl::carry_out(LaunchTask& launch) {
  Node* node = prepared(launch.node, launch.attempt.task.job);
  if (node == nullptr) return;
  send(*node, launch.node,
       protocol::Launch{launch.attempt, launch.spec.branch, launch.spec.partition, launch.spec.output_partitions,
                        std::move(launch.spec.splits), launch.spec.fingerprint, launch.timeout, std::move(launch.stage_name), 0,
                        std::move(launch.spec.inputs)});
}

void ServerImpl::carry_out(KillTask& kill) {
  if (auto node = nodes_.find(kill.node); node != nodes_.end())
    send(node->second, node->first, protocol::Kill{kill.attempt, std::move(kill.reason)});
}

void ServerImpl::carry_out(ShuffleLocations& table) {
  Node* node = prepared(table.node, table.job);
  if (node == nullptr) return;
  send(*node, table.node, protocol::Locations{table.job, table.shuffle, *table.outputs, holders_of(*table.outputs)});
}

void ServerImpl::carry_out(PrefetchShuffle& prefetch) {
  Node* node = prepared(prefetch.node, prefetch.job);
  if (node == nullptr) return;
  std::vector<protocol::NodeAddress> holders = holders_of(prefetch.outputs);
  send(*node, prefetch.node,
       protocol::Prefetch{prefetch.job, prefetch.shuffle, std::move(prefetch.partitions), std::move(prefetch.outputs),
                          std::move(holders), prefetch.block_bytes, prefetch.complete, std::move(prefetch.deferred)});
}

std::vector<protocol::NodeAddress> ServerImpl::holders_of(const std::vector<shuffle::MapOutput>& outputs) const {
  std::set<NodeId> ids;
  for (const shuffle::MapOutput& output : outputs) ids.insert(output.node);
  std::vector<protocol::NodeAddress> holders;
  for (NodeId id : ids)
    if (auto holder = nodes_.find(id); holder != nodes_.end()) holders.push_back(holder->second.address(id));
  return holders;
}

void ServerImpl::carry_out(const ReplicateOutput& copy) {
  Node* node = prepared(copy.node, copy.job);
  const auto source = nodes_.find(copy.output.node);
  if (node == nullptr || source == nodes_.end()) return;  // the core is about to hear of it
  send(*node, copy.node,
       protocol::ReplicateOutput{copy.job, copy.shuffle, copy.output.map, copy.output.attempt,
                                 source->second.address(source->first)});
}

void ServerImpl::carry_out(const OutputMoved& moved) {
  log_.debug("job {}: the output of map {} of shuffle {} is read from its copy on node {}: {}", moved.job.value(), moved.output.map,
             moved.shuffle.value(), moved.output.node.value(), moved.reason);
}

void ServerImpl::carry_out(ReleaseShuffle& release) {
  if (auto node = nodes_.find(release.node); node != nodes_.end())
    send(node->second, node->first, protocol::ReleaseShuffle{release.job, release.shuffle});
}

void ServerImpl::carry_out(ReleaseJob& release) {
  auto node = nodes_.find(release.node);
  if (node == nodes_.end() || node->second.prepared.erase(release.job) == 0) return;
  send(node->second, node->first, protocol::ReleaseJob{release.job});
}

/// A worker that is only silent stays in the list until its connection ends. The refusal of the next thing it says tells it.
void ServerImpl::note_loss(const NodeLost& lost, const Node& node) {
  const protocol::Register& info = node.info;
  if (lost.reason == kWorkerLeft) return log_.info("worker {} is gone: {}", info.name, lost.reason);
  if (node.dying_of != 0)
    log_.error("worker {} died: {}; the end of its log on {} says where", info.name, lost.reason, info.host);
  else
    log_.warn("worker {} is gone: {}", info.name, lost.reason);
  const auto alarm = lost_.add({lost.node, info.name, info.host, info.rack, info.data_address, lost.reason, now()});
  if (alarm) log_.error("ALARM: worker {}: {}", info.name, *alarm);
}

void ServerImpl::carry_out(NodeLost& lost) {
  const auto gone = nodes_.find(lost.node);
  if (gone == nodes_.end()) return;
  const protocol::Register& info = gone->second.info;
  note_loss(lost, gone->second);
  if (storage_) storage_->worker_lost(lost.node);
  for (auto& [id, node] : nodes_)
    if (id != lost.node) send(node, id, protocol::NodeLost{lost.node, info.data_address, lost.reason});
}

void ServerImpl::carry_out(ActionFinished& action) {
  auto job = jobs_.find(action.job);
  if (job == jobs_.end()) return;
  job->second.finished[action.action] = std::move(action.results);
  answer_polls(action.job, false);
}

void ServerImpl::carry_out(JobFailed& failure) {
  log_.info("job {}: {}", failure.job.value(), failure.error.to_string());
  end_job(failure.job);
}

void ServerImpl::carry_out(JobFinished& finished) { end_job(finished.job); }

void ServerImpl::end_job(JobId id) {
  answer_polls(id, true);
  jobs_.erase(id);
}

void ServerImpl::carry_out(SetTimer& timer) {
  const Duration wait = std::max(Duration(0), timer.at - now());
  timers_[timer.timer] = reactor_->after(wait, [this, id = timer.timer] {
    const auto fired = timers_.extract(id);
    (void)apply(TimerFired{id});
  });
}

rpc::Handler ServerImpl::handler() {
  rpc::Handler handler;
  handler.on_request = [this](const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder) {
    on_request(connection, std::move(message), std::move(responder));
  };
  handler.on_notify = [this](const rpc::ConnectionPtr& connection, rpc::Message message) {
    on_notify(connection, std::move(message));
  };
  handler.on_close = [this](const rpc::ConnectionPtr& connection, const Error& error) { on_close(connection, error); };
  return handler;
}

void ServerImpl::on_request(const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder) {
  if (failed_) return responder.fail(Error(Code::unavailable, "the master ends: " + failed_->to_string()));
  if (message.type == client::kPoll) return on_poll(message, std::move(responder));
  if (message.type == client::kJobLogs) return on_job_logs(message, std::move(responder));
  if (message.type >= kFirstStorageMessage && message.type <= kLastStorageMessage)
    return on_storage_request(connection, message, std::move(responder));
  if (message.type == protocol::kRegister) return on_register(connection, message, std::move(responder));
  Result<rpc::Payload> answered =
      message.type == protocol::kFetchBinary ? on_fetch_binary(connection, message) : on_client_request(connection, message);
  answer(std::make_shared<rpc::Responder>(std::move(responder)), std::move(answered));
}

}  // namespace weft::master
