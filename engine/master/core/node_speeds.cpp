#include "engine/master/core/node_speeds.hpp"

#include <algorithm>

#include "base/clock.hpp"

namespace weft::master {
namespace {

constexpr std::uint64_t kTasksOfStage = 5;  // before its median says something
constexpr std::uint64_t kTasksOfNode = 3;
constexpr double kMostByBytes = 8;  // that a task may take longer, or shorter, for what it read

}  // namespace

double RecentMedian::median() const {
  const auto kept = static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(count_, kKept));
  if (kept == 0) return 0;
  std::array<double, kKept> sorted = amounts_;
  std::nth_element(sorted.begin(), sorted.begin() + kept / 2, sorted.begin() + kept);
  return sorted[static_cast<std::size_t>(kept / 2)];
}

void NodeSpeeds::note(const schedulers::StageInfo& stage, RecentMedian& recent, NodeId node, schedulers::Time took,
                      std::uint64_t bytes) {
  double time = in_seconds(took);
  if (bytes > 0 && stage.input_bytes > 0) {
    const double mean = static_cast<double>(stage.input_bytes) / static_cast<double>(stage.observed_count);
    time *= std::clamp(mean / static_cast<double>(bytes), 1 / kMostByBytes, kMostByBytes);
  }
  if (time <= 0) return;
  recent.add(time);
  if (recent.count() < kTasksOfStage) return;
  RecentMedian& paces = paces_[node];
  paces.add(time / recent.median());
  if (paces.count() >= kTasksOfNode) view_.mutable_node(node).speed = 1 / paces.median();
}

}  // namespace weft::master
