#include "engine/master/server/worker_table.hpp"

#include <utility>

namespace weft::master {

RegisteredWorker* WorkerTable::find(NodeId id) {
  const auto found = workers_.find(id);
  return found == workers_.end() ? nullptr : &found->second;
}

std::optional<NodeId> WorkerTable::on(const rpc::ConnectionPtr& connection) const {
  const auto tag = WorkerTag::of(connection);
  return tag && tag->node && workers_.contains(*tag->node) ? tag->node : std::nullopt;
}

void WorkerTable::notify(NodeId id, rpc::MessageType type, rpc::Payload payload) const {
  if (const auto worker = workers_.find(id); worker != workers_.end()) worker->second.connection->notify(type, std::move(payload));
}

void WorkerTable::send(NodeId id, protocol::Command command) {
  RegisteredWorker* const worker = find(id);
  if (worker == nullptr) return;
  worker->outbox.push_back(std::move(command));
  if (std::exchange(worker->flush_posted, true)) return;
  reactor_.post([this, id] { flush(id); });
}

void WorkerTable::flush(NodeId id) {
  RegisteredWorker* const worker = find(id);
  if (worker == nullptr) return;
  worker->flush_posted = false;
  notify(id, protocol::kCommands, protocol::encode(protocol::Commands{std::exchange(worker->outbox, {})}));
}

}  // namespace weft::master
