#include "engine/master/server/node_reports.hpp"

#include <algorithm>
#include <vector>

namespace weft::master {
namespace {

void add_core(const Core& core, Time now, const schedulers::NodeInfo& info, client::NodeStatus& status) {
  status.running = static_cast<std::uint32_t>(info.running.size());
  status.excluded = info.excluded_until.has_value();
  if (status.excluded) {
    status.cause = core.why_excluded(status.id);
    status.excluded_for = std::max(*info.excluded_until - now, Duration(0));
  }
  status.capacity = info.capacity;
  status.used = info.used;
  status.measured = {info.measured, info.machine_measured, info.cross_rack};
  status.attributes = info.attributes;
  const schedulers::RackInfo& rack = *core.view().rack(info.rack);
  status.rack = rack.name;
  status.standing = {info.nominal, info.capacity_why, info.speed, rack.uplink, rack.most_cross_rack, info.leaving};
}

client::NodeStatus status_of(const WorkerContext& context, NodeId id, const RegisteredWorker& worker) {
  client::NodeStatus status;
  status.id = id;
  status.name = worker.info.name;
  status.host = worker.info.host;
  status.address = worker.info.data_address;
  status.slots = worker.info.slots;
  status.heard = context.shell.now() - worker.heard;
  status.clock_ahead = worker.clock.ahead();
  status.store_memory_bytes = worker.heartbeat.store_memory_bytes;
  status.store_disk_bytes = worker.heartbeat.store_disk_bytes;
  status.prefetch_memory_bytes = worker.heartbeat.prefetch_memory_bytes;
  status.prefetch_file_bytes = worker.heartbeat.prefetch_file_bytes;
  status.prefetch = worker.heartbeat.prefetch;
  if (const schedulers::NodeInfo* const info = context.shell.core().view().node(id)) {
    add_core(context.shell.core(), context.shell.now(), *info, status);
  } else {
    status.lost = true;
    status.rack = worker.info.rack;
    status.attributes = worker.info.attributes;
  }
  return status;
}

/// It was there with the last master, and has not come back yet.
client::NodeStatus status_of(const WorkerContext& context, const NodeFact& away) {
  client::NodeStatus status;
  status.id = away.node;
  status.name = away.name;
  status.host = away.host;
  status.rack = away.rack;
  status.address = away.data_address;
  status.lost = true;
  status.cause = "it has not come back since the master was started again";
  if (const schedulers::NodeInfo* const info = context.shell.core().view().node(away.node)) {
    status.heard = context.shell.now() - info->last_heard;
    status.capacity = info->capacity;
    status.standing.nominal = info->nominal;
    status.attributes = info->attributes;
  }
  return status;
}

client::NodeStatus status_of(const LostWorker& lost, Time now) {
  client::NodeStatus status;
  status.id = lost.node;
  status.name = lost.name;
  status.host = lost.host;
  status.rack = lost.rack;
  status.address = lost.address;
  status.dead = true;
  status.cause = lost.reason;
  status.heard = now - lost.at;
  return status;
}

}  // namespace

client::NodeList node_list(Workers& workers) {
  client::NodeList list;
  for (const auto& [id, worker] : workers.context.table.all()) list.nodes.push_back(status_of(workers.context, id, worker));
  for (const auto& [id, away] : workers.context.away) list.nodes.push_back(status_of(workers.context, away));
  for (const LostWorker& lost : workers.losses.recent()) {
    const auto silent = std::find_if(list.nodes.begin(), list.nodes.end(), [&](const auto& node) { return node.id == lost.node; });
    if (silent != list.nodes.end()) {
      silent->cause = lost.reason;  // its connection is still there
    } else {
      list.nodes.push_back(status_of(lost, workers.context.shell.now()));
    }
  }
  return list;
}

}  // namespace weft::master
