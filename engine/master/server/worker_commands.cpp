// What workers are told: the core's commands, and what a worker has to know before it can carry them out.
#include <utility>

#include "engine/master/server/worker_connections.hpp"
#include "engine/master/storage/storage_service.hpp"

namespace weft::master {

/// The node, after it was sent what it needs to start executors of the job.
WorkerConnections::Node* WorkerConnections::prepared(NodeId id, JobId job_id) {
  const auto found = nodes_.find(id);
  const auto job = parts_.jobs.find(job_id);
  if (found == nodes_.end() || job == parts_.jobs.end()) return nullptr;
  Node& node = found->second;
  if (!node.prepared.insert(job_id).second) return &node;
  const client::Submit& submit = job->second.submit;
  send(id, protocol::JobSetup{job_id, submit.name, submit.program, submit.arguments, submit.directory, submit.memory_bytes,
                              submit.same_binary, submit.binary, submit.options.demand.cpu > 0 ? submit.options.demand.cpu : 1,
                              submit.options.user, submit.options.shuffle_mode.value_or(shuffle::Mode::memory)});
  for (const auto& [action, value] : job->second.values) send(id, protocol::ActionValue{job_id, action, value});
  return &node;
}

void WorkerConnections::send_value(JobId job, ActionId action, const SharedBytes& value) {
  for (const auto& [id, node] : nodes_)
    if (node.prepared.contains(job)) send(id, protocol::ActionValue{job, action, value});
}

void WorkerConnections::notify(NodeId id, rpc::MessageType type, rpc::Payload payload) const {
  if (const auto node = nodes_.find(id); node != nodes_.end()) node->second.connection->notify(type, std::move(payload));
}

/// Nothing when the node is gone.
void WorkerConnections::send(NodeId id, protocol::Command command) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) return;
  found->second.outbox.push_back(std::move(command));
  if (std::exchange(found->second.flush_posted, true)) return;
  parts_.reactor.post([this, id] { flush(id); });
}

void WorkerConnections::flush(NodeId id) {
  const auto node = nodes_.find(id);
  if (node == nodes_.end()) return;
  node->second.flush_posted = false;
  notify(id, protocol::kCommands, protocol::encode(protocol::Commands{std::exchange(node->second.outbox, {})}));
}

protocol::NodeAddress WorkerConnections::address_of(NodeId id, const Node& node) const {
  return {id, node.info.name, node.info.data_address, node.info.rack};
}

std::vector<protocol::NodeAddress> WorkerConnections::holders_of(const std::vector<shuffle::MapOutput>& outputs) const {
  std::set<NodeId> ids;
  for (const shuffle::MapOutput& output : outputs) ids.insert(output.node);
  std::vector<protocol::NodeAddress> holders;
  for (NodeId id : ids)
    if (const auto holder = nodes_.find(id); holder != nodes_.end()) holders.push_back(address_of(id, holder->second));
  return holders;
}

void WorkerConnections::carry_out(LaunchTask& launch) {
  if (prepared(launch.node, launch.attempt.task.job) == nullptr) return;
  send(launch.node, protocol::Launch{launch.attempt, std::move(launch.spec), launch.timeout, std::move(launch.stage_name)});
}

void WorkerConnections::carry_out(KillTask& kill) { send(kill.node, std::move(kill)); }

void WorkerConnections::carry_out(ShuffleLocations& table) {
  if (prepared(table.node, table.job) == nullptr) return;
  table.holders = holders_of(*table.outputs);
  send(table.node, std::move(table));
}

void WorkerConnections::carry_out(ShuffleExtended& more) {
  more.holders = holders_of({more.output});
  send(more.node, std::move(more));
}

void WorkerConnections::carry_out(PrefetchShuffle& prefetch) {
  if (prepared(prefetch.node, prefetch.job) == nullptr) return;
  prefetch.holders = holders_of(prefetch.outputs);
  send(prefetch.node, std::move(prefetch));
}

void WorkerConnections::carry_out(ReplicateOutput& copy) {
  const Node* const node = prepared(copy.node, copy.job);
  const auto source = nodes_.find(copy.output.node);
  if (node == nullptr || source == nodes_.end()) return;  // the core is about to hear of it
  copy.source = address_of(source->first, source->second);
  send(copy.node, std::move(copy));
}

void WorkerConnections::carry_out(ReleaseShuffle& release) { send(release.node, release); }

void WorkerConnections::carry_out(ReleaseJob& release) {
  const auto node = nodes_.find(release.node);
  if (node != nodes_.end() && node->second.prepared.erase(release.job) != 0) send(release.node, release);
}

/// A worker that is only silent stays in the list until its connection ends. The refusal of the next thing it says tells it.
void WorkerConnections::note_loss(const NodeLost& lost, const Node& node) {
  const protocol::Register& info = node.info;
  if (lost.reason == kWorkerLeft) return log_.info("worker {} is gone: {}", info.name, lost.reason);
  if (node.dying_of != 0)
    log_.error("worker {} died: {}; the end of its log on {} says where", info.name, lost.reason, info.host);
  else
    log_.warn("worker {} is gone: {}", info.name, lost.reason);
  const auto alarm = lost_.add({lost.node, info.name, info.host, info.rack, info.data_address, lost.reason, parts_.shell.now()});
  if (alarm) log_.error("ALARM: worker {}: {}", info.name, *alarm);
}

void WorkerConnections::carry_out(NodeLost& lost) {
  const auto gone = nodes_.find(lost.node);
  if (gone == nodes_.end()) return;
  note_loss(lost, gone->second);
  if (parts_.storage) parts_.storage->worker_lost(lost.node);
  lost.address = gone->second.info.data_address;
  for (const auto& [id, node] : nodes_)
    if (id != lost.node) send(id, lost);
}

}  // namespace weft::master
