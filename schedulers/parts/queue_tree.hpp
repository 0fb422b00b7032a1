// The capacity scheduler's queues, and what their jobs and users have.
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
  /// `one_for_all`: there is one queue, and every job goes there. `most_jobs`: initialised ones, of all queues; each queue has a
  /// part of them by its capacity, unless its settings name a number.
  QueueTree(const std::vector<QueueSettings>& settings, bool one_for_all, std::uint64_t most_jobs);

  /// Nothing: no queue takes the job.
  std::optional<std::size_t> leaf_of(const JobInfo& job) const;
  std::string leaf_names() const;

  /// The job's leaf exists.
  void change(const JobInfo& job);
  void end(const JobInfo& job);
  bool offer(const ClusterView& view, SlotKind kind, Launcher& launcher);
  /// Whether the job, whose leaf exists, may have `amount` more.
  bool within_limits(const ClusterView& view, const JobInfo& job, SlotKind kind, double amount) const;
  std::vector<GroupStatus> groups(const ClusterView& view) const;

 private:
  using Used = std::array<double, 3>;  // by slot kind
  struct User {
    Used used{};
    std::set<JobId> active;         // with tasks running or pending
    std::uint64_t initialized = 0;  // of these
  };
  /// By the used part of a queue's capacity, then by name.
  struct Fill {
    double part = 0;
    std::size_t name = 0;  // its position among all names
    std::size_t queue = 0;
    friend bool operator<(const Fill& a, const Fill& b) { return a.part != b.part ? a.part < b.part : a.name < b.name; }
  };
  using Level = std::array<std::set<Fill>, 3>;  // queues of one parent, by slot kind
  struct Queue {
    QueueSettings settings;
    std::size_t name = 0;
    Level children;
    Used used{};
    std::set<JobOrder> runnable;              // initialised jobs with pending tasks
    std::map<JobOrder, std::string> waiting;  // active jobs that are not initialised, and their users
    std::uint64_t initialized = 0, most_jobs = 0, most_jobs_of_user = 0;
    std::map<std::string, User> users;
    std::size_t active_users = 0;
    double demand = 0;  // any kind
    bool leaf() const { return children[0].empty(); }
  };
  struct Job {
    Used used{};
    double demand = 0;
    bool active = false, initialized = false, pending = false;
  };

  JobOrder order_of(const Queue& queue, const JobInfo& job) const;
  void apply(const JobInfo& job, const Used& used, double demand, bool active, bool pending);
  void set_active(Queue& queue, Job& job, const JobInfo& info, bool active);
  void initialize(Queue& queue);
  Level& level_of(const Queue& queue);
  static Fill fill_of(const Queue& queue, std::size_t index, std::size_t kind);
  double capacity_of(std::size_t queue, double total) const;
  bool offer(const ClusterView& view, SlotKind kind, const Level& level, double parent, Launcher& launcher);
  bool offer_jobs(const ClusterView& view, SlotKind kind, const Queue& queue, double capacity, double most, Launcher& launcher);
  void hold_all(std::size_t queue, std::string_view reason, Launcher& launcher) const;
  static std::optional<std::string_view> limit_reached(const Queue& queue, const JobInfo& job, std::size_t kind, double amount,
                                                       double capacity, double most);

  std::vector<Queue> queues_;  // parents before children
  Level top_;
  std::map<std::string, std::size_t> leaves_;
  std::map<JobId, Job> jobs_;
  std::set<JobId> to_notify_;  // that their tasks wait until they are initialised
  bool one_for_all_;
};

}  // namespace weft::schedulers
