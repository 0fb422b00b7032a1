// The tasks of each stage on each class of nodes: how many ended, how long they took, and which run. Kept up to date from notices,
// so that a look costs no more than the running tasks of the stage.
//
// A class is the nodes with one value of an attribute, such as accelerator=gpu. Class 0 has the nodes without the attribute, and
// all nodes where no attribute is configured. A node that lends devices is of its class while a task holds one, and of class 0
// otherwise.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/parts/parts.hpp"

namespace weft::schedulers {

class MeasuredTasks {
 public:
  struct OfClass {
    std::uint64_t ended = 0;
    double seconds = 0;  // of the ended ones together
    std::uint32_t running = 0;
    std::optional<Time> oldest;  // first launch of the running ones

    bool tried() const { return ended > 0 || running > 0; }
    std::optional<double> mean() const { return ended > 0 ? std::optional(seconds / static_cast<double>(ended)) : std::nullopt; }
  };
  struct Running {
    std::size_t node_class = 0;
    Time launched{0};
  };

  /// Empty: there is one class.
  explicit MeasuredTasks(std::string attribute) : attribute_(std::move(attribute)) {}

  /// Takes over the tasks that the view shows already.
  void start(const ClusterView& view);
  /// Needs every notice.
  void on_event(const ClusterView& view, const Notice& notice);

  /// Classes that had a node at any time; at least one.
  std::size_t classes() const { return names_.size(); }
  /// "accelerator=gpu"; empty: class 0.
  const std::string& name(std::size_t node_class) const { return names_[node_class]; }
  std::size_t class_of(const NodeInfo& node) const;
  /// The class on which a task would run that is launched on the node now: without a free device that is 0.
  std::size_t class_for_launch(const NodeInfo& node) const;
  /// Slots of the kind, or cores, on the usable nodes of the class.
  double slots(const ClusterView& view, std::size_t node_class, SlotKind kind) const;

  /// By class. Empty: nothing is known of the stage.
  std::vector<OfClass> of(const ClusterView& view, JobId job, const StageInfo& stage) const;
  /// Calls visit(Running) for each of its running tasks, in the order of tasks.
  template <class Visit>
  void each_running(const ClusterView& view, JobId job, const StageInfo& stage, Visit&& visit) const {
    for (const auto& [task, running] : seen(view, job, stage).running) visit(running);
  }

 private:
  struct Ended {
    std::uint64_t tasks = 0;
    double seconds = 0;
  };
  struct Seen {
    std::vector<Ended> ended;  // by class
    std::map<std::uint32_t, Running> running;
  };
  std::size_t intern(const NodeInfo& node);
  void note_running(const ClusterView& view, const StageInfo& stage, std::uint32_t task, Seen& seen) const;
  /// `ran_on`: its class while it ran, where that is known.
  void note_ended(const ClusterView& view, const StageInfo& stage, std::uint32_t task, Seen& seen,
                  std::optional<std::size_t> ran_on) const;
  bool lends(const NodeInfo& node) const;
  void add_capacity(const NodeInfo& node) const;
  Seen& seen(const ClusterView& view, JobId job, const StageInfo& stage) const;

  std::string attribute_;
  std::vector<std::string> names_{""};
  std::map<std::string, std::size_t> ids_{{"", 0}};  // by value of the attribute
  mutable std::map<std::pair<JobId, StageId>, Seen> stages_;
  mutable std::vector<Resources> capacity_;  // by class; empty: not computed
};

}  // namespace weft::schedulers
