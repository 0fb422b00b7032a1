// A node whose capacity becomes less than its running tasks use loses tasks, the newest first, until the rest fits: the other load
// of its machine has priority (Polo's thesis, chapter 5, does not say what happens to the tasks). They run again elsewhere or
// later, and no failure is counted.
#pragma once

#include <set>

#include "schedulers/parts/parts.hpp"

namespace weft::schedulers {

class CapacityPreemption final : public Preemption {
 public:
  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  bool preempt(const ClusterView& view, Decisions& decisions) override;

 private:
  std::set<NodeId> changed_;
};

}  // namespace weft::schedulers
