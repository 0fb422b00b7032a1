#include "tests/engine/master/storage/table_simulation.hpp"

#include <algorithm>

namespace weft::master {

using namespace storage::tables;
using namespace std::chrono_literals;

namespace {

constexpr Duration kSilence = 10s;  // a worker that is not heard of for so long is lost
constexpr Duration kMasterDeadline = 5s;
constexpr Duration kBeat = 200ms;
constexpr Duration kClientDeadline = 5s;

bool has_commit(const PartitionRequest& request) {
  const auto* const append = std::get_if<AppendEntries>(&request.operation);
  return append != nullptr && std::any_of(append->entries.begin(), append->entries.end(),
                                          [](const auto& entry) { return entry.kind == EntryKind::commit; });
}

bool worth_another_try(const Error& why) { return why.code() == Code::unavailable || why.code() == Code::deadline_exceeded; }

}  // namespace

TableSimulation::TableSimulation(std::uint64_t seed, Options options) : options_(options), random_(seed) {
  start_master();
  for (std::uint32_t w = 0; w < options.workers; ++w) start(name_of(w));
  (void)until([&] { return master_->sessions.size() == options.workers; }, 10s);
  pass(1s);
  (void)master_->catalogue.create("t", options.partitions, options.replication);
  publish([](const Result<void>&) {});
}

TableSimulation::~TableSimulation() {
  heal();
  while (!workers_.empty()) kill(workers_.begin()->first);
  timers_.clear();
}

void TableSimulation::later(Duration delay, std::function<void()> task) {
  const std::uint64_t id = ++next_timer_;
  timers_[id] = world_.after(delay, [this, id, task = std::move(task)] {
    const auto timer = std::move(timers_.at(id));
    timers_.erase(id);
    task();
  });
}

void TableSimulation::make_room() {
  full_ = false;
  for (auto& write : std::exchange(waiting_for_room_, {})) world_.post(std::move(write));
}

void TableSimulation::heal() {
  cuts_.clear();
  make_room();
  for (const auto& [name, worker] : workers_)
    if (worker.process->stopped()) worker.process->resume();
}

// ---- messages

void TableSimulation::send(const std::string& from, const std::string& to, std::function<void()> arrived) {
  if (cuts_.contains({from, to})) return;
  const TimePoint at = std::max(clock_.now() + moment(random_.below(20) == 0 ? 300 : 4), last_arrival_[{from, to}] + 1us);
  last_arrival_[{from, to}] = at;
  later(at - clock_.now(), std::move(arrived));
}

void TableSimulation::request(const std::string& from, const SimulatedProcess* asker, const std::string& to,
                              const PartitionRequest& request, Duration deadline, PartitionPeers::Answer answer) {
  seen_(request);
  const auto open = std::make_shared<bool>(true);
  const auto answered = [open, answer = std::move(answer)](const Result<PartitionReply>& reply) {
    if (std::exchange(*open, false)) answer(reply);
  };
  const auto at_asker = [asker](std::function<void()> task) { return asker != nullptr ? asker->gated(std::move(task)) : task; };
  later(deadline, at_asker([answered] { answered(fail(Code::deadline_exceeded, "no answer in time")); }));
  send(from, to, [=, this] {
    const auto reply = [=, this](Result<PartitionReply> what) {
      send(to, from, at_asker([answered, what = std::move(what)] { answered(what); }));
    };
    const auto worker = workers_.find(to);
    if (worker == workers_.end()) return reply(fail(Code::unavailable, "nobody listens there"));
    const SimulatedProcess& process = *worker->second.process;
    const auto serve = process.gated([request, reply, &worker = worker->second, &process] {
      const auto there = worker.replicas.find(request.place);
      if (there == worker.replicas.end()) return reply(fail(Code::unavailable, "it is not on this worker"));
      // What it answers goes out while it lives.
      const auto out = std::make_shared<Result<PartitionReply>>(fail(Code::unavailable, ""));
      there->second->serve(
          request, [reply, out, send_it = process.gated([reply, out] { reply(std::move(*out)); })](Result<PartitionReply> what) {
            *out = std::move(what);
            send_it();
          });
    });
    options_.commit_takes > Duration(0) && has_commit(request) ? later(options_.commit_takes, serve) : serve();
  });
}

void TableSimulation::ask_master(const std::string& worker, std::function<TableOrders()> at_master,
                                 std::function<void(Result<TableOrders>)> then) {
  const Worker& from = workers_.at(worker);
  const auto open = std::make_shared<bool>(true);
  const auto answered = [open, then = std::move(then)](const Result<TableOrders>& orders) {
    if (std::exchange(*open, false)) then(orders);
  };
  const auto gate = [process = from.process.get()](std::function<void()> task) { return process->gated(std::move(task)); };
  const auto lost = gate([answered] { answered(fail(Code::unavailable, "the connection to the master is closed")); });
  if (from.session == 0) return world_.post(lost);
  later(kMasterDeadline, gate([answered] { answered(fail(Code::deadline_exceeded, "the master does not answer")); }));
  send(worker, "master", [=, this, session = from.session] {
    const auto known = master_->sessions.find(session);
    if (known == master_->sessions.end())
      return send("master", worker, [=, this, closed = gate([this, worker] { lose(worker); })] {
        lost();
        if (workers_.contains(worker) && workers_.at(worker).session == session) closed();
      });
    known->second.heard = clock_.now();
    TableOrders orders = at_master();
    if (orders.withheld) return send("master", worker, gate([answered, orders] { answered(orders); }));
    publish([=, this, orders = std::move(orders)](const Result<void>&) {
      send("master", worker, gate([answered, orders] { answered(orders); }));
    });
  });
}

// ---- the master

void TableSimulation::start_master() {
  master_ = std::make_unique<Master>();
  master_->process = std::make_unique<SimulatedProcess>(world_);
  for (const auto& [key, value] : durable_) WEFT_ASSERT(master_->catalogue.restore(key, value).has_value());
  master_->catalogue.restored(time());
  master_->coordinator.reset(new TableCoordinator(
      {*master_->process, master_->catalogue,
       [this](const std::string& to, const PartitionRequest& what, Duration deadline, PartitionPeers::Answer answer) {
         request("master", master_->process.get(), to, what, deadline, std::move(answer));
       },
       [this] { return time(); }, [this](Published then) { publish(std::move(then)); }}));
  tick();
}

void TableSimulation::restart_master() {
  master_->process->die();
  master_->timer.reset();
  master_->coordinator.reset();
  dead_.push_back(std::move(master_->process));
  start_master();
}

void TableSimulation::tick() {
  std::vector<std::uint64_t> silent;
  for (const auto& [id, session] : master_->sessions)
    if (clock_.now() - session.heard > kSilence) silent.push_back(id);
  for (const std::uint64_t id : silent) {
    master_->catalogue.node_lost(master_->sessions.at(id).worker, time());
    master_->sessions.erase(id);
  }
  if (!full_) {
    master_->catalogue.tick(time());
    master_->coordinator->resume_commits();
    publish([](const Result<void>&) {});
  }
  master_->timer = master_->process->after(100ms, [this] { tick(); });
}

/// On the disk after a moment, when that has room; who is to hear of changes does so then.
void TableSimulation::publish(Published then) {
  const auto write = [this, changes = master_->catalogue.take_changes(), then = std::move(then)] {
    for (const auto& change : changes) change.value ? void(durable_[change.key] = *change.value) : void(durable_.erase(change.key));
    for (const std::string& name : master_->catalogue.changed_workers())
      send("master", name, [this, name] {
        const auto worker = workers_.find(name);
        if (worker != workers_.end() && worker->second.session != 0) worker->second.context->heartbeat_soon();
      });
    then({});
  };
  written_ = std::max(clock_.now() + moment(3), written_ + 1us);
  later(written_ - clock_.now(), master_->process->gated([this, process = master_->process.get(), write] {
    if (full_) return waiting_for_room_.push_back(process->gated(write));
    write();
  }));
}

// ---- workers

std::string TableSimulation::path(const std::string& worker, const PlaceId& place) const {
  return scratch_ / (worker + "-" + to_string(place));
}

Replica& TableSimulation::replica(Worker& worker, const std::string& name, const PlaceId& place) {
  auto& there = worker.replicas[place];
  if (!there) there = std::make_shared<Replica>(*worker.context, place, path(name, place));
  return *there;
}

void TableSimulation::start(const std::string& name) {
  Worker& worker = workers_[name];
  worker.process = std::make_unique<SimulatedProcess>(world_);
  worker.disk = std::make_unique<storage::IoThreads>([this, process = worker.process.get()](storage::IoTask task) {
    later(moment(random_.below(10) == 0 ? 60 : 2), process->gated(std::move(task)));
  });
  worker.context.reset(new ReplicaContext{*worker.process, *worker.disk, clock_, {}, name, 0, name});
  worker.context->ask = [this, name, process = worker.process.get()](const std::string& to, const PartitionRequest& what,
                                                                     Duration deadline, PartitionPeers::Answer answer) {
    request(name, process, to, what, deadline, std::move(answer));
  };
  worker.context->ask_master = [this, name](const InSyncChange& change, std::function<void(Result<TableOrders>)> then) {
    ask_master(
        name,
        [this, name, change] {
          TableOrders orders;
          Assignment assignment;
          (void)master_->catalogue.change_in_sync(name, change, assignment);
          if (assignment.revision > 0) orders.assignments.push_back(assignment);
          return orders;
        },
        std::move(then));
  };
  worker.context->heartbeat_soon = [this, name, process = worker.process.get()] {
    const auto there = workers_.find(name);
    if (there != workers_.end() && there->second.session != 0)
      there->second.timer = process->after({}, [this, name] { heartbeat(name); });
  };
  for (const auto& entry : std::filesystem::directory_iterator(scratch_ / ""))
    for (std::uint32_t p = 0; p < options_.partitions; ++p)
      if (const PlaceId place{TableId(1), p}; entry.path() == path(name, place)) replica(worker, name, place).open();
  register_worker(name);
}

void TableSimulation::kill(const std::string& name) {
  const auto worker = workers_.extract(name);
  if (!worker) return;
  Worker& dying = worker.mapped();
  dying.timer.reset();
  dying.process->die();
  for (const auto& [place, replica] : dying.replicas) replica->master_lost();
  dying.replicas.clear();
  dead_.push_back(std::move(dying.process));
  if (const auto session = master_->sessions.find(dying.session); session != master_->sessions.end()) {
    master_->sessions.erase(session);
    master_->catalogue.node_lost(name, time());
  }
}

/// Its connection to the master has ended; it makes another.
void TableSimulation::lose(const std::string& name) {
  Worker& worker = workers_.at(name);
  worker.session = 0;
  worker.timer.reset();
  worker.context->leased_until = {};
  for (const auto& [place, replica] : worker.replicas) replica->master_lost();
  register_worker(name);
}

void TableSimulation::register_worker(const std::string& name) {
  const auto retry = [this, name] {
    if (workers_.contains(name) && workers_.at(name).session == 0) register_worker(name);
  };
  SimulatedProcess& process = *workers_.at(name).process;
  later(1s, process.gated(retry));
  send(name, "master", [this, name, process = &process, gate = process.gated([] {})] {
    if (!workers_.contains(name) || workers_.at(name).process.get() != process || workers_.at(name).session != 0) return;
    for (auto known = master_->sessions.begin(); known != master_->sessions.end();)
      known = known->second.worker == name ? master_->sessions.erase(known) : std::next(known);
    master_->catalogue.node_lost(name, time());
    const std::uint64_t session = next_session_++;
    master_->sessions[session] = {name, clock_.now()};
    send("master", name, process->gated([this, name, session] {
      Worker& worker = workers_.at(name);
      if (worker.session != 0) return;
      worker.session = session;
      worker.first = true;
      heartbeat(name);
    }));
  });
}

void TableSimulation::heartbeat(const std::string& name) {
  Worker& worker = workers_.at(name);
  worker.timer.reset();
  const bool opening =
      std::any_of(worker.replicas.begin(), worker.replicas.end(), [](const auto& one) { return one.second->opening(); });
  if (opening && worker.first) {
    worker.timer = worker.process->after(10ms, [this, name] { heartbeat(name); });
    return;
  }
  TableHeartbeat message;
  message.first = std::exchange(worker.first, false);
  message.address = name;
  for (const auto& [place, replica] : worker.replicas) message.replicas.push_back(replica->report());
  const auto at_master = [this, name, message] {
    TableOrders orders = master_->catalogue.heartbeat({name, "host-" + name, "rack", name}, message, time());
    if (full_) orders.assignments.clear(), orders.erase.clear(), orders.withheld = true;
    return orders;
  };
  ask_master(name, at_master, [this, name, sent = clock_.now(), session = worker.session](const Result<TableOrders>& orders) {
    Worker& asked = workers_.at(name);
    if (asked.session != session) return;
    if (orders) {
      asked.context->leased_until = sent + std::chrono::milliseconds(orders->lease_ms);
      asked.context->withheld = orders->withheld;
      for (const Assignment& assignment : orders->assignments) replica(asked, name, assignment.place).adopt(assignment);
    }
    asked.timer = asked.process->after(kBeat, [this, name] { heartbeat(name); });
  });
}

// ---- clients

template <class Value>
void TableSimulation::again_and_again(TimePoint end, std::function<void(std::function<void(Result<Value>)>)> once,
                                      std::function<void(Result<Value>)> done) {
  once([this, end, once, done](const Result<Value>& what) {
    if (what || !worth_another_try(what.error()) || clock_.now() >= end) return done(what);
    later(moment(200), [this, end, once, done] { again_and_again<Value>(end, once, done); });
  });
}

void TableSimulation::ask(std::uint32_t partition, PartitionOperation operation, Duration patience, OnRows done) {
  const auto* const scan = std::get_if<ScanRows>(&operation);
  const bool any = scan != nullptr && scan->snapshot != SnapshotId();
  again_and_again<PartitionReply>(
      clock_.now() + patience,
      [this, partition, tried = std::make_shared<PartitionOperation>(std::move(operation)), any](const OnRows& then) {
        const TableStatus table = status();  // as of a moment ago would do as well
        const PartitionStatus& there = table.partitions.at(partition);
        std::string to = there.primary;
        if (any && random_.chance(0.5)) {
          const auto& member = there.members.at(random_.below(there.members.size()));
          if (member.in_sync) to = member.name;
        }
        if (to.empty()) return world_.post([then] { then(fail(Code::unavailable, "nobody serves it")); });
        request("client", nullptr, to, {{table.id, partition}, 0, *tried}, kClientDeadline, then);
        if (auto* const put = std::get_if<PutRows>(tried.get())) put->repeated = true;
      },
      std::move(done));
}

void TableSimulation::begin(std::function<void(Result<TransactionId>)> done) {
  again_and_again<TransactionId>(
      clock_.now() + 60s,
      [this](const std::function<void(Result<TransactionId>)>& then) {
        send("client", "master", [this, then] {
          if (full_) return then(fail(Code::unavailable, "the master's disk is full"));
          const auto id = master_->catalogue.begin("t", time());
          const auto open = std::make_shared<bool>(true);
          later(kClientDeadline, [open, then] {
            if (std::exchange(*open, false)) then(fail(Code::deadline_exceeded, "no answer in time"));
          });
          publish([this, id, then, open](const Result<void>&) {
            send("master", "client", [id, then, open] {
              if (std::exchange(*open, false)) then(id);
            });
          });
        });
      },
      std::move(done));
}

void TableSimulation::commit(const TableCommit& commit, Duration patience, std::function<void(Result<void>)> done) {
  again_and_again<void>(
      clock_.now() + patience,
      [this, commit](const std::function<void(Result<void>)>& then) {
        const auto open = std::make_shared<bool>(true);
        const auto once = [open, then](const Result<void>& what) {
          if (std::exchange(*open, false)) then(what);
        };
        later(moment(60'000), [once] { once(fail(Code::unavailable, "the connection to the master broke")); });
        send("client", "master", [this, commit, once] {
          if (full_) return once(fail(Code::unavailable, "the master's disk is full"));
          master_->coordinator->commit(
              {"t", commit}, [this, once](const Result<void>& what) { send("master", "client", [once, what] { once(what); }); });
        });
      },
      std::move(done));
}

void TableSimulation::snapshot(Duration patience, std::function<void(Result<SnapshotId>)> done) {
  const std::uint64_t token = random_();
  again_and_again<SnapshotId>(
      clock_.now() + patience,
      [this, token](const std::function<void(Result<SnapshotId>)>& then) {
        const auto open = std::make_shared<bool>(true);
        const auto once = [open, then](const Result<SnapshotId>& what) {
          if (std::exchange(*open, false)) then(what);
        };
        later(moment(60'000), [once] { once(fail(Code::unavailable, "the connection to the master broke")); });
        send("client", "master", [this, token, once] {
          if (full_) return once(fail(Code::unavailable, "the master's disk is full"));
          master_->coordinator->take_snapshot({"t", "", token}, 0, [this, once](const Result<SnapshotId>& what) {
            send("master", "client", [once, what] { once(what); });
          });
        });
      },
      std::move(done));
}

bool TableSimulation::whole() const {
  const TableStatus table = status();
  return table.short_partitions == 0 && table.down_partitions == 0;
}

std::vector<std::vector<TableRow>> TableSimulation::contents(std::uint32_t partition) {
  std::vector<std::vector<TableRow>> all;
  const TableStatus table = status();
  for (const MemberStatus& member : table.partitions.at(partition).members) {
    const std::string directory = path(member.name, {TableId(1), partition});
    kill(member.name);
    const auto store = TablePartition::open(directory, OpenMode::existing);
    WEFT_ASSERT(store.has_value());
    all.push_back((*store)->scan("", "", SIZE_MAX, (*store)->last()).value());
  }
  return all;
}

}  // namespace weft::master
