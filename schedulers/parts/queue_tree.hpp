// The capacity scheduler's queues with what their jobs and users have.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/config/queues.hpp"
#include "schedulers/parts/parts.hpp"

namespace weft::schedulers {

class QueueTree {
 public:
  /// `one_for_all`: there is one queue, and every job goes there.
  QueueTree(const std::vector<QueueSettings>& settings, bool one_for_all);

  /// Nothing when no job can go there.
  std::optional<std::size_t> leaf_of(const JobInfo& job) const;
  std::string leaf_names() const;

  /// The job's leaf exists.
  void change(const JobInfo& job);
  void end(const JobInfo& job);
  bool offer(const ClusterView& view, SlotKind kind, Turn& turn);
  /// Whether the job, whose leaf exists, may have so much more.
  bool has_room(const ClusterView& view, const JobInfo& job, SlotKind kind, double amount) const;
  std::vector<GroupStatus> groups(const ClusterView& view) const;

 private:
  using Used = std::array<double, 3>;  // by slot kind
  struct User {
    Used used{};
    std::set<JobId> active;  // with tasks running or pending
  };
  struct Queue {
    QueueSettings settings;
    std::vector<std::size_t> children;
    Used used{};
    std::set<JobOrder> runnable;
    std::map<std::string, User> users;
    std::size_t active_users = 0;
    double demand = 0;  // any kind
  };
  struct Job {
    Used used{};
    double demand = 0;
  };

  JobOrder order_of(const Queue& queue, const JobInfo& job) const;
  void apply(const JobInfo& job, const Used& used, double demand, bool active, bool runnable);
  double capacity_of(std::size_t queue, double total) const;
  bool offer(const ClusterView& view, SlotKind kind, const std::vector<std::size_t>& siblings, double parent, Turn& turn);
  bool serve(const ClusterView& view, SlotKind kind, const Queue& queue, double capacity, double most, Turn& turn);
  void hold_all(std::size_t queue, std::string_view reason, Turn& turn) const;
  static std::optional<std::string_view> limit_reached(const Queue& queue, const JobInfo& job, std::size_t kind, double amount,
                                                       double capacity, double most);

  std::vector<Queue> queues_;  // parents before children
  std::vector<std::size_t> top_;
  std::map<std::string, std::size_t> leaves_;
  std::map<JobId, Job> jobs_;
  bool one_for_all_;
};

}  // namespace weft::schedulers
