// Jobs by the slots that they lack to meet their goals; jobs of unknown durations first, and late jobs first or last: the priority
// queue of the Adaptive scheduler (Polo's thesis, section 3.4). With classes of nodes, a queue for each class.
#pragma once

#include <map>
#include <set>
#include <tuple>
#include <vector>

#include "schedulers/parts/fair_ends.hpp"
#include "schedulers/parts/goal_needs.hpp"
#include "schedulers/parts/ranked_set.hpp"
#include "schedulers/prediction/goals_met.hpp"

namespace weft::schedulers {

struct GoalOrderOptions {
  std::string attribute = "accelerator";  // of nodes, whose values are the classes; empty: there is one class
  GoalRules rules;                        // with by_need false, jobs also get more slots than they need, by its margin
  /// True: the job that lacks most slots goes first, as in the thesis. False: the job with the nearest deadline first; where not
  /// all goals can be met, jobs with much work give theirs up, so that as many as possible are met (prediction/goals_met.hpp).
  bool by_need = false;
  /// True: jobs past their goal go before all others. False: they, and jobs that cannot meet their goal, go after those that can.
  bool late_first = false;
  /// True: only goals at risk need slots. All other slots go to one job after the other, so that small ones end early and none much
  /// later than if all had shared fairly (parts/fair_ends.hpp); and so do all slots while many goals are missed. Which goals are at
  /// risk: prediction/goals_met.hpp. False: each job with a goal gets the slots that it needs for it from the beginning, and the
  /// others go to all jobs alike.
  bool by_fair_ends = false;
};

class GoalOrder final : public OrderingPolicy, public Urgency {
 public:
  explicit GoalOrder(GoalOrderOptions options) : options_(std::move(options)), measured_(options_.attribute) {}

  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  void begin(const ClusterView& view, std::size_t nodes) override;
  bool offer(const ClusterView& view, SlotKind kind, Launcher& launcher) override;
  void explain(const ClusterView& view, Launcher& launcher) override;
  Asks asks() const override { return measured_.classes() > 1 ? Asks::nodes : Asks::jobs; }
  /// True for jobs that have fewer slots than they need for their goals.
  bool urgent(const ClusterView& view, const JobInfo& job) const override;
  bool offers_all() const override { return measured_.classes() == 1; }
  Sharing sharing(const ClusterView& view) const override;
  const FairEnds* fair_ends() const override { return options_.by_fair_ends ? &ends_ : nullptr; }

  /// Whether the job has at least as many slots as it needs: it can wait for a nearer node.
  bool ahead(const ClusterView& view, const JobInfo& job) const;

 private:
  enum class Tier : std::uint8_t { late, unknown, needy, late_after, served };
  /// Of a job on a class of nodes, smallest first.
  using Rank = std::tuple<Tier, int, double, JobOrder>;
  struct Queue {
    std::map<JobId, GoalNeeds> needs;                          // of jobs with pending tasks of the kind
    std::vector<RankedSet<JobId, Rank, const JobInfo*>> jobs;  // by class, without the jobs for which its nodes are of no use now
    std::set<JobId> given_up;                                  // jobs that cannot meet their goals beside the others
    std::set<JobId> at_risk;                                   // jobs that miss their goals unless they go before others
    bool overloaded = false;                                   // goals decide nothing
    std::map<JobId, Time> waits_since;                         // jobs that have no slot where they are faster
    double even_part = 1;                                      // slots over jobs
    double handover = 0;                                       // mean seconds of the running tasks, at the last refresh
    std::set<JobId> changed;
    std::optional<Time> refreshed;  // when the needs of all were computed last
  };

  void refresh(const ClusterView& view, SlotKind kind, Queue& queue);
  void update(const ClusterView& view, SlotKind kind, Queue& queue, const JobInfo& job, std::vector<double>& available);
  void give_up(const ClusterView& view, double slots, Queue& queue) const;
  static void stop_waiting(const ClusterView& view, Queue& queue, const JobInfo& job, GoalNeeds& needs);
  static bool gives_up_goal(const Queue& queue, const JobInfo& job, const GoalNeeds& needs);
  std::optional<Rank> rank(const Queue& queue, const JobInfo& job, const GoalNeeds& needs, std::size_t node_class) const;
  void place(Queue& queue, const JobInfo& job) const;
  void launched(Queue& queue, const JobInfo& job, std::size_t node_class);
  void remove(Queue& queue, JobId job);
  void learn_whether_met(const ClusterView& view, const JobInfo& job);
  std::vector<double> slots_of_classes(const ClusterView& view, SlotKind kind) const;

  GoalOrderOptions options_;
  FairEnds ends_{Weights()};  // with by_fair_ends
  std::uint64_t placed_at_ = 0;
  double missed_ = 0;  // part of the goals, lately
  MeasuredTasks measured_;
  std::map<SlotKind, Queue> queues_;
};

}  // namespace weft::schedulers
