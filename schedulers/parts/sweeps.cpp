#include "schedulers/parts/sweeps.hpp"

#include <algorithm>

namespace weft::schedulers {

namespace {

constexpr std::size_t kMaxHopeless = 16;

bool at_least(const Resources& a, const Resources& b) {
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(),
                     [&](const ResourceKind& kind) { return a.*kind.amount >= b.*kind.amount; });
}

}  // namespace

bool Sweeps::hopeless(const Resources& demand) const {
  return std::any_of(hopeless_.begin(), hopeless_.end(), [&demand](const Resources& h) { return at_least(demand, h); });
}

bool Sweeps::place(const ClusterView& view, const Offers& offers, const JobInfo& job, const StageInfo& stage, Locality allowed,
                   Finds finds, NodeTrial& trial) {
  Sweep& sweep = sweeps_[{job.id, stage.id}];
  while (!sweep.over && sweep.level <= allowed) {
    if (!std::exchange(sweep.begun, true)) begin_level(sweep, view, offers, stage, finds);
    const auto try_on = [&](NodeId id) { return trial.launch_on(job, stage, id, sweep.level, sweep.room_seen); };
    if (offers.go_on(sweep.walk, try_on)) {
      sweep.again.push_back(sweep.walk.at);
      if (sweep.level == Locality::any) last_ = sweep.walk.at;
      return true;
    }
    if (!next_round(sweep, stage)) return false;
  }
  return false;
}

/// Which nodes are to be tried. Idle ones that no task goes to can be left out where they can be told without a look at each.
void Sweeps::begin_level(Sweep& sweep, const ClusterView& view, const Offers& offers, const StageInfo& stage, Finds finds) const {
  sweep.walk = sweep.level == Locality::any ? Offers::walk_after(last_) : offers.walk();
  if (sweep.level == Locality::any) return;
  if (finds == Finds::placed) {
    sweep.walk.listed.emplace();
  } else {  // whoever waits for locality takes what has no preference on any node
    sweep.walk.listed = offers.near(stage, sweep.level, finds == Finds::waiting && sweep.level == Locality::node);
  }
  if (!sweep.walk.listed) return;
  NodeWalk look = offers.walk();
  sweep.room_seen = offers.go_on(look, [&](NodeId id) {
    const NodeInfo& node = *view.node(id);
    return fits(stage.demand, node.used, node.capacity);
  });
}

/// Another round over the nodes that had something, or the next level. False when there is none.
bool Sweeps::next_round(Sweep& sweep, const StageInfo& stage) {
  if (!sweep.again.empty()) {
    sweep.first = false;
    sweep.walk = {};
    sweep.walk.listed = std::exchange(sweep.again, {});
    return true;
  }
  if (sweep.first && !sweep.room_seen) {
    if (hopeless_.size() < kMaxHopeless) hopeless_.push_back(stage.demand);
    sweep.over = true;
  }
  if (sweep.level == Locality::any) sweep.over = true;
  if (sweep.over) return false;
  sweep.level = static_cast<Locality>(static_cast<int>(sweep.level) + 1);
  if (sweep.level == Locality::rack && !stage.pending.placed()) sweep.level = Locality::any;
  sweep.first = true;
  sweep.begun = sweep.room_seen = false;
  return true;
}

}  // namespace weft::schedulers
