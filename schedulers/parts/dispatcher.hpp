// Asks the ordering policy of each pass for jobs, until no node has free capacity or no job launches anything: for all nodes at
// once, or for one node after the other.
#pragma once

#include <string>
#include <vector>

#include "schedulers/parts/pass_launcher.hpp"

namespace weft::schedulers {

class Dispatcher {
 public:
  /// `parts` outlives it and has a pass at least. `name`: of the scheduler, for reasons.
  Dispatcher(const std::string& name, const Composition& parts)
      : parts_(parts),
        finder_(name, parts, call_),
        explanations_(parts, call_, finder_),
        launcher_(parts, call_, finder_, explanations_) {}
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  void on_event(const Notice& notice);
  /// Launches what fits on the node of the trigger, or on all nodes.
  void schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions);

 private:
  OrderingPolicy& policy_of(const Pass& pass) const { return pass.jobs ? *pass.jobs : *parts_.jobs; }
  void begin_call(const ClusterView& view, const Trigger& trigger, Decisions& decisions);
  void run(const Pass& pass, bool all_nodes);
  void offer_jobs(OrderingPolicy& policy);
  void offer_jobs(OrderingPolicy& policy, SlotKind kind);
  void explain_next(OrderingPolicy& policy, SlotKind kind);
  void ask_nodes(OrderingPolicy& policy);
  std::size_t ask_nodes(OrderingPolicy& policy, std::vector<NodeId> nodes, std::size_t open);
  void ask_node(OrderingPolicy& policy);
  void most_free_first(std::vector<NodeId>& nodes) const;

  const Composition& parts_;
  DispatchCall call_;
  TaskFinder finder_;
  Explanations explanations_;
  PassLauncher launcher_;
};

}  // namespace weft::schedulers
