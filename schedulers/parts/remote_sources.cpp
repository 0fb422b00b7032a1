#include "schedulers/parts/remote_sources.hpp"

#include <algorithm>
#include <utility>

namespace weft::schedulers {

namespace {

Resources amounts_of(const RemoteSources::Draw& draw) { return {.disk_read = draw.disk_read, .network_out = draw.network_out}; }

/// At most the node's capacity.
RemoteSources::Draw draw_of(const NodeInfo& node, const Resources& demand, double part) {
  const auto most = [](double wanted, double capacity) { return capacity > 0 ? std::min(wanted, capacity) : 0; };
  return {node.id, most(demand.network_in * part, node.capacity.network_out),
          most(demand.disk_read * part, node.capacity.disk_read)};
}

}  // namespace

Home home_of(const JobInfo& job, const StageInfo& stage) {
  Home home;
  for (const StageId id : stage.parents) {
    const StageInfo* parent = job.stage(id);
    if (parent == nullptr || parent->output.total_bytes() == 0) continue;
    const auto& nodes = parent->output.by_node();
    const NodeId first = nodes.empty() ? NodeId() : nodes.begin()->first;
    const bool one = nodes.size() == 1 && (!home.some || home.node == first);
    home = {true, one ? std::optional(first) : std::nullopt};
  }
  return home;
}

Resources RemoteSources::used(const NodeInfo& node) const {
  const auto drawn = drawn_.find(node.id);
  return drawn == drawn_.end() ? node.used : node.used + drawn->second.amounts;
}

bool RemoteSources::can_give(const NodeInfo& node, const Draw& draw) const {
  return fits(amounts_of(draw), used(node), node.capacity);
}

/// A draw from the node with the most free network of those that hold the task's input. Nothing: none can give it. An empty draw:
/// no node is known to hold the input.
std::optional<RemoteSources::Draw> RemoteSources::replica(const ClusterView& view, const StageInfo& stage,
                                                          std::uint32_t task) const {
  std::optional<Draw> best;
  double most = 0;
  bool known = false;
  for (const HostId host : stage.pending.hosts(task)) {
    const auto found = view.hosts().find(host);
    if (found == view.hosts().end()) continue;
    for (const NodeId id : found->second) {
      known = true;
      const NodeInfo& node = *view.node(id);
      const Draw draw = draw_of(node, stage.demand, 1);
      const double free = node.capacity.network_out - used(node).network_out;
      if (can_give(node, draw) && (!best || free > most)) best = draw, most = free;
    }
  }
  return known ? best : Draw{};
}

std::optional<RemoteSources::Draws> RemoteSources::draws(const ClusterView& view, const JobInfo& job, const StageInfo& stage,
                                                         std::uint32_t task, const NodeInfo& at) const {
  Draws all;
  if (!accounted_ || (stage.demand.network_in <= 0 && stage.demand.disk_read <= 0)) return all;
  const auto hosts = stage.pending.hosts(task);
  if (!hosts.empty() && std::find(hosts.begin(), hosts.end(), at.host) == hosts.end()) {
    const auto source = replica(view, stage, task);
    if (!source) return std::nullopt;
    all.push_back(*source);
  }
  double bytes = 0;
  std::map<NodeId, double> held;  // of all that its parents wrote
  for (const StageId id : stage.parents) {
    const StageInfo* parent = job.stage(id);
    if (parent == nullptr) continue;
    bytes += static_cast<double>(parent->output.total_bytes());
    for (const auto& [node, there] : parent->output.by_node()) held[node] += static_cast<double>(there.total());
  }
  for (const auto& [id, amount] : held) {
    const NodeInfo* node = view.node(id);
    if (node == nullptr || node->host == at.host || amount <= 0) continue;
    const Draw draw = draw_of(*node, stage.demand, amount / bytes);
    if (!can_give(*node, draw)) return std::nullopt;
    all.push_back(draw);
  }
  std::erase_if(all, [](const Draw& draw) { return draw.network_out <= 0 && draw.disk_read <= 0; });
  return all;
}

void RemoteSources::charge(const TaskId& task, NodeId at, Draws draws) {
  if (draws.empty()) return;
  if (const auto before = charges_.find(task); before != charges_.end()) release(before);
  for (const Draw& draw : draws) {
    Drawn& drawn = drawn_[draw.node];
    drawn.amounts += amounts_of(draw);
    ++drawn.tasks;
  }
  charges_[task] = {at, std::move(draws)};
}

RemoteSources::Charges::iterator RemoteSources::release(Charges::iterator charge) {
  for (const Draw& draw : charge->second.draws) {
    const auto drawn = drawn_.find(draw.node);
    if (drawn == drawn_.end()) continue;  // the node has left
    drawn->second.amounts -= amounts_of(draw);
    if (--drawn->second.tasks == 0) drawn_.erase(drawn);  // no drift of sums of fractions
  }
  return charges_.erase(charge);
}

void RemoteSources::on_event(const Notice& notice) {
  using Kind = Notice::Kind;
  if (charges_.empty()) return;
  if (notice.kind == Kind::task_finished || notice.kind == Kind::task_failed || notice.kind == Kind::task_preempted) {
    const auto charge = charges_.find({notice.job, notice.stage, notice.task});
    if (charge != charges_.end()) release(charge);
  } else if (notice.kind == Kind::job_ended) {
    auto charge = charges_.lower_bound({notice.job, StageId(0), 0});
    while (charge != charges_.end() && charge->first.job == notice.job) charge = release(charge);
  } else if (notice.kind == Kind::node_left) {
    drawn_.erase(notice.node);
    for (auto charge = charges_.begin(); charge != charges_.end();)
      charge = charge->second.at == notice.node ? release(charge) : std::next(charge);
  }
}

}  // namespace weft::schedulers
