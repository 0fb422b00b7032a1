#include "engine/master/storage/table_service.hpp"

#include "base/unguessable.hpp"
#include "engine/master/storage/audited.hpp"
#include "engine/master/storage/storage_time.hpp"

namespace weft::master {
namespace {

using namespace storage;
using namespace storage::tables;

Actor actor_of(const Caller& caller) { return {caller.user, caller.administrator}; }

TableKeys new_keys() { return {unguessable_number(), unguessable_number()}; }

struct AuditOfTable {
  Audited operator()(const MakeTable& it) const { return {"make table", it.table}; }
  Audited operator()(const DropTable& it) const { return {"drop table", it.table}; }
  Audited operator()(const ListTables&) const { return {"list tables", "", "", false}; }
  Audited operator()(const DescribeTable& it) const { return {"open table", it.table}; }
  Audited operator()(const TakeSnapshot& it) const { return {"take snapshot", it.table, it.name}; }
  Audited operator()(const DropSnapshot& it) const { return {"drop snapshot", it.table}; }
  Audited operator()(const RenewLease& it) const { return {"open table", it.table, "", false}; }
  Audited operator()(const BeginTransaction& it) const { return {"write table", it.table}; }
  Audited operator()(const CommitTransaction& it) const { return {"commit to table", it.table}; }
  Audited operator()(const AbortTransaction& it) const { return {"write table", it.table, "", false}; }
  Audited operator()(const PromoteRemaining& it) const { return {"promote replicas", it.table, "", it.accept_loss}; }
  Audited operator()(const SetTableMode& it) const { return {"change mode", it.table}; }
  Audited operator()(const SetTableOwner& it) const { return {"change owner", it.table, it.user}; }
};

}  // namespace

TableService::TableService(const StorageShell& shell, Time lost_grace, std::function<void(Published)> publish,
                           std::function<std::optional<Error>()> full)
    : send_(shell.send),
      audit_(shell.audit),
      publish_(std::move(publish)),
      full_(std::move(full)),
      catalogue_(CatalogueOptions{.lost_grace = lost_grace}),
      peers_(shell.reactor),
      coordinator_({shell.reactor, catalogue_,
                    [this](const std::string& address, const PartitionRequest& request, Duration deadline,
                           PartitionPeers::Answer answer) { peers_.ask(address, request, deadline, std::move(answer)); },
                    steady_now, [this](Published then) { this->publish(std::move(then)); }}) {}

void TableService::begin(std::string cluster, Time at) {
  cluster_ = std::move(cluster);
  catalogue_.restored(at);
}

bool TableService::is_for_tables(rpc::MessageType type) { return type == kTableHeartbeat || type == kInSyncChange; }

/// Workers get changed orders when the change is durable.
void TableService::publish(Published then) {
  publish_([this, then = std::move(then)](const Result<void>& written) {
    if (written)
      for (const std::string& name : catalogue_.changed_workers())
        if (const auto node = nodes_.find(name); node != nodes_.end()) send_(node->second, kTableOrdersWait, {});
    then(written);
  });
}

void TableService::publish(SharedResponder responder, std::function<void()> then) {
  publish([responder = std::move(responder), then = std::move(then)](const Result<void>& written) {
    written ? then() : responder->fail(written.error());
  });
}

void TableService::answer(TableReply reply, SharedResponder responder) {
  publish(responder, [reply = std::move(reply), responder] { responder->reply(encode(reply)); });
}

struct TableService::Operations {
  TableService& service;
  const Caller& caller;
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
    answer(service.catalogue_.create(it.table, it.partitions, it.replication, it.token, {caller.user, kTableMode, new_keys()}));
  }
  void operator()(const DropTable& it) const { answer(service.catalogue_.drop(it.table, it.id)); }
  void operator()(const ListTables&) const { service.answer(TableList{service.catalogue_.list()}, responder); }
  void operator()(const DescribeTable& it) const {
    answer(service.catalogue_.describe(it.table, actor_of(caller)), [](const TableStatus& status) { return status; });
  }
  void operator()(const TakeSnapshot& it) const {
    service.coordinator_.take_snapshot(it, unix_milliseconds(), [to = responder](const Result<SnapshotId>& id) {
      id ? to->reply(encode(TableReply(TakenSnapshot{*id}))) : to->fail(id.error());
    });
  }
  void operator()(const DropSnapshot& it) const { answer(service.catalogue_.drop_snapshot(it.table, "", it.id)); }
  void operator()(const RenewLease& it) const { answer(service.catalogue_.renew(it.table, it.id, steady_now())); }
  void operator()(const BeginTransaction& it) const {
    answer(service.catalogue_.begin(it.table, steady_now()), [](TransactionId id) { return BegunTransaction{id}; });
  }
  void operator()(const CommitTransaction& it) const {
    service.coordinator_.commit(
        it, [to = responder](const Result<void>& done) { done ? to->reply(encode(TableReply(Done{}))) : to->fail(done.error()); });
  }
  void operator()(const PromoteRemaining& it) const {
    answer(service.catalogue_.promote_remaining(it.table, it.accept_loss, steady_now()),
           [](const RemainingReplicas& replicas) { return replicas; });
  }
  /// Also that it is decided is known to nobody before it is durable.
  void operator()(const AbortTransaction& it) const {
    const auto aborted = service.catalogue_.abort(it.table, it.id);
    service.publish(responder,
                    [aborted, to = responder] { aborted ? to->reply(encode(TableReply(Done{}))) : to->fail(aborted.error()); });
  }
  void operator()(const SetTableMode& it) const { answer(service.catalogue_.set_mode(it.table, it.mode, new_keys())); }
  void operator()(const SetTableOwner& it) const { answer(service.catalogue_.set_owner(it.table, it.user, new_keys())); }
};

/// Each operation has a line here, so that a new one does not compile without.
struct TableService::MayDo {
  const Caller& caller;
  const TableCatalogue& catalogue;
  const Actor actor = actor_of(caller);

  Result<void> read(const std::string& table) const { return catalogue.may(actor, table, TableRight::read); }
  Result<void> write(const std::string& table) const { return catalogue.may(actor, table, TableRight::write); }
  Result<void> either(const std::string& table) const { return write(table) ? Result<void>() : read(table); }

  Result<void> operator()(const MakeTable&) const { return {}; }
  Result<void> operator()(const DropTable& it) const { return catalogue.may_own(actor, it.table, "drop"); }
  Result<void> operator()(const ListTables&) const { return {}; }
  Result<void> operator()(const DescribeTable& it) const { return either(it.table); }
  Result<void> operator()(const TakeSnapshot& it) const { return it.name.empty() ? read(it.table) : write(it.table); }
  Result<void> operator()(const DropSnapshot& it) const {
    return catalogue.is_named(it.table, it.id) ? write(it.table) : read(it.table);
  }
  Result<void> operator()(const RenewLease& it) const { return either(it.table); }
  Result<void> operator()(const BeginTransaction& it) const { return write(it.table); }
  Result<void> operator()(const CommitTransaction& it) const { return write(it.table); }
  Result<void> operator()(const AbortTransaction& it) const { return write(it.table); }
  Result<void> operator()(const PromoteRemaining& it) const { return catalogue.may_own(actor, it.table, "promote replicas of"); }
  Result<void> operator()(const SetTableMode& it) const { return catalogue.may_own(actor, it.table, "change the mode of"); }
  Result<void> operator()(const SetTableOwner&) const { return caller.must_administer("give tables to another user"); }
};

/// The answer to what changes nothing.
std::optional<Result<TableReply>> TableService::question(const Caller& caller, const TableRequest& request) const {
  if (std::holds_alternative<ListTables>(request)) return TableReply(TableList{catalogue_.list()});
  const auto* describe = std::get_if<DescribeTable>(&request);
  if (describe == nullptr) return std::nullopt;
  auto status = catalogue_.describe(describe->table, actor_of(caller));
  return status ? Result<TableReply>(TableReply(std::move(*status))) : fail(std::move(status).error());
}

void TableService::on_client_request(const Caller& caller, const rpc::Message& message, rpc::Responder to) {
  const auto request = decode_table_request(message);
  if (!request) return to.fail(request.error());
  const auto allowed = std::visit(MayDo{caller, catalogue_}, *request);
  note(audit_, caller, std::visit(AuditOfTable{}, *request), allowed ? nullptr : &allowed.error());
  if (!allowed) return to.fail(allowed.error());
  if (const auto full = full_()) {
    const auto reply = question(caller, *request);
    return !reply ? to.fail(*full) : *reply ? to.reply(encode(**reply)) : to.fail(reply->error());
  }
  std::visit(Operations{*this, caller, std::make_shared<rpc::Responder>(std::move(to))}, *request);
}

void TableService::on_worker_request(const WorkerSite& worker, const rpc::Message& message, rpc::Responder to) {
  const auto responder = std::make_shared<rpc::Responder>(std::move(to));
  if (message.type == kTableHeartbeat) {
    const auto heartbeat = storage::tables::decode<TableHeartbeat>(message);
    if (!heartbeat) return responder->fail(heartbeat.error());
    return on_heartbeat(worker, *heartbeat, responder);
  }
  const auto change = storage::tables::decode<InSyncChange>(message);
  if (!change) return responder->fail(change.error());
  TableOrders orders;
  Assignment assignment;
  const bool done = catalogue_.change_in_sync(worker.name, *change, assignment);
  if (!done) log_.debug("partition {}: worker {} no longer decides who is in sync", to_string(change->place), worker.name);
  if (assignment.revision > 0) orders.assignments.push_back(std::move(assignment));
  publish(responder, [orders = std::move(orders), responder] { responder->reply(encode(orders)); });
}

void TableService::on_heartbeat(const WorkerSite& worker, const TableHeartbeat& heartbeat, SharedResponder responder) {
  TableOrders orders;
  if (!heartbeat.hello) {
    nodes_[worker.name] = worker.id;
    orders = catalogue_.heartbeat({worker.name, worker.host, worker.rack, heartbeat.address}, heartbeat, steady_now());
  }
  orders.cluster = cluster_;
  orders.name = worker.name;
  if (full_()) {  // what is not written down may be another's tomorrow
    orders.assignments.clear();
    orders.erase.clear();
    orders.withheld = true;
    return responder->reply(encode(orders));
  }
  publish(responder, [orders = std::move(orders), responder] { responder->reply(encode(orders)); });
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
  coordinator_.resume_commits();
  publish([](const Result<void>&) {});
}

}  // namespace weft::master
