// Launches the tasks that the ordering policy of a pass offers, within the limit of the pass and the locality waits of jobs.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "schedulers/parts/explanations.hpp"

namespace weft::schedulers {

class PassLauncher final : public Launcher {
 public:
  /// All outlive it.
  PassLauncher(const Composition& parts, DispatchCall& call, TaskFinder& finder, Explanations& explanations)
      : parts_(parts), call_(call), finder_(finder), explanations_(explanations) {}

  void begin_pass();
  /// Jobs that wait for locality skip each node, or all nodes of a call, once.
  void forget_skipped();
  void set_starts_over(bool starts_over) { starts_over_ = starts_over; }
  /// The jobs of whose stages nearest() and launch() found nothing near enough have skipped the node. True: some job takes a
  /// farther node at once.
  bool skip_node();

  bool launch(const JobInfo& job) override;
  void hold(JobId job, std::string_view reason) override { explanations_.hold_by_policy(job, reason); }
  bool starts_over() const override { return starts_over_; }
  Locality farthest() const override { return call_.farthest; }
  const NodeInfo* node() const override { return call_.by_node ? call_.node : nullptr; }
  bool launch(const JobInfo& job, const StageInfo& stage, Locality farthest) override;
  std::optional<Locality> nearest(const JobInfo& job, const StageInfo& stage) override;
  bool launch(const JobInfo& job, const StageInfo& stage, std::string_view reason, const TaskCheck& may) override;

 private:
  bool launch_first(const JobInfo& job, bool& waits);
  bool within_limit(const JobInfo& job, const StageInfo& stage);
  void order_stages(const JobInfo& job);
  std::optional<Pick> candidate(const JobInfo& job, const StageInfo& stage);

  const Composition& parts_;
  DispatchCall& call_;
  TaskFinder& finder_;
  Explanations& explanations_;
  bool starts_over_ = true;
  bool by_input_only_ = false;                    // which task a node takes depends on the place of its input alone
  std::set<JobId> skipped_;                       // jobs that have skipped the node or nodes
  std::set<std::pair<JobId, StageId>> not_near_;  // stages of which candidate() found nothing near enough
  std::vector<StageId> order_;                    // scratch
};

}  // namespace weft::schedulers
