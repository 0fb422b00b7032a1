#include "engine/master/table_service.hpp"

#include <chrono>

#include <fmt/format.h>

#include "base/clock.hpp"

namespace weft::master {
namespace {

using namespace storage;

Time now() { return std::chrono::duration_cast<Time>(SystemClock().now().time_since_epoch()); }

PartitionRequest request_of(PartitionOperation operation, std::uint64_t ticket, std::uint64_t token = 0) {
  PartitionRequest request;
  request.operation = operation;
  request.id = ticket, request.token = token;
  return request;
}

std::uint64_t token_of(const TableRequest& request) { return request.tokens.empty() ? 0 : request.tokens[0]; }

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

bool TableService::is_for_tables(rpc::MessageType type) { return type == kTableBeat || type == kInSyncChange; }

/// Workers hear of what has changed when it is durable.
void TableService::publish(SharedResponder responder, std::function<void()> then) {
  publish_([this, responder = std::move(responder), then = std::move(then)](const Result<void>& written) {
    if (!written && responder) responder->fail(written.error());
    if (!written) return;
    for (const std::string& name : catalogue_.news())
      if (const auto node = nodes_.find(name); node != nodes_.end()) send_(node->second, kTableNews, {});
    if (then) then();
  });
}

void TableService::answer(TableReply reply, SharedResponder responder) {
  publish(responder, [reply = std::move(reply), responder] { responder->reply(encode_table(reply)); });
}

void TableService::on_client_request(const rpc::Message& message, rpc::Responder to) {
  const auto request = decode_table_request(message);
  if (!request) return to.fail(request.error());
  const auto responder = std::make_shared<rpc::Responder>(std::move(to));
  if (request->operation == TableOperation::snapshot)
    return barrier_.in_line(request->table, [this, request = *request, responder](std::function<void()> finished) {
      make_snapshot(request, responder, std::move(finished));
    });
  if (request->operation == TableOperation::commit)
    return barrier_.in_line(request->table, [this, request = *request, responder](std::function<void()> finished) {
      commit(request, responder, std::move(finished));
    });
  TableReply reply;
  if (auto done = apply(*request, reply); !done) return responder->fail(done.error());
  answer(std::move(reply), responder);
}

Result<void> TableService::apply(const TableRequest& request, TableReply& reply) {
  switch (request.operation) {
    case TableOperation::create:
      return catalogue_.create(request.table, request.partitions, request.replication, token_of(request));
    case TableOperation::drop:
      return catalogue_.drop(request.table, TableId(request.id));
    case TableOperation::list:
      reply.tables = catalogue_.list();
      return {};
    case TableOperation::describe: {
      WEFT_ASSIGN(TableStatus table, catalogue_.describe(request.table));
      reply.tables.push_back(std::move(table));
      return {};
    }
    case TableOperation::drop_snapshot:
      return catalogue_.drop_snapshot(request.table, request.name, SnapshotId(request.id));
    case TableOperation::renew:
      return catalogue_.renew(request.table, request.id, now());
    case TableOperation::begin: {
      WEFT_ASSIGN(const TransactionId id, catalogue_.begin(request.table, now()));
      reply.id = id.value();
      return {};
    }
    case TableOperation::abort:
      return catalogue_.abort(request.table, TransactionId(request.id));
    default:
      return fail(Code::invalid_argument,
                  fmt::format("the master does not know the table operation {}", static_cast<unsigned>(request.operation)));
  }
}

void TableService::on_worker_request(const WorkerSite& worker, const rpc::Message& message, rpc::Responder to) {
  const auto responder = std::make_shared<rpc::Responder>(std::move(to));
  if (message.type == kTableBeat) {
    const auto beat = decode_table_beat(message);
    if (!beat) return responder->fail(beat.error());
    return on_beat(worker, *beat, responder);
  }
  const auto change = decode_in_sync_change(message);
  if (!change) return responder->fail(change.error());
  TableOrders orders;
  Assignment assignment;
  const bool done = catalogue_.change_in_sync(worker.name, *change, assignment);
  if (!done) log_.debug("partition {}: worker {} no longer decides who is in sync", to_string(change->place), worker.name);
  if (assignment.revision > 0) orders.assignments.push_back(std::move(assignment));
  publish(responder, [orders = std::move(orders), responder] { responder->reply(encode_table(orders)); });
}

void TableService::on_beat(const WorkerSite& worker, const TableBeat& beat, SharedResponder responder) {
  TableOrders orders;
  if (!beat.hello) {
    nodes_[worker.name] = worker.id;
    orders = catalogue_.beat({worker.name, worker.host, worker.rack, beat.address}, beat, now());
  }
  orders.cluster = cluster_;
  orders.name = worker.name;
  publish(responder, [orders = std::move(orders), responder] { responder->reply(encode_table(orders)); });
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
  barrier_.each(*table, request_of(PartitionOperation::release, ticket), [this, name, ticket](const Result<void>& released) {
    if (!released) barrier_.later([this, name, ticket] { release(name, ticket); });
  });
}

void TableService::give_up(const TableRequest& request, SnapshotId id, const Error& why, SharedResponder responder) {
  (void)catalogue_.drop_snapshot(request.table, "", id);
  publish(responder, [responder, why] { responder->fail(why); });
}

void TableService::make_snapshot(TableRequest request, SharedResponder responder, std::function<void()> finished) {
  if (const auto before = catalogue_.made_before(request.table, token_of(request)); before && *before != SnapshotId()) {
    TableReply reply;
    reply.id = before->value();
    answer(std::move(reply), responder);
    return finished();
  }
  auto table = catalogue_.describe(request.table);
  auto id = table ? catalogue_.begin_snapshot(request.table, request.name, token_of(request), unix_milliseconds(), now())
                  : fail(table.error());
  if (!id) {
    responder->fail(id.error());
    return finished();
  }
  const std::uint64_t ticket = barrier_.ticket();
  const auto failed = [this, request, responder, finished, id = *id, ticket](const Error& why) {
    release(request.table, ticket);
    give_up(request, id, Error(why).wrap(fmt::format("cannot take a snapshot of '{}'", request.table)), responder);
    finished();
  };
  barrier_.each(*table, request_of(PartitionOperation::hold, ticket),
                [this, request, responder, finished, failed, id = *id, table = *table, ticket](const Result<void>& held) {
                  if (!held) return failed(held.error());
                  barrier_.each(table, request_of(PartitionOperation::mark, ticket, id.value()),
                                [this, request, responder, finished, failed, id](const Result<void>& marked) {
                                  if (!marked) return failed(marked.error());
                                  if (auto made = catalogue_.complete_snapshot(request.table, id); !made)
                                    return failed(made.error());
                                  TableReply reply;
                                  reply.id = id.value();
                                  answer(std::move(reply), responder);
                                  finished();
                                });
                });
}

void TableService::commit(TableRequest request, SharedResponder responder, std::function<void()> finished) {
  const auto fails = [responder, finished](const Error& why) {
    responder->fail(why);
    finished();
  };
  auto table = catalogue_.describe(request.table);
  if (!table) return fails(table.error());
  const std::uint64_t ticket = barrier_.ticket();
  PartitionRequest hold = request_of(PartitionOperation::hold, ticket);
  hold.more = true;
  const Time decisive = now() + kHoldDecisive;
  barrier_.each(*table, hold, [this, request, responder, finished, fails, ticket, decisive](Result<void> held) {
    if (held && now() > decisive) held = fail(Code::unavailable, "its partitions took too long to be held");
    const TableCommit commit{TransactionId(request.id), request.tokens};
    const auto decided = held ? catalogue_.decide(request.table, commit) : fail(held.error());
    if (!decided) {
      release(request.table, ticket);
      return fails(Error(decided.error()).wrap(fmt::format("cannot commit what was written to '{}'", request.table)));
    }
    resuming_.insert(request.table);
    const auto done = [this, request, responder, finished, ticket] {
      (void)catalogue_.complete_commit(request.table, TransactionId(request.id));
      resuming_.erase(request.table);
      publish(responder, [this, request, responder, ticket] {
        release(request.table, ticket);
        responder->reply(encode_table(TableReply{}));
      });
      finished();
    };
    if (!*decided) return done();  // an earlier answer was lost
    publish(responder, [this, table = request.table, commit, ticket, done] { carry_out(table, commit, ticket, done); });
  });
}

void TableService::carry_out(const std::string& name, const TableCommit& commit, std::uint64_t ticket, std::function<void()> done) {
  const auto table = catalogue_.describe(name);
  if (!table) return done();  // it was dropped
  PartitionRequest request = request_of(PartitionOperation::commit, ticket, commit.id.value());
  request.tokens = commit.tokens;
  barrier_.each(*table, request, [this, name, commit, ticket, done](const Result<void>& carried_out) {
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
