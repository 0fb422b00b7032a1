#include "engine/master/core/node_health.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::master {

namespace {

constexpr std::size_t kLostNodesKept = 1000;
constexpr std::size_t kCrashingKept = 1000;  // workers
constexpr std::uint32_t kEarlyCrashes = 3;
constexpr Time kEarly = std::chrono::minutes(1);
constexpr Time kLately = std::chrono::minutes(1);
constexpr Time kProbation = std::chrono::seconds(20), kLongestProbation = std::chrono::minutes(1);

}  // namespace

/// "w0". Workers that were given no name are called by their host and process ("h1-4711"), which the next one does not share.
std::string NodeHealth::worker_of(NodeId id) const {
  const schedulers::NodeInfo& node = *context_.view.node(id);
  const std::string& host = context_.view.host_name(node.host);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const bool by_process = node.name.size() > host.size() + 1 && node.name.starts_with(host) && node.name[host.size()] == '-' &&
                          std::all_of(node.name.begin() + static_cast<std::ptrdiff_t>(host.size()) + 1, node.name.end(), digit);
  return by_process ? host : node.name;
}

std::string NodeHealth::words_of(const Crashes& crashes) const {
  return fmt::format("its worker crashed {} times within a minute of its start ({})", crashes.early, crashes.reason);
}

void NodeHealth::begin(NodeId node) {
  offered_[node] = context_.now();
  const auto known = crashes_.find(worker_of(node));
  if (known == crashes_.end() || known->second.early < kEarlyCrashes) return;
  Time wait = kProbation;
  for (std::uint32_t i = 0; i < known->second.probations && wait < kLongestProbation; ++i) wait *= 2;
  const Time until = offered_[node] = context_.now() + std::min(wait, kLongestProbation);
  ++known->second.probations;
  context_.view.exclude(node, until);
  context_.timers.set({Timers::Purpose::exclusion, until, node});
}

std::string NodeHealth::note_loss(NodeId node, const std::string& reason) {
  if (lost_.size() >= kLostNodesKept) lost_.erase(lost_.begin());
  lost_[node] = {context_.node_name(node), reason, context_.now()};
  if (reason != kWorkerLeft) last_loss_ = context_.now();
  const std::string worker = worker_of(node);
  const auto offered = offered_.extract(node);
  const bool early = reason != kWorkerLeft && !offered.empty() && context_.now() - offered.mapped() < kEarly;
  if (!early) {
    crashes_.erase(worker);
    return {};
  }
  if (crashes_.size() >= kCrashingKept && !crashes_.contains(worker))
    crashes_.erase(
        std::min_element(crashes_.begin(), crashes_.end(), [](const auto& a, const auto& b) { return a.second.at < b.second.at; }));
  Crashes& crashes = crashes_[worker];
  ++crashes.early;
  crashes.reason = reason;
  crashes.at = context_.now();
  return crashes.early < kEarlyCrashes ? std::string() : words_of(crashes) + ", and gets no tasks until it lives for longer";
}

bool NodeHealth::lost_lately() const { return last_loss_ && context_.now() - *last_loss_ < kLately; }

std::string NodeHealth::why_excluded(NodeId node) const {
  const auto offered = offered_.find(node);
  if (offered == offered_.end() || offered->second <= context_.now()) return {};
  const auto known = crashes_.find(worker_of(node));
  return known == crashes_.end() ? std::string() : words_of(known->second);
}

void NodeHealth::note_failure(NodeId id) {
  const schedulers::NodeInfo* node = context_.view.node(id);
  if (node == nullptr || !node->usable()) return;
  std::uint32_t limit = context_.options.max_failures_per_node;
  if (limit == 0) limit = std::max(3u, static_cast<std::uint32_t>(std::min(node->capacity.cpu, 1e6)));
  if (++failures_[id] >= limit) exclude(id);
}

void NodeHealth::exclude(NodeId id) {
  const schedulers::NodeInfo* node = context_.view.node(id);
  if (node == nullptr || !node->usable()) return;
  const bool last = std::none_of(context_.view.nodes().begin(), context_.view.nodes().end(),
                                 [id](const auto& entry) { return entry.first != id && entry.second.usable(); });
  if (last) return;  // better a bad node than none
  failures_.erase(id);
  const Time until = context_.now() + context_.options.exclusion;
  context_.view.exclude(id, until);
  context_.timers.set({Timers::Purpose::exclusion, until, id});
  context_.scheduler.notify({.kind = schedulers::Notice::Kind::node_changed, .node = id});
  lift_avoidance();
  context_.triggers.note_work();
}

void NodeHealth::readmit(NodeId node) {
  context_.view.exclude(node, std::nullopt);
  context_.scheduler.notify({.kind = schedulers::Notice::Kind::node_changed, .node = node});
}

bool NodeHealth::another_node(const schedulers::StageInfo& stage, NodeId than) const {
  const auto& nodes = context_.view.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& entry) {
    return entry.first != than && entry.second.usable() && schedulers::fits(stage.demand, {}, entry.second.capacity);
  });
}

bool NodeHealth::good_node(const schedulers::StageInfo& stage, NodeId than) const {
  const auto& nodes = context_.view.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const auto& entry) {
    return entry.first != than && entry.second.usable() && !failures_.contains(entry.first) &&
           schedulers::fits(stage.demand, {}, entry.second.capacity);
  });
}

void NodeHealth::lift_avoidance(schedulers::StageInfo& stage) {
  std::vector<std::uint32_t> lifted;
  for (const auto& [node, tasks] : stage.pending.avoiding()) {
    if (context_.view.node(node) != nullptr && another_node(stage, node)) continue;
    lifted.insert(lifted.end(), tasks.begin(), tasks.end());
  }
  for (std::uint32_t task : lifted) context_.view.set_avoid(stage, task, std::nullopt);
}

void NodeHealth::lift_avoidance() {
  for (auto& [id, job] : context_.jobs.running()) {
    for (StageId stage : job.info->runnable) lift_avoidance(*job.stages.at(stage).info);
  }
}

std::string NodeHealth::where_it_was(const shuffle::FetchFailure& fetch, const std::string& message) const {
  if (const auto lost = lost_.find(fetch.node); lost != lost_.end())
    return fmt::format("map {}'s output was on worker {}, which was lost {} ago ({})", fetch.map, lost->second.name,
                       human_duration(context_.now() - lost->second.at), lost->second.reason);
  return fmt::format("map {}'s output could not be read from worker {} ({})", fetch.map, context_.node_name(fetch.node), message);
}

}  // namespace weft::master
