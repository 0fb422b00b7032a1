// Which attempts the fair scheduler kills, and when. See fair.hpp.
#pragma once

#include <map>
#include <optional>

#include "schedulers/parts/pool_tree.hpp"

namespace weft::schedulers {

struct FairPreemptionOptions {
  Time interval = std::chrono::seconds(15), update = std::chrono::milliseconds(500);
};

class FairPreemption final : public Preemption {
 public:
  /// `tree` outlives this. Pools that something was killed for are served first by it, in the same call.
  FairPreemption(PoolTree& tree, FairPreemptionOptions options) : tree_(tree), options_(options) {}
  Result<void> start(const ClusterView& view, Part* before) override;
  /// Where no task waits no pool starves, and schedule() is not called: all clocks begin again.
  void on_event(const ClusterView& view, const Notice& notice) override;
  bool preempt(const ClusterView& view, Decisions& decisions) override;

 private:
  struct Clock {
    std::optional<Time> below_minimum, below_half;  // since when
  };
  using Key = std::pair<std::string, SlotKind>;
  struct Starved {
    PoolTree::PoolIndex pool = 0;
    double need = 0;
  };

  void watch(const ClusterView& view, SlotKind kind, const PoolTree::Shares& shares);
  std::vector<Starved> starved(const ClusterView& view, SlotKind kind, const PoolTree::Shares& shares) const;
  bool feed(const ClusterView& view, SlotKind kind, const PoolTree::Shares& shares, const Starved& starved, Decisions& decisions);

  PoolTree& tree_;
  FairPreemptionOptions options_;
  Time next_update_{0}, next_round_{0};
  std::map<Key, Clock> clocks_;  // by the pool's name: kept when the configuration changes
};

}  // namespace weft::schedulers
