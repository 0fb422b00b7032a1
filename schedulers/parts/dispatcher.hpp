// Gives room away, in the passes of a composition: asks WhoNext for a job and finds the best pair of task and node for it, or asks
// for one node after the other. The only code that launches tasks for schedulers made of parts.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedulers/parts/offers.hpp"
#include "schedulers/parts/parts.hpp"
#include "schedulers/parts/promises.hpp"
#include "schedulers/parts/sweeps.hpp"

namespace weft::schedulers {

class Dispatcher final : private Turn, private NodeTrial {
 public:
  /// `parts` outlives it and has a pass at least. `name`: of the scheduler, for reasons.
  Dispatcher(const std::string& name, const Composition& parts);

  void on_event(const Notice& notice);
  /// Launches what fits on the node of the trigger, or on all.
  void give_away(const ClusterView& view, const Trigger& trigger, Decisions& decisions);

 private:
  /// What a node got in this call.
  struct Given {
    std::uint32_t remote = 0, reduces = 0;
  };
  /// Of a job, until it changes: most are passed over by one look at this.
  struct Glance {
    bool known = false;
    Resources least;    // that any of its runnable stages asks for, of each resource
    bool told = false;  // that there is no room for it
  };

  // Turn.
  bool serve(const JobInfo& job) override;
  void hold(JobId job, std::string_view reason) override {
    if (!waiting_.contains(job)) say(job, std::nullopt, reason);
  }
  bool starts_over() const override { return starts_over_; }
  const NodeInfo* node() const override { return asking_; }
  bool serve(const JobInfo& job, const StageInfo& stage, Locality farthest) override;
  std::optional<Locality> nearest(const JobInfo& job, const StageInfo& stage) override;
  bool launch(const JobInfo& job, const StageInfo& stage, std::string_view reason, const TaskCheck& may) override;

  void collect_offers(const Trigger& trigger);
  void give_away(WhoNext& who);
  void ask_nodes(WhoNext& who, bool all);
  void ask_node(WhoNext& who);
  bool passed_up();
  void tell_next(WhoNext& who, SlotKind kind);
  Glance& glance(const JobInfo& job);
  bool promising(const JobInfo& job);
  void no_room(const JobInfo& job);
  void say(JobId job, std::optional<StageId> stage, std::string_view reason);
  bool keeps_to_share(JobId job, std::optional<StageId> stage);
  bool may_launch(const JobInfo& job, const StageInfo& stage);
  bool answers_for(const JobInfo& job, const StageInfo& stage) const {
    return parts_.placement && parts_.placement->places(*view_, job, stage);
  }
  void order_stages(const JobInfo& job);
  bool place(const JobInfo& job, const StageInfo& stage, Locality allowed);
  bool hopeless(const Resources& demand) const;
  std::optional<std::uint32_t> pick(const JobInfo& job, const StageInfo& stage, const NodeInfo& node, Locality level);
  std::optional<Pick> candidate(const JobInfo& job, const StageInfo& stage);
  bool launch_on(const JobInfo& job, const StageInfo& stage, NodeId id, Locality level, bool& room_seen) override;
  bool start_task(const JobInfo& job, const StageInfo& stage, std::uint32_t task, NodeId id, Locality level,
                  std::string_view reason);
  bool full(NodeId node, const StageInfo& stage, Locality level) const;
  void explain(const JobInfo& job, const StageInfo& stage, Locality allowed);

  const Composition& parts_;
  std::array<std::string, 4> reasons_;  // by locality; of tasks that read no files
  Sweeps sweeps_;
  Promises promises_;
  std::unordered_map<JobId, Glance> glances_;

  // Of the call.
  const ClusterView* view_ = nullptr;
  Decisions* decisions_ = nullptr;
  const Pass* pass_ = nullptr;
  Offers offers_;
  std::map<NodeId, Given> given_;     // where the composition limits it
  const NodeInfo* only_ = nullptr;    // the node of a single offer, or that asks
  const NodeInfo* asking_ = nullptr;  // the node that asks
  std::size_t open_ = 0;              // offers with room
  bool typed_ = false, closing_ = false, starts_over_ = true;
  bool last_pass_ = true;  // why a job waits is said in that one
  bool plain_ = false;     // nothing but the place of its input says which task a node takes
  bool quiet_ = false;     // further nodes will be asked
  SlotKind kind_ = SlotKind::any;
  std::set<JobId> waiting_;                        // jobs of which it was said that they wait for a better place
  std::set<JobId> skipped_;                        // jobs that were told so
  std::set<std::pair<JobId, StageId>> passed_up_;  // what nearest() gave nothing of, for a wait or a placement
  std::vector<StageId> order_;                     // scratch
};

}  // namespace weft::schedulers
