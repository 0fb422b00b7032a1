#include "engine/simulator/workloads/stage_order.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft::simulator::workloads {

Result<void> order_stages(std::vector<StageSpec>& stages, const std::vector<Edge>& edges) {
  std::vector<std::vector<std::uint32_t>> parents(stages.size()), children(stages.size());
  std::vector<std::size_t> waiting(stages.size());
  for (const Edge& edge : edges) {
    children[edge.from].push_back(edge.to);
    parents[edge.to].push_back(edge.from);
    ++waiting[edge.to];
  }
  std::vector<std::uint32_t> level, next;  // of equal depth, in their order
  for (std::uint32_t i = 0; i < stages.size(); ++i) {
    if (waiting[i] == 0) level.push_back(i);
  }
  std::vector<StageSpec> sorted;
  sorted.reserve(stages.size());
  std::vector<std::uint32_t> position(stages.size());
  for (; !level.empty(); level = std::exchange(next, {})) {
    std::sort(level.begin(), level.end());
    for (const std::uint32_t stage : level) {
      position[stage] = static_cast<std::uint32_t>(sorted.size());
      StageSpec& placed = sorted.emplace_back(std::move(stages[stage]));
      placed.parents.clear();
      for (const std::uint32_t parent : parents[stage]) placed.parents.push_back(position[parent]);
      std::sort(placed.parents.begin(), placed.parents.end());
      placed.parents.erase(std::unique(placed.parents.begin(), placed.parents.end()), placed.parents.end());
      for (const std::uint32_t child : children[stage]) {
        if (--waiting[child] == 0) next.push_back(child);
      }
    }
  }
  if (sorted.size() != stages.size()) {
    const auto stuck = std::find_if(waiting.begin(), waiting.end(), [](std::size_t count) { return count > 0; });
    const auto& name = stages[static_cast<std::size_t>(stuck - waiting.begin())].name;
    return fail(Code::invalid_argument, "stage '" + escaped(name) + "' would never start: its ancestors form a cycle");
  }
  stages = std::move(sorted);
  return {};
}

Result<void> order_stages(JobSpec& job, const std::vector<Edge>& edges, const Lines& lines, std::uint64_t first_line) {
  const auto sorted = order_stages(job.stages, edges);
  if (sorted) return {};
  return fail(lines.error(fmt::format("job '{}' of line {}: {}", escaped(job.name), first_line, sorted.error().to_string())));
}

}  // namespace weft::simulator::workloads
