#include "engine/master/server/server.hpp"

#include <bit>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "base/assert.hpp"
#include "base/counted.hpp"
#include "base/directory_claim.hpp"
#include "base/log.hpp"
#include "base/machine.hpp"
#include "base/rpc/frame.hpp"
#include "base/run_directory.hpp"
#include "base/text.hpp"
#include "engine/master/driver/core_driver.hpp"
#include "engine/master/journal/job_recorder.hpp"
#include "engine/master/nodes/topology.hpp"
#include "engine/master/profiles/profile_service.hpp"
#include "engine/master/scheduling/catalogue.hpp"
#include "engine/master/server/access.hpp"
#include "engine/master/server/audit.hpp"
#include "engine/master/server/binary_store.hpp"
#include "engine/master/server/client_requests.hpp"
#include "engine/master/server/drivers.hpp"
#include "engine/master/server/event_requests.hpp"
#include "engine/master/server/log_writes.hpp"
#include "engine/master/server/request_gate.hpp"
#include "engine/master/server/running_jobs.hpp"
#include "engine/master/server/scheduler_requests.hpp"
#include "engine/master/server/workers.hpp"
#include "schedulers/builtin.hpp"
#include "storage/acting_user.hpp"
#include "storage/files/protocol.hpp"

namespace weft::master {

constexpr Duration kLeaseWatch = std::chrono::milliseconds(20);

std::vector<std::string> administrators_of(const ServerOptions& options) {
  return options.administrators.empty() ? std::vector<std::string>{user_name()} : options.administrators;
}

/// Feeds the core and carries its commands out, by the parts that know workers, clients and the journal. On its reactor's thread.
class ServerImpl final : public Server, private CoreDriver::BackEnd {
 public:
  explicit ServerImpl(ServerOptions options)
      : options_(std::move(options)),
        gate_(trust_of(options_.security), administrators_of(options_), [this](JobId id) { return owner_of(id); }) {}
  ~ServerImpl() override;
  Result<void> begin();
  const std::string& address() const override { return address_; }
  LogPlace log_began() const override { return driver_.log_began(); }
  void note(AuditEntry entry) override { gate_.note(std::move(entry)); }
  void reload() override;
  void set_past(Past past) override {
    reactor_->run([&] { past_ = std::move(past); });
  }

 private:
  Time now() const override { return SystemClock().now() - started_; }
  std::int64_t unix_seconds() const override { return unix_milliseconds() / 1000; }
  void carry_out(Command& command) override {
    std::visit([this](auto& what) { carry_out(what); }, command);
  }
  void accepted(const std::vector<Command>& commands) override { profiles_->save_after(commands); }
  void scheduler_failed(const SchedulerFaults& faults) override;
  void stuck(const Error& why) override { give_up(why); }
  void inform(const std::string& text) override { log_.info("{}", text); }
  bool flush_log_later() override {
    if (!log_writes_) log_writes_.emplace(*reactor_, driver_);
    log_writes_->expect();
    return true;
  }
  void log_failed(const Error& why) override { log_.error("{}", why.to_string()); }

  bool leads();
  void watch_lease();
  void replicate();
  Result<void> open_core();
  Result<void> open_storage();
  Result<Restored> recover();
  void resume(JournaledJob& job, const JournalHistory& history, Restored& restored);
  void make_parts();
  void add_requests();
  void give_up(const Error& why);
  /// By the part that it concerns.
  template <class Concerned>
  void carry_out(Concerned& command) {
    if constexpr (requires { clients_->carry_out(command); }) {
      clients_->carry_out(command);
    } else {
      workers_->commands.carry_out(command);
    }
  }
  void carry_out(NodeLost& lost);
  void carry_out(OutputMoved& moved);
  void carry_out(StageRolledBack& back);
  void carry_out(SetTimer& timer);
  rpc::Handler handler();
  void on_request(const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder);
  void answer(const Caller& caller, const RequestTable::Route& route, const rpc::ConnectionPtr& connection,
              const rpc::Message& message, rpc::Responder responder);
  std::optional<JobOwner> owner_of(JobId id) const;
  Result<rpc::Payload> on_profiles(const rpc::Connection& connection, const rpc::Message& message);
  void on_read_events(const rpc::Connection& connection, const rpc::Message& message, rpc::Responder responder);
  Result<rpc::Payload> on_fetch_binary(const rpc::ConnectionPtr& connection, const rpc::Message& message);
  client::MasterList masters() const;
  void on_storage_request(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder);

  ServerOptions options_;
  RequestGate gate_;
  TimePoint started_{};
  std::optional<RunDirectory> temporary_;
  Fd directory_claim_;  // of the one that the user named
  std::unique_ptr<BinaryStore> binaries_;
  std::unique_ptr<Topology> topology_;
  std::shared_ptr<const scheduling::Catalogue> catalogue_;
  CoreDriver driver_{*this};
  std::unique_ptr<ReplicationLog> replication_;  // null: there are no other masters
  std::optional<LogWrites> log_writes_;
  std::unique_ptr<rpc::Timer> lease_timer_;
  bool given_up_ = false;
  std::unique_ptr<StorageService> storage_;  // null: no files
  RunningJobs jobs_;
  std::optional<ProfileService> profiles_;
  Past past_;
  PrefetchReports prefetched_;  // of jobs that the core knows, and of none before a restart
  std::optional<JobRecorder> recorder_;
  std::optional<Workers> workers_;
  std::optional<Drivers> drivers_;
  std::optional<ClientRequests> clients_;
  std::optional<SchedulerRequests> scheduler_;
  RequestTable requests_;
  std::map<std::uint64_t, std::unique_ptr<rpc::Timer>> timers_;
  std::string address_;
  std::unique_ptr<rpc::Listener> listener_;
  std::set<rpc::ConnectionPtr> connections_;  // of all peers
  Log log_{"master"};
  std::unique_ptr<rpc::Reactor> reactor_;
  std::unique_ptr<rpc::Reactor> background_;  // what may block: asking the topology program
};

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
    // Whoever is connected may go on with the next master: that their connections end is no event.
    const bool orderly = !driver_.ended();
    const Error ends(Code::unavailable, "the master ends");
    driver_.end(ends);
    log_writes_.reset();
    driver_.flush_log();
    if (listener_) listener_->close();
    clients_->give_up(ends);
    // Before what waits for answers is dropped: a peer that loses its connection tries again with the next master.
    for (const rpc::ConnectionPtr& connection : connections_) connection->close();
    lease_timer_.reset();
    storage_.reset();
    timers_.clear();
    drivers_->close();
    recorder_->end(orderly);
    profiles_->close();
    replication_.reset();
  });
  reactor_->stop();
  recorder_->close();
}

Result<void> ServerImpl::begin() {
  WEFT_ASSIGN(const rpc::Endpoint listen, rpc::Endpoint::parse(options_.listen));
  if (const Time timeout = options_.core.heartbeat_timeout; timeout > Time(0) && timeout < 2 * options_.heartbeat)
    return fail(Code::invalid_argument, fmt::format("workers that report every {} would be lost after {}: twice as long at least",
                                                    format_duration(options_.heartbeat), format_duration(timeout)));
  std::string directory = options_.directory;
  if (directory.empty()) {
    WEFT_ASSIGN(RunDirectory made, RunDirectory::create("master"));
    temporary_.emplace(std::move(made));
    directory = temporary_->path();
  }
  if (std::error_code error; !std::filesystem::create_directories(directory, error) && error)
    return fail(Code::io, fmt::format("cannot create {}: {}", directory, error.message()));
  if (!temporary_) {
    auto claimed = claim_directory(directory, "master");
    if (!claimed) return fail(std::move(claimed).error().wrap("--directory"));
    directory_claim_ = std::move(*claimed);
  }
  binaries_ = std::make_unique<BinaryStore>(
      directory, options_.journal.empty() ? BinaryStore::Keep::for_this_run : BinaryStore::Keep::durably);
  binaries_->bound(kMostProgramBytes, [this] { return programs_of(jobs_); });
  if (!options_.topology.empty()) {
    WEFT_ASSIGN(topology_, Topology::open(options_.topology));
  }
  if (!options_.audit_log.empty()) WEFT_TRY(gate_.open_audit_log(options_.audit_log, options_.audit_rotation));
  started_ = SystemClock().now();
  background_ = rpc::Reactor::start("weft-background");
  reactor_ = rpc::Reactor::start("weft-master", options_.security);
  make_parts();
  Result<void> began;
  reactor_->run([&] {
    began = profiles_->open(options_.profiles);  // what the core restores looks into them
    if (began && options_.leadership != nullptr)
      replication_ = std::make_unique<ReplicationLog>(*options_.leadership, *reactor_, [this](const Error& why) { give_up(why); });
    // Millions of files take a while. Only then workers and drivers are waited for, which cannot come before the master listens.
    if (began) began = open_storage();
    if (began) began = open_core();
    if (!began) return;
    if (storage_) recorder_->skip_nodes(storage_->first_node());
    if (replication_) replicate();
    add_requests();
    watch_lease();
    rpc::Limits limits;
    limits.max_queued = std::size_t{2} << 30;
    auto listener = reactor_->listen(listen, limits, [this](const rpc::ConnectionPtr& connection) {
      connections_.insert(connection);
      return handler();
    });
    if (!listener) {
      began = fail(std::move(listener).error());
      return;
    }
    listener_ = std::move(*listener);
    address_ = listener_->endpoint().text;
  });
  return began;
}

void ServerImpl::make_parts() {
  profiles_.emplace(*reactor_);
  recorder_.emplace(driver_, *reactor_, [this](JobId id) { return clients_->status_of(id, false); });
  workers_.emplace(WorkerContext{driver_, *recorder_, jobs_, prefetched_, *reactor_, *background_, topology_.get(), storage_,
                                 options_,
                                 [this](NodeId node, const protocol::DriverEnded& ended) { drivers_->ended(node, ended); },
                                 [this](NodeId node, const auto& drivers) { drivers_->resumed(node, drivers); }});
  drivers_.emplace(driver_, jobs_, workers_->context,
                   [this](const DriverState& state) { recorder_->record(state.job, fact_of(state)); });
  clients_.emplace(ClientRequests::Parts{driver_, *recorder_, jobs_, prefetched_, *workers_, *binaries_, *drivers_, *reactor_,
                                         options_, gate_.callers()});
}

/// What followers get. A program is named, and fetched by them; one that is uploaded later is named in the log, before the job's
/// part that needs it.
void ServerImpl::replicate() {
  recorder_->replicate_to(*replication_);
  profiles_->replicate_to(*replication_);
  const auto named = [](const ProgramId& program) {
    return LogEntry{Store::programs, SharedBytes(Buffer::copy_of(as_bytes(to_string(program.hash)))), program.user};
  };
  replication_->add([this, named](auto then) {
    std::vector<LogEntry> programs;
    for (const auto& [id, job] : jobs_)
      if (!job.submit.same_binary && binaries_->knows(program_of(job.submit))) programs.push_back(named(program_of(job.submit)));
    then(std::make_unique<ListedSnapshot>(std::move(programs)));
  });
  replication_->add([this](auto then) {
    if (storage_) return storage_->snapshot(std::move(then));
    then(std::make_unique<ListedSnapshot>(std::vector<LogEntry>{}));
  });
  binaries_->on_new([this, named](const ProgramId& program) {
    if (replication_ && replication_->followed()) replication_->append(named(program));
  });
}

client::MasterList ServerImpl::masters() const {
  using State = client::MasterStatus::State;
  client::MasterList list;
  if (options_.leadership == nullptr) {
    list.masters.push_back({"", address_, State::leads, 0, Duration(0)});
    return list;
  }
  const Leadership& own = *options_.leadership;
  list.cluster = own.cluster();
  list.epoch = own.epoch();
  list.masters.push_back({own.member(), own.address(), State::leads, 0, Duration(0), options_.page});
  for (const ReplicationLog::FollowerStatus& follower : replication_->followers())
    list.masters.push_back({follower.member, follower.address, follower.in_sync ? State::in_sync : State::copies, follower.behind,
                            follower.heard, follower.page});
  return list;
}

/// False: it may be that another master leads. Then nothing is decided any more.
bool ServerImpl::leads() {
  if (driver_.ended()) return false;
  if (options_.leadership == nullptr) return true;
  const auto lost = options_.leadership->lost();
  if (lost) give_up(*lost);
  return !lost;
}

void ServerImpl::watch_lease() {
  if (options_.leadership == nullptr || !leads()) return;
  lease_timer_ = reactor_->after(kLeaseWatch, [this] { watch_lease(); });
}

/// The first event of every run says which scheduler decides.
Result<void> ServerImpl::open_core() {
  WEFT_ASSIGN(catalogue_, scheduling::Catalogue::open(options_.scheduler_plugins));
  WEFT_ASSIGN(auto first, schedulers::make_scheduler("fifo"));
  scheduler_.emplace(driver_, catalogue_, options_, gate_.callers());
  const bool guarded = catalogue_->has_plugins();
  options_.core.heartbeat = options_.heartbeat;
  auto core = std::make_unique<Core>(std::move(first), options_.core, scheduling::Catalogue::factory(catalogue_));
  Restored restored;
  if (!options_.journal.empty()) {
    WEFT_ASSIGN(restored, recover());
  }
  driver_.observe_with(profiles_->observer());
  driver_.journal_to(*recorder_);
  if (!options_.event_log.empty()) {
    const bool continues = !restored.nodes.empty() || !restored.jobs.empty();
    WEFT_ASSIGN(auto log, EventLog::open(options_.event_log, now(), options_.scheduler, options_.log_rotation, continues));
    driver_.log_to(std::move(log), options_.heartbeat);
  }
  for (const RestoredNode& node : restored.nodes) driver_.log_restored(node.at, node.joined);
  restored.profiles = [this, &core = *core](PlanExtended& part) {
    Event event = std::move(part);
    if (const auto text = profiles_->observer().before(now(), core.view(), event)) inform(*text);
    part = std::get<PlanExtended>(std::move(event));
  };
  std::vector<Command> commands;
  core->restore(now(), std::move(restored), commands);
  driver_.begin(std::move(core), guarded ? std::optional(options_.scheduler_timeout) : std::nullopt);
  recorder_->after(commands);
  for (Command& command : commands) carry_out(command);
  return scheduler_->configure(options_.scheduler);
}

Result<void> ServerImpl::open_storage() {
  if (!options_.storage) return {};
  StorageShell shell{*reactor_,
                     [this](NodeId id, rpc::MessageType type, rpc::Payload payload) {
                       if (leads()) workers_->context.table.notify(id, type, std::move(payload));
                     },
                     [this](const Error& why) { give_up(why); }, replication_.get(),
                     [this](AuditEntry entry) { gate_.note(std::move(entry)); }};
  WEFT_ASSIGN(storage_, options_.storage(std::move(shell)));
  return {};
}

/// A restarted master goes on with the clock, the ids, the jobs and the nodes of the one before.
Result<Restored> ServerImpl::recover() {
  WEFT_ASSIGN(JournalHistory history,
              recorder_->open(options_.journal,
                              {options_.core.finished_jobs_kept, options_.journal_checkpoint_bytes,
                               storage_ ? storage_->cluster() : std::string(), storage_ && storage_->has_journal()},
                              [this](const Error& why) { give_up(why); }));
  if (storage_) storage_->note_journal();
  // The clock goes on, over the time without a master too.
  const Time unix_now = std::chrono::system_clock::now().time_since_epoch();
  const Time away = history.marks.at == Time(0) ? Time(0) : std::max(Time(0), unix_now - history.marks.unix_time);
  started_ -= history.marks.at + away;
  workers_->capacities.restore(history.settings);
  Restored restored;
  restored.ended = std::move(history.ended);
  for (NodeFact& fact : history.nodes) {
    auto node = node_of(fact);
    if (!node) continue;  // its worker registers as another one
    restored.nodes.push_back(std::move(*node));
    workers_->context.away[fact.node] = std::move(fact);
  }
  workers_->context.table.wait_for_others(!workers_->context.away.empty());
  for (JournaledJob& job : history.running) resume(job, history, restored);
  binaries_->end_recovery(programs_of(jobs_));
  binaries_->clean([this] { return programs_of(jobs_); }, kMostProgramBytes);
  if (!restored.jobs.empty() || !restored.nodes.empty())
    log_.info("{} jobs of the last master go on; {} workers are waited for", restored.jobs.size(), restored.nodes.size());
  return restored;
}

/// A job whose record is not whole, or of an earlier release, has failed. One that has not begun may not have its program yet: its
/// driver uploads that when it is back.
void ServerImpl::resume(JournaledJob& job, const JournalHistory& history, Restored& restored) {
  auto resumed = master::resume(job, history.masters);
  const bool begun = !job.parts.empty() || (job.driver && job.driver->wanted);
  // Asked in any case: from then on, workers can fetch it.
  const bool there = resumed && (resumed->submit.same_binary || binaries_->recover(program_of(resumed->submit)) || !begun);
  if (!there) {
    const std::string why = resumed ? "its program was not kept (--directory)" : resumed.error().to_string();
    recorder_->fail_orphan(job.status, history.marks.at, fmt::format("the master was restarted, and {}", why));
    log_.warn("job {} cannot go on: {}", job.status.id.value(), why);
    return restored.ended.push_back(std::move(job.status));
  }
  RunningJob running = running_job(job, *resumed);
  std::optional<DriverState> driver;
  if (job.driver) driver = state_of(job.status.id, std::move(*job.driver));
  clients_->restore(job.status.id, std::move(running), std::move(driver));
  restored.jobs.push_back(std::move(resumed->core));
}

void ServerImpl::give_up(const Error& why) {
  if (std::exchange(given_up_, true)) return;
  driver_.end(why);
  log_.error("{}", why.to_string());
  clients_->give_up(why);
  if (options_.on_fatal) options_.on_fatal(why);
}

/// A scheduler that fails may fail at every event: lines for the first failures, then for ever fewer.
void ServerImpl::scheduler_failed(const SchedulerFaults& faults) {
  if (faults.faults < 10 || std::has_single_bit(faults.faults)) log_.error("{} ({} times so far)", faults.fault, faults.faults);
}

void ServerImpl::carry_out(NodeLost& lost) {
  const NodeId node = lost.node;
  workers_->losses.carry_out(lost);
  drivers_->node_lost(node);
}

void ServerImpl::carry_out(OutputMoved& moved) {
  log_.debug("job {}: the output of map {} of shuffle {} is read from its copy on node {}: {}", moved.job.value(), moved.output.map,
             moved.shuffle.value(), moved.output.node.value(), moved.reason);
}

void ServerImpl::carry_out(StageRolledBack& back) {
  if (back.tasks == 0) return;
  log_.info("job {}: {} of stage {} run again: {}", back.job.value(), counted(back.tasks, "task"), back.stage.value(), back.reason);
}

void ServerImpl::carry_out(SetTimer& timer) {
  const Duration wait = std::max(Duration(0), timer.at - now());
  timers_[timer.timer] = reactor_->after(wait, [this, id = timer.timer] {
    const auto fired = timers_.extract(id);
    if (leads()) (void)driver_.apply(TimerFired{id});
  });
}

rpc::Handler ServerImpl::handler() {
  rpc::Handler handler;
  handler.on_request = [this](const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder) {
    on_request(connection, std::move(message), std::move(responder));
  };
  handler.on_notify = [this](const rpc::ConnectionPtr& connection, const rpc::Message& message) {
    if (!leads() || !gate_.admit_notification(*connection, message)) return;
    if (message.type != kAlive) return workers_->reports.on_notify(connection, message);
    if (replication_) replication_->heard_of(connection, ReplicationLog::Sign::of_life);
  };
  handler.on_part = [this](const rpc::ConnectionPtr& connection) {
    if (leads()) workers_->reports.on_part(connection);
  };
  handler.on_close = [this](const rpc::ConnectionPtr& connection, const Error& error) {
    connections_.erase(connection);
    gate_.forget(*connection);
    binaries_->forget(connection.get());
    if (options_.leadership != nullptr && !leads()) return;  // a peer that leaves goes to the master that leads
    if (workers_->losses.on_close(connection, error)) return;
    if (!replication_ || !replication_->on_close(connection, error)) clients_->on_close(connection, error);
  };
  return handler;
}

/// What no part of its own answers; the storage service has its own range of messages.
void ServerImpl::add_requests() {
  clients_->add_to(requests_);
  scheduler_->add_to(requests_);
  requests_.answer(storage::kActFor, RequestTable::Kind::question,
                   [this](const auto& connection, const auto& message) { return gate_.on_act_for(*connection, message); });
  requests_.answer(client::kProfiles, RequestTable::Kind::question,
                   [this](const auto& connection, const auto& message) { return on_profiles(*connection, message); });
  // At once: a follower asks while promises wait for it.
  requests_.answer(client::kListMasters, RequestTable::Kind::question,
                   [this](const auto&, const auto&) { return client::encode(masters()); });
  requests_.answer(client::kReadPast, RequestTable::Kind::question,
                   [this](const auto&, const auto& message) { return read_past(past_, message); });
  requests_.handle(client::kReadEvents, [this](const auto& connection, const auto& message, rpc::Responder responder) {
    on_read_events(*connection, message, std::move(responder));
  });
  requests_.handle(protocol::kFetchBinary, [this](const auto& connection, const auto& message, rpc::Responder responder) {
    auto piece = on_fetch_binary(connection, message);
    piece ? responder.reply(std::move(*piece)) : responder.fail(piece.error());
  });
  requests_.handle(protocol::kRegister, [this](const auto& connection, const auto& message, rpc::Responder responder) {
    workers_->admission.on_register(connection, message, std::move(responder));
  });
  // A worker that has lost its master without notice searches for the next one.
  requests_.handle(protocol::kPresence, [](const auto&, const auto&, rpc::Responder responder) { responder.reply({}); });
  if (!replication_) return;
  requests_.handle(kFollow, [this](const auto& connection, const auto& message, rpc::Responder responder) {
    replication_->on_follow(connection, message, std::move(responder));
  });
  requests_.handle(kPull, [this](const auto& connection, const auto& message, rpc::Responder responder) {
    replication_->on_pull(connection, message, std::move(responder));
  });
}

void ServerImpl::on_request(const rpc::ConnectionPtr& connection, rpc::Message message, rpc::Responder responder) {
  if (!leads()) return responder.fail(Error(Code::unavailable, "the master ends: " + driver_.ended()->to_string()));
  const Caller caller = gate_.callers().of(*connection);
  if (const auto admitted = gate_.admit(caller, *connection, message); !admitted) return responder.fail(admitted.error());
  if (message.type >= kFirstStorageMessage && message.type <= kLastStorageMessage && message.type != storage::kActFor)
    return on_storage_request(connection, message, std::move(responder));
  const RequestTable::Route* const route = requests_.find(message.type);
  if (route == nullptr)
    return responder.fail(
        Error(Code::invalid_argument, fmt::format("the master is {} and does not know message {} of its peer, which is {}",
                                                  rpc::software_version(), message.type, connection->peer_software())));
  answer(caller, *route, connection, message, std::move(responder));
}

void ServerImpl::answer(const Caller& caller, const RequestTable::Route& route, const rpc::ConnectionPtr& connection,
                        const rpc::Message& message, rpc::Responder responder) {
  if (const auto* const handle = std::get_if<RequestTable::Handle>(&route.to)) {
    gate_.note(caller, message, {});
    return (*handle)(connection, message, std::move(responder));
  }
  const auto obstacle = recorder_->obstacle();
  if (obstacle && route.kind == RequestTable::Kind::promise) return responder.fail(*obstacle);
  auto answered = std::get<RequestTable::Answer>(route.to)(connection, message);
  if (gate_.notes())
    gate_.note(caller, message, answered.map([](const rpc::Payload&) {}),
               answered ? job_submitted(message, *answered) : std::nullopt);
  // A question need not wait until something can be promised again.
  if (obstacle && route.kind == RequestTable::Kind::question)
    return answered ? responder.reply(std::move(*answered)) : responder.fail(answered.error());
  recorder_->answer(std::make_shared<rpc::Responder>(std::move(responder)), std::move(answered));
}

std::optional<JobOwner> ServerImpl::owner_of(JobId id) const {
  if (const auto job = jobs_.find(id); job != jobs_.end())
    return JobOwner{job->second.submit.options.user, job->second.submit.options.pool};
  const auto status = driver_.core().job(id);
  if (!status) return std::nullopt;
  return JobOwner{status->user, status->pool};
}

Result<rpc::Payload> ServerImpl::on_profiles(const rpc::Connection& connection, const rpc::Message& message) {
  WEFT_ASSIGN(const client::ProfileRequest request, client::decode<client::ProfileRequest>(message));
  if (request.what != client::ProfileRequest::What::show)
    WEFT_TRY(gate_.callers().of(connection).must_administer(rule_of(message.type)->what));
  return profiles_->answer(message);
}

void ServerImpl::on_read_events(const rpc::Connection& connection, const rpc::Message& message, rpc::Responder responder) {
  auto wanted = client::decode<client::EventsWanted>(message);
  if (!wanted) return responder.fail(wanted.error());
  if (gate_.callers().of(connection).administrator) wanted->job = {};
  driver_.flush_log();
  const LogPlace from = recorder_->keeps_jobs() ? LogPlace() : driver_.log_began();  // ids of jobs began again there
  answer_events(options_.event_log, *wanted, from, *background_, *reactor_, std::move(responder));
}

Result<rpc::Payload> ServerImpl::on_fetch_binary(const rpc::ConnectionPtr& connection, const rpc::Message& message) {
  WEFT_TRY(connection->protocol());
  if (replication_) replication_->heard_of(connection, ReplicationLog::Sign::of_progress);
  WEFT_ASSIGN(const protocol::BinaryRequest request, protocol::decode<protocol::BinaryRequest>(message));
  auto wanted = request.user ? Result<ProgramId>({request.binary, *request.user}) : binaries_->only_with(request.binary);
  WEFT_ASSIGN(const ProgramId program, std::move(wanted));
  WEFT_ASSIGN(BinaryStore::Piece piece, binaries_->read(program, request.offset, protocol::kBinaryChunkBytes));
  return rpc::with_bulk(protocol::encode(protocol::BinaryChunk{piece.total}), SharedBytes(std::move(piece.bytes)));
}

void ServerImpl::on_storage_request(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder) {
  if (!storage_) {
    if (message.type == storage::files::kStorageHello)
      return responder.reply(storage::files::encode(storage::files::StorageSite{}));
    return responder.fail(Error(Code::invalid_argument, "this master keeps no files; start it with --data-dir DIRECTORY"));
  }
  if (message.type < kFirstWorkerStorageMessage)
    return storage_->on_client_request(gate_.callers().of(*connection), message, std::move(responder));
  const auto worker = workers_->context.table.on(connection);
  if (!worker) return responder.fail(Error(Code::invalid_argument, "a message of a peer that is not registered"));
  storage_->on_worker_request(workers_->context.table.at(*worker).site(*worker), message, std::move(responder));
}

void ServerImpl::reload() {
  reactor_->post([this] {
    if (topology_) {
      if (auto reloaded = topology_->reload()) {
        log_.info("topology {} was reloaded", options_.topology);
      } else {
        log_.error("the old topology stays: {}", reloaded.error().to_string());
      }
    }
    if (driver_.ended()) return;
    const std::string spec = driver_.core().configuration().spec;
    if (auto configured = scheduler_->configure(spec)) {
      log_.info("scheduler {} was reloaded", spec);
    } else if (!driver_.ended()) {
      log_.error("the old configuration of the scheduler stays: {}", configured.error().to_string());
    }
  });
}

}  // namespace weft::master
