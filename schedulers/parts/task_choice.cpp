#include "schedulers/parts/task_choice.hpp"

#include <algorithm>

namespace weft::schedulers {

namespace {

constexpr std::size_t kOthersTried = 8;

/// The task that a node takes of those placed on other nodes: the last in the queue of the most loaded one.
std::optional<std::uint32_t> placed_elsewhere(const StageInfo& stage, NodeId node) {
  const auto most = std::max_element(stage.preplaced.begin(), stage.preplaced.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  if (most == stage.preplaced.end()) return std::nullopt;
  const std::uint32_t last = *most->second.rbegin();
  if (stage.tasks[last].avoid == node || !stage.pending.contains(last)) return std::nullopt;
  return last;
}

}  // namespace

std::optional<std::uint32_t> choose_near(const StageInfo& stage, const NodeInfo& node, Locality level, bool waits) {
  if (level == Locality::node) {
    if (auto placed = stage.preplaced.find(node.id); placed != stage.preplaced.end()) return *placed->second.begin();
    // A task without a preference, or one that must avoid another node, is as near here as anywhere.
    if (auto task = stage.pending.pick(node.id, node.host, node.rack, Locality::node)) return task;
    if (!waits) return std::nullopt;
    auto task = stage.pending.pick(node.id, node.host, node.rack, Locality::any);
    if (!task || stage.tasks[*task].preplaced) return std::nullopt;
    if (stage.pending.unconstrained().contains(*task) && !stage.pending.hosts(*task).empty()) task.reset();
    return task;
  }
  const auto task = stage.pending.pick(node.id, node.host, node.rack, level);
  if (task && stage.tasks[*task].preplaced) return placed_elsewhere(stage, node.id).value_or(*task);
  return task;
}

std::optional<std::uint32_t> choose_instead(const StageInfo& stage, std::uint32_t refused, const TaskCheck& may) {
  const auto hosts = stage.pending.hosts(refused);
  const IndexSet& pending = stage.pending.unconstrained();
  std::optional<std::uint32_t> next = refused;
  for (std::size_t tried = 0; !hosts.empty() && tried < kOthersTried; ++tried) {
    next = pending.at_or_after(*next + 1);
    if (!next) next = pending.first();
    if (!next || *next == refused) break;
    if (!std::ranges::equal(stage.pending.hosts(*next), hosts) && may(*next)) return next;
  }
  return std::nullopt;
}

}  // namespace weft::schedulers
