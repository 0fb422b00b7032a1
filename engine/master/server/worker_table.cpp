#include "engine/master/server/worker_table.hpp"

#include <chrono>
#include <iterator>
#include <utility>

#include "runtime/protocol/command_size.hpp"
#include "shuffle/transfer/job_keys.hpp"

namespace weft::master {

namespace {

constexpr Duration kTaken = std::chrono::seconds(60);  // for a worker to have a message; then the next is sent all the same

}  // namespace

RegisteredWorker* WorkerTable::find(NodeId id) {
  const auto found = workers_.find(id);
  return found == workers_.end() ? nullptr : &found->second;
}

RegisteredWorker& WorkerTable::add(NodeId id, const rpc::ConnectionPtr& connection) {
  RegisteredWorker& worker = workers_[id];
  worker.connection = connection;
  worker.protocol = connection->protocol().value_or(0);
  ++protocols_[worker.protocol];
  if (!settle_lowest() && !waits_ && lowest_ < rpc::kProtocols.highest) send_lowest(id, worker);
  return worker;
}

void WorkerTable::erase(NodeId id) {
  const auto gone = workers_.extract(id);
  if (gone.empty()) return;
  const auto count = protocols_.find(gone.mapped().protocol);
  if (--count->second == 0) protocols_.erase(count);
  settle_lowest();
}

void WorkerTable::wait_for_others(bool waits) {
  if (std::exchange(waits_, waits) && !waits) send_lowest();
}

void WorkerTable::send_lowest(NodeId id, const RegisteredWorker& worker) {
  if (worker.protocol >= shuffle::kKeysSince) send(id, protocol::LowestProtocol{lowest_});
}

void WorkerTable::send_lowest() {
  for (const auto& [id, worker] : workers_) send_lowest(id, worker);
}

bool WorkerTable::settle_lowest() {
  const rpc::Protocol lowest = protocols_.empty() ? rpc::kProtocols.highest : protocols_.begin()->first;
  if (std::exchange(lowest_, lowest) == lowest) return false;
  if (!waits_) send_lowest();
  return true;
}

void WorkerTable::send_key(NodeId id, JobId job, std::uint64_t key) {
  const RegisteredWorker* const worker = find(id);
  if (worker != nullptr && worker->protocol >= shuffle::kKeysSince) send(id, protocol::JobKey{job, key});
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
  if (worker->outbox.empty()) return;
  notify(id, protocol::kCommands, protocol::encode(protocol::Commands{take_some(worker->outbox)}));
  if (worker->outbox.empty()) return;
  worker->flush_posted = true;
  worker->connection->request(protocol::kPresence, {}, kTaken, [this, id](const Result<rpc::Message>&) { flush(id); });
}

std::vector<protocol::Command> WorkerTable::take_some(std::vector<protocol::Command>& outbox) const {
  std::size_t header = 0, bulk = 0;
  auto end = outbox.begin();
  for (; end != outbox.end(); ++end) {
    const protocol::CommandSize size = protocol::size_of(*end);
    header += size.header, bulk += size.bulk;
    if (end != outbox.begin() && (header > most_.header || bulk > most_.bulk)) break;
  }
  if (end == outbox.end()) return std::exchange(outbox, {});
  std::vector<protocol::Command> some(std::make_move_iterator(outbox.begin()), std::make_move_iterator(end));
  outbox.erase(outbox.begin(), end);
  return some;
}

}  // namespace weft::master
