// A scheduler made of parts: offers room to jobs in the order of WhoNext, finds each the best pair of task and node it may take.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedulers/parts/offers.hpp"
#include "schedulers/parts/parts.hpp"

namespace weft::schedulers {

class Composed final : public Scheduler, private Turn {
 public:
  Composed(std::string name, Composition parts);

  std::string_view name() const override { return name_; }
  Result<void> start(const ClusterView& view, Scheduler* before) override;
  Result<void> admit(const ClusterView& view, const JobInfo& job) const override { return parts_.who->admit(view, job); }
  void on_event(const ClusterView& view, const Notice& notice) override;
  void schedule(const ClusterView& view, const Trigger& trigger, Decisions& decisions) override;
  void speculate(const ClusterView& view, const Trigger& trigger, Decisions& decisions) override;
  void preplace(const ClusterView& view, const Preplaceable& what, Decisions& decisions) override;
  RoundOrder round_order() const override { return parts_.who->round_order(); }
  bool work_conserving() const override;
  std::vector<GroupStatus> groups(const ClusterView& view) const override { return parts_.who->groups(view); }

 private:
  /// What a node got in this call.
  struct Given {
    std::uint32_t remote = 0, reduces = 0;
  };
  /// How far the search for a place for a stage's tasks has come in this call. Room and pending tasks only become fewer, so where
  /// nothing was found nothing will be. One task per node and round: few tasks use many nodes.
  struct Sweep {
    Locality level = Locality::node;
    bool begun = false;  // the level
    bool first = true;   // round of the level, over all offers; the others are over those that had something in the one before
    NodeWalk walk;
    std::vector<NodeId> again;
    bool room_seen = false;
    bool over = false;
  };

  /// Of a job, until it changes: most are passed over by one look at this.
  struct Glance {
    bool known = false;
    Resources least;    // that any of its runnable stages asks for, of each resource
    bool told = false;  // that there is no room for it
  };

  // Turn.
  bool serve(const JobInfo& job) override;
  void hold(JobId job, std::string_view reason) override { say(job, std::nullopt, reason); }
  bool starts_over() const override { return starts_over_; }

  void collect_offers(const Trigger& trigger);
  void give_away(WhoNext& who);
  Glance& glance(const JobInfo& job);
  bool promising(const JobInfo& job);
  void no_room(const JobInfo& job);
  void say(JobId job, std::optional<StageId> stage, std::string_view reason);
  bool passes_again() const { return yielding_ && parts_.second_pass; }  // why a job waits is said in the second pass
  bool keeps_to_share(JobId job, std::optional<StageId> stage);
  bool may_launch(const JobInfo& job, const StageInfo& stage);
  bool place(const JobInfo& job, const StageInfo& stage, Locality allowed);
  bool place_on_one(const JobInfo& job, const StageInfo& stage, Locality allowed);
  void begin_level(Sweep& sweep, const StageInfo& stage) const;
  bool next_round(Sweep& sweep, const StageInfo& stage);
  bool hopeless(const Resources& demand) const;
  std::optional<std::uint32_t> pick(const JobInfo& job, const StageInfo& stage, const NodeInfo& node, Locality level) const;
  static std::optional<std::uint32_t> promised_elsewhere(const StageInfo& stage, NodeId node);
  bool launch_on(const JobInfo& job, const StageInfo& stage, NodeId id, Locality level, bool& room_seen);
  bool full(NodeId node, const StageInfo& stage, Locality level) const;
  void explain(const JobInfo& job, const StageInfo& stage, Locality allowed);

  std::string name_;
  Composition parts_;
  std::array<std::string, 4> reasons_;  // by locality; of tasks that read no files
  NodeId last_;                         // where a task without a preference went last: the next ones go to the nodes after it

  std::unordered_map<JobId, Glance> glances_;

  // Of the call.
  const ClusterView* view_ = nullptr;
  Decisions* decisions_ = nullptr;
  Offers offers_;
  std::map<NodeId, Given> given_;   // where the composition limits it
  const NodeInfo* only_ = nullptr;  // the node of a single offer
  std::size_t open_ = 0;            // offers with room
  bool typed_ = false, yielding_ = false, closing_ = false, starts_over_ = true;
  SlotKind kind_ = SlotKind::any;
  std::map<std::pair<JobId, StageId>, Sweep> sweeps_;
  std::vector<Resources> hopeless_;  // demands that fit on none of several nodes
  std::set<JobId> skipped_;          // jobs that were told so
  std::vector<StageId> order_;       // scratch
};

}  // namespace weft::schedulers
