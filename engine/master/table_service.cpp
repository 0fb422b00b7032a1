#include "engine/master/table_service.hpp"

#include <chrono>

#include <fmt/format.h>

#include "base/rpc/derived.hpp"
#include "engine/master/storage_time.hpp"

namespace weft::master {
namespace {

using namespace storage;
using namespace storage::tables;

}  // namespace

TableService::TableService(const StorageShell& shell, Time lost_grace, std::function<void(Published)> publish)
    : send_(shell.send),
      publish_(std::move(publish)),
      catalogue_(CatalogueOptions{.lost_grace = lost_grace}),
      barrier_(shell.reactor) {}

void TableService::begin(std::string cluster, Time at) {
  cluster_ = std::move(cluster);
  catalogue_.restored(at);
}

bool TableService::is_for_tables(rpc::MessageType type) { return type == kTableHeartbeat || type == kInSyncChange; }

/// Workers hear of what has changed when it is durable.
void TableService::publish(SharedResponder responder, std::function<void()> then) {
  publish_([this, responder = std::move(responder), then = std::move(then)](const Result<void>& written) {
    if (!written && responder) responder->fail(written.error());
    if (!written) return;
    for (const std::string& name : catalogue_.changed_workers())
      if (const auto node = nodes_.find(name); node != nodes_.end()) send_(node->second, kTableOrdersWait, {});
    if (then) then();
  });
}

void TableService::answer(TableReply reply, SharedResponder responder) {
  publish(responder, [reply = std::move(reply), responder] { responder->reply(encode(reply)); });
}

struct TableService::Operations {
  TableService& service;
  const SharedResponder responder;

  template <class T, class Answer>
  void answer(const Result<T>& done, Answer&& with) const {
    if (!done) return responder->fail(done.error());
    service.answer(with(*done), responder);
  }
  void answer(const Result<void>& done) const {
    if (!done) return responder->fail(done.error());
    service.answer(Done{}, responder);
  }

  void operator()(const MakeTable& it) const {
    answer(service.catalogue_.create(it.table, it.partitions, it.replication, it.token));
  }
  void operator()(const DropTable& it) const { answer(service.catalogue_.drop(it.table, it.id)); }
  void operator()(const ListTables&) const { service.answer(TableList{service.catalogue_.list()}, responder); }
  void operator()(const DescribeTable& it) const {
    answer(service.catalogue_.describe(it.table), [](const TableStatus& status) { return status; });
  }
  void operator()(const TakeSnapshot& it) const {
    service.barrier_.in_line(it.table, [&to = service, it, responder = responder](std::function<void()> finished) {
      to.make_snapshot(it, responder, std::move(finished));
    });
  }
  void operator()(const DropSnapshot& it) const { answer(service.catalogue_.drop_snapshot(it.table, "", it.id)); }
  void operator()(const RenewLease& it) const { answer(service.catalogue_.renew(it.table, it.id, steady_now())); }
  void operator()(const BeginTransaction& it) const {
    answer(service.catalogue_.begin(it.table, steady_now()), [](TransactionId id) { return BegunTransaction{id}; });
  }
  void operator()(const CommitTransaction& it) const {
    service.barrier_.in_line(it.table, [&to = service, it, responder = responder](std::function<void()> finished) {
      to.commit(it, responder, std::move(finished));
    });
  }
  void operator()(const AbortTransaction& it) const { answer(service.catalogue_.abort(it.table, it.id)); }
};

void TableService::on_client_request(const rpc::Message& message, rpc::Responder to) {
  const auto request = decode_table_request(message);
  if (!request) return to.fail(request.error());
  std::visit(Operations{*this, std::make_shared<rpc::Responder>(std::move(to))}, *request);
}

void TableService::on_worker_request(const WorkerSite& worker, const rpc::Message& message, rpc::Responder to) {
  const auto responder = std::make_shared<rpc::Responder>(std::move(to));
  if (message.type == kTableHeartbeat) {
    const auto heartbeat = rpc::decode_derived<TableHeartbeat>(message);
    if (!heartbeat) return responder->fail(heartbeat.error());
    return on_heartbeat(worker, *heartbeat, responder);
  }
  const auto change = rpc::decode_derived<InSyncChange>(message);
  if (!change) return responder->fail(change.error());
  TableOrders orders;
  Assignment assignment;
  const bool done = catalogue_.change_in_sync(worker.name, *change, assignment);
  if (!done) log_.debug("partition {}: worker {} no longer decides who is in sync", to_string(change->place), worker.name);
  if (assignment.revision > 0) orders.assignments.push_back(std::move(assignment));
  publish(responder, [orders = std::move(orders), responder] { responder->reply(rpc::encode_derived(orders)); });
}

void TableService::on_heartbeat(const WorkerSite& worker, const TableHeartbeat& heartbeat, SharedResponder responder) {
  TableOrders orders;
  if (!heartbeat.hello) {
    nodes_[worker.name] = worker.id;
    orders = catalogue_.heartbeat({worker.name, worker.host, worker.rack, heartbeat.address}, heartbeat, steady_now());
  }
  orders.cluster = cluster_;
  orders.name = worker.name;
  publish(responder, [orders = std::move(orders), responder] { responder->reply(rpc::encode_derived(orders)); });
}

void TableService::worker_lost(NodeId worker, Time at) {
  for (const auto& [name, id] : nodes_) {
    if (id != worker) continue;
    catalogue_.node_lost(name, at);
    nodes_.erase(name);
    return;
  }
}

void TableService::tick(Time at) {
  catalogue_.tick(at);
  resume_commits();
  publish({}, {});
}

void TableService::release(const std::string& name, std::uint64_t ticket) {
  const auto table = catalogue_.describe(name);
  if (!table || table->down_partitions > 0) {  // who takes over holds nothing
    if (table) barrier_.later([this, name, ticket] { release(name, ticket); });
    return;
  }
  barrier_.each(*table, Release{ticket}, [this, name, ticket](const Result<void>& released) {
    if (!released) barrier_.later([this, name, ticket] { release(name, ticket); });
  });
}

void TableService::give_up(const std::string& table, SnapshotId id, const Error& why, SharedResponder responder) {
  (void)catalogue_.drop_snapshot(table, "", id);
  publish(responder, [responder, why] { responder->fail(why); });
}

void TableService::make_snapshot(TakeSnapshot request, SharedResponder responder, std::function<void()> finished) {
  if (const auto before = catalogue_.made_before(request.table, request.token); before && *before != SnapshotId()) {
    answer(TakenSnapshot{*before}, responder);
    return finished();
  }
  auto table = catalogue_.describe(request.table);
  auto id = table ? catalogue_.begin_snapshot(request.table, request.name, request.token, unix_milliseconds(), steady_now())
                  : fail(table.error());
  if (!id) {
    responder->fail(id.error());
    return finished();
  }
  const std::uint64_t ticket = barrier_.ticket();
  const auto failed = [this, request, responder, finished, id = *id, ticket](const Error& why) {
    release(request.table, ticket);
    give_up(request.table, id, Error(why).wrap(fmt::format("cannot take a snapshot of '{}'", request.table)), responder);
    finished();
  };
  barrier_.each(*table, Hold{ticket, false},
                [this, request, responder, finished, failed, id = *id, table = *table, ticket](const Result<void>& held) {
                  if (!held) return failed(held.error());
                  barrier_.each(table, Mark{ticket, id},
                                [this, request, responder, finished, failed, id](const Result<void>& marked) {
                                  if (!marked) return failed(marked.error());
                                  if (auto made = catalogue_.complete_snapshot(request.table, id); !made)
                                    return failed(made.error());
                                  answer(TakenSnapshot{id}, responder);
                                  finished();
                                });
                });
}

void TableService::commit(CommitTransaction request, SharedResponder responder, std::function<void()> finished) {
  const auto fails = [responder, finished](const Error& why) {
    responder->fail(why);
    finished();
  };
  auto table = catalogue_.describe(request.table);
  if (!table) return fails(table.error());
  const std::uint64_t ticket = barrier_.ticket();
  const Time decisive = steady_now() + kHoldDecisive;
  barrier_.each(*table, Hold{ticket, true}, [this, request, responder, finished, fails, ticket, decisive](Result<void> held) {
    if (held && steady_now() > decisive) held = fail(Code::unavailable, "its partitions took too long to be held");
    const auto decided = held ? catalogue_.decide(request.table, request.commit) : fail(held.error());
    if (!decided) {
      release(request.table, ticket);
      return fails(Error(decided.error()).wrap(fmt::format("cannot commit what was written to '{}'", request.table)));
    }
    resuming_.insert(request.table);
    const auto done = [this, request, responder, finished, ticket] {
      (void)catalogue_.complete_commit(request.table, request.commit.id);
      resuming_.erase(request.table);
      publish(responder, [this, request, responder, ticket] {
        release(request.table, ticket);
        responder->reply(encode(TableReply(Done{})));
      });
      finished();
    };
    if (!*decided) return done();  // an earlier answer was lost
    publish(responder,
            [this, table = request.table, commit = request.commit, ticket, done] { carry_out(table, commit, ticket, done); });
  });
}

void TableService::carry_out(const std::string& name, const TableCommit& commit, std::uint64_t ticket, std::function<void()> done) {
  const auto table = catalogue_.describe(name);
  if (!table) return done();  // it was dropped
  barrier_.each(*table, Commit{ticket, commit}, [this, name, commit, ticket, done](const Result<void>& carried_out) {
    if (carried_out) return done();
    log_.debug("commit to '{}': {}", name, carried_out.error().to_string());
    barrier_.later([this, name, commit, ticket, done] { carry_out(name, commit, ticket, done); });
  });
}

/// What an earlier master decided. Its holds ended with it.
void TableService::resume_commits() {
  for (const auto& [table, commit] : catalogue_.decided()) {
    if (!resuming_.insert(table).second) continue;
    barrier_.in_line(table, [this, table = table, commit = commit](std::function<void()> finished) {
      carry_out(table, commit, 0, [this, table, id = commit.id, finished] {
        (void)catalogue_.complete_commit(table, id);
        resuming_.erase(table);
        publish({}, {});
        finished();
      });
    });
  }
}

}  // namespace weft::master
