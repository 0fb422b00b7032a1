#include "schedulers/parts/node_search.hpp"

#include <algorithm>

namespace weft::schedulers {

namespace {

constexpr std::size_t kMaxRemembered = 16;

bool at_least(const Resources& a, const Resources& b) {
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(),
                     [&](const ResourceKind& kind) { return a.*kind.amount >= b.*kind.amount; });
}

}  // namespace

bool NodeSearch::fits_nowhere(const Resources& demand) const {
  return std::any_of(fits_nowhere_.begin(), fits_nowhere_.end(),
                     [&demand](const Resources& known) { return at_least(demand, known); });
}

bool NodeSearch::launch(const ClusterView& view, const FreeNodes& nodes, const JobInfo& job, const StageInfo& stage,
                        Locality allowed, Finds finds, NodeTrial& trial) {
  Search& search = searches_[{job.id, stage.id}];
  while (!search.over && search.level <= allowed) {
    if (!std::exchange(search.begun, true)) begin_level(search, view, nodes, stage, finds);
    const auto try_on = [&](NodeId id) { return trial.launch_on(job, stage, id, search.level, search.fitted); };
    if (nodes.go_on(search.walk, try_on)) {
      search.again.push_back(search.walk.at);
      if (search.level == Locality::any) last_ = search.walk.at;
      return true;
    }
    if (!next_round(search, stage)) return false;
  }
  return false;
}

/// Decides which nodes are tried. Where the near ones can be listed, the idle nodes that no task prefers are left out.
void NodeSearch::begin_level(Search& search, const ClusterView& view, const FreeNodes& nodes, const StageInfo& stage,
                             Finds finds) const {
  search.walk = search.level == Locality::any ? FreeNodes::walk_after(last_) : nodes.walk();
  if (search.level == Locality::any) return;
  if (finds == Finds::placed) {
    search.walk.listed.emplace();
  } else {  // under a locality wait any node takes the tasks without a preference
    search.walk.listed = nodes.near(stage, search.level, finds == Finds::waiting && search.level == Locality::node);
  }
  if (!search.walk.listed) return;
  NodeWalk look = nodes.walk();
  search.fitted = nodes.go_on(look, [&](NodeId id) {
    const NodeInfo& node = *view.node(id);
    return fits(stage.demand, node.used, node.capacity);
  });
}

/// Another round over the nodes that took a task, or the next level. False: there is none.
bool NodeSearch::next_round(Search& search, const StageInfo& stage) {
  if (!search.again.empty()) {
    search.first = false;
    search.walk = {};
    search.walk.listed = std::exchange(search.again, {});
    return true;
  }
  if (search.first && !search.fitted) {
    if (fits_nowhere_.size() < kMaxRemembered) fits_nowhere_.push_back(stage.demand);
    search.over = true;
  }
  if (search.level == Locality::any) search.over = true;
  if (search.over) return false;
  search.level = static_cast<Locality>(static_cast<int>(search.level) + 1);
  if (search.level == Locality::rack && !stage.pending.placed()) search.level = Locality::any;
  search.first = true;
  search.begun = search.fitted = false;
  return true;
}

}  // namespace weft::schedulers
