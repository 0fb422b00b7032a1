#include "engine/master/server/worker_losses.hpp"

#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/core.h>

namespace weft::master {
namespace {

std::string_view host_of(std::string_view peer) { return peer.substr(0, peer.rfind(':')); }

std::string signal_name(int number) {
  const char* name = ::sigabbrev_np(number);
  return name != nullptr ? fmt::format("SIG{}", name) : fmt::format("signal {}", number);
}

}  // namespace

void WorkerLosses::expel(NodeId id, const std::string& why) {
  const rpc::ConnectionPtr connection = context_.table.at(id).connection;
  connection->context = nullptr;
  forget(id, why);
  connection->close();
}

void WorkerLosses::forget(NodeId id, const std::string& why) {
  const auto lost = context_.shell.apply(WorkerLost{id, why});
  // The core may have given it up before; it may have said something since.
  if (!lost && context_.storage) context_.storage->worker_lost(id);
  capacities_.left(id);
  context_.table.erase(id);
}

bool WorkerLosses::on_close(const rpc::ConnectionPtr& connection, const Error& error) {
  const auto id = context_.table.on(connection);
  const bool registering = connection->context != nullptr;
  connection->context = nullptr;
  if (!id) return registering;
  const RegisteredWorker& worker = context_.table.at(*id);
  std::string why = error.code() == Code::cancelled ? std::string(kWorkerLeft) : error.to_string();
  if (worker.dying_of != 0) why = signal_name(worker.dying_of);
  forget(*id, why);
  return true;
}

/// What a worker's handler of a fatal signal says, on a connection that is not the worker's: believed when it comes from its
/// machine, and only as the reason when the worker's own connection is gone.
Result<void> WorkerLosses::on_dying(const rpc::ConnectionPtr& connection, const rpc::Message& message) {
  WEFT_TRY(connection->protocol());
  WEFT_ASSIGN(const protocol::Dying dying, protocol::decode<protocol::Dying>(message));
  RegisteredWorker* const worker = context_.table.find(dying.node);
  if (worker == nullptr || host_of(worker->connection->peer()) != host_of(connection->peer()))
    return fail(Code::invalid_argument, fmt::format("there is no node {} that could be dying", dying.node.value()));
  worker->dying_of = dying.signal;
  return {};
}

/// A worker that is only silent stays in the list until its connection ends. The refusal of the next thing it says tells it.
void WorkerLosses::note(const NodeLost& lost, const RegisteredWorker& worker) {
  const protocol::Register& info = worker.info;
  if (lost.reason == kWorkerLeft) return log_.info("worker {} is gone: {}", info.name, lost.reason);
  if (worker.dying_of != 0)
    log_.error("worker {} died: {}; the end of its log on {} says where", info.name, lost.reason, info.host);
  else
    log_.warn("worker {} is gone: {}", info.name, lost.reason);
  const auto alarm = lost_.add({lost.node, info.name, info.host, info.rack, info.data_address, lost.reason, context_.shell.now()});
  if (alarm) log_.error("ALARM: worker {}: {}", info.name, *alarm);
}

void WorkerLosses::carry_out(NodeLost& lost) {
  if (auto away = context_.away.extract(lost.node); !away.empty()) {
    context_.table.wait_for_others(!context_.away.empty());
    const NodeFact& gone = away.mapped();
    log_.warn("worker {} is gone: {}", gone.name, lost.reason);
    (void)lost_.add({lost.node, gone.name, gone.host, gone.rack, gone.data_address, lost.reason, context_.shell.now()});
    lost.address = gone.data_address;
  } else if (const RegisteredWorker* const worker = context_.table.find(lost.node)) {
    note(lost, *worker);
    if (context_.storage) context_.storage->worker_lost(lost.node);
    lost.address = worker->info.data_address;
  } else {
    return;
  }
  for (const auto& [id, worker] : context_.table.all())
    if (id != lost.node) context_.table.send(id, lost);
}

}  // namespace weft::master
