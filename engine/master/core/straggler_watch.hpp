// Which running tasks take much longer than others of their stage: the rules of Speculation, applied at intervals.
//
// A look costs one pass over the tasks of each watched stage. There is a timer for the next one only while a running task could
// turn out to straggle, so a cluster in which nothing does pays for launches and ends alone.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/master/core/timers.hpp"
#include "schedulers/view/state.hpp"

namespace weft::master {

class StragglerWatch {
 public:
  StragglerWatch(schedulers::ClusterState& view, Timers& timers, const Speculation& rules)
      : view_(view), timers_(timers), rules_(rules) {}

  const Speculation& rules() const { return rules_; }
  /// The caller watches every open stage afterwards.
  void set_rules(const Speculation& rules);

  /// To be called when something of the stage has begun or ended: it may be time for a look soon.
  void watch(JobId job, const schedulers::StageInfo& stage);
  /// A timer of Purpose::stragglers has fired. Makes the view's stragglers, as many as the rules' caps allow, the most overdue
  /// first, and says which nodes are slow. True when there are stragglers: the scheduler may place speculative attempts.
  bool fire(Time at);

  /// An attempt ended on the node, or was overtaken there, after so long.
  void note_pace(const schedulers::StageInfo& stage, NodeId node, Time took);
  void forget(NodeId node) { paces_.erase(node); }

 private:
  struct Straggling {
    double overdue = 0;  // its time over what it should take
    TaskId task;
    NodeId node;
  };
  bool measured(const schedulers::StageInfo& stage) const;
  std::optional<Time> typical_duration(const schedulers::StageInfo& stage);
  std::optional<Time> find(JobId job, const schedulers::StageInfo& stage, std::vector<Straggling>& found);
  void publish(std::vector<Straggling> found, std::map<JobId, std::uint64_t> speculative);
  void mark_slow_nodes(const std::vector<Straggling>& found);
  void look_at(Time at);

  schedulers::ClusterState& view_;
  Timers& timers_;
  Speculation rules_;
  std::set<std::pair<JobId, StageId>> watched_;  // stages whose running tasks are measured against finished ones
  std::optional<Time> next_look_;                // has a timer
  std::map<NodeId, double> paces_;               // how long attempts take there, over their stages' mean; recent ones
  std::vector<Time> durations_;                  // scratch
};

}  // namespace weft::master
