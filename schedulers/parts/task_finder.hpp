// Finds the task of a stage that a node takes, or the node that a task of a stage goes to, and launches it. The only code that
// launches tasks for schedulers made of parts.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "schedulers/parts/dispatch_call.hpp"
#include "schedulers/parts/node_search.hpp"
#include "schedulers/parts/task_reservations.hpp"

namespace weft::schedulers {

class TaskFinder final : private NodeTrial {
 public:
  /// `parts` and `call` outlive it. `name`: of the scheduler, for reasons.
  TaskFinder(const std::string& name, const Composition& parts, DispatchCall& call);

  void on_event(const Notice& notice);
  /// A call begins, with the nodes of the DispatchCall.
  void begin_call();
  /// A round begins (task_reservations.hpp). In the second, nodes that took nothing are tried again.
  void begin_round(bool first);
  /// Whether a second round may find more.
  bool kept_reservations() const { return reservations_.kept(); }
  /// Where a task without a preference went last, in any call.
  NodeId last_node() const { return search_.last(); }

  /// Whether a placement answers for the tasks of the stage.
  bool placed_by_part(const JobInfo& job, const StageInfo& stage) const;
  /// How far from its input a task of the stage may run now. A locality wait is for files: none applies where a placement answers.
  Locality allowed(const JobInfo& job, const StageInfo& stage) const;
  /// Whether it is known that such a task fits on none of the nodes.
  bool fits_nowhere(const Resources& demand) const;
  /// False: no task of the job fits on any of the nodes.
  bool may_fit(const JobInfo& job);

  /// Launches one task of the stage, at most that far from its input, as near as possible. False: none can be launched.
  bool launch_nearest(const JobInfo& job, const StageInfo& stage, Locality farthest);
  /// The task of the stage that the node that asks takes, at most that far from its input. Does not check whether the task fits.
  std::optional<Pick> candidate(const JobInfo& job, const StageInfo& stage, Locality farthest);
  bool launch(const JobInfo& job, const StageInfo& stage, const Pick& pick, NodeId node, std::string_view reason);

 private:
  /// What a node got in this call.
  struct Granted {
    std::uint32_t remote = 0, reduces = 0;
  };

  bool launch_on(const JobInfo& job, const StageInfo& stage, NodeId id, Locality level, bool& fitted) override;
  std::optional<std::uint32_t> task_for(const JobInfo& job, const StageInfo& stage, const NodeInfo& node, Locality level);
  bool at_limit(NodeId node, const StageInfo& stage, Locality level) const;
  const Resources& least_demand(const JobInfo& job);

  const Composition& parts_;
  DispatchCall& call_;
  std::array<std::string, 4> reasons_;  // by locality; of tasks without input files
  NodeSearch search_;
  TaskReservations reservations_;
  std::map<NodeId, Granted> granted_;                   // where the composition limits it
  std::unordered_map<JobId, Resources> least_demands_;  // of each resource, by jobs that have not changed since
};

}  // namespace weft::schedulers
