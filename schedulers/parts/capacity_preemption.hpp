// A node that is given less than what runs on it uses loses tasks, the newest first, until the rest fits: what shares its machine
// has priority (Polo's thesis, chapter 5, leaves open what happens to them). They run again elsewhere or later; no failure is
// counted, and what had ended stays.
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
