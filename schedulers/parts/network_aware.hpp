// Chooses which task of a user a node gets, by the load of its rack's uplink: NASS of ShuffleWatcher (policies/shufflewatcher.hpp),
// around an order of users.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "schedulers/parts/map_racks.hpp"
#include "schedulers/parts/parts.hpp"
#include "schedulers/parts/reduce_racks.hpp"
#include "schedulers/parts/uplink_load.hpp"

namespace weft::schedulers {

/// Which of a user's jobs goes first, of those with tasks of the same kind: the one with least work left, with least running, or
/// the oldest.
enum class UsersJobs : std::uint8_t { shortest = 0, fewest = 1, arrival = 2 };

struct NetworkAwareOptions {
  bool sarp = true, samp = true;
  UsersJobs jobs = UsersJobs::shortest;
  UplinkLoadOptions load;
  double map_completion = 0.15;
  double samp_wait = 3;         // a map waits for its job's racks this many times as long as its output takes on the uplink
  bool shapes_traffic = false;  // prefetches across a saturated uplink are limited, too
  std::uint32_t tokens = 1;     // how many of these a node may have under way
  Time starvation = std::chrono::minutes(10), relaxed{0};
};

/// The kind of a task, as seen from the node that asks. The two orders of NASS are orders of these kinds (network_aware.cpp).
enum class NassKind : std::uint8_t;

class NetworkAware final : public OrderingPolicy, public PrefetchLimits {
 public:
  /// `groups`: of the order of users; null: it has none.
  NetworkAware(std::unique_ptr<OrderingPolicy> users, const JobGroups* groups, const NetworkAwareOptions& options);

  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  Time period() const override { return on_ ? options_.load.interval : Time(0); }
  bool tick(const ClusterView& view, Decisions& decisions) override;
  void begin(const ClusterView& view, std::size_t nodes) override;
  void decided(const ClusterView& view, Decisions& decisions) override;
  bool offer(const ClusterView& view, SlotKind kind, Launcher& launcher) override;
  void explain(const ClusterView& view, Launcher& launcher) override;
  Asks asks() const override { return on_ ? Asks::nodes : Asks::jobs; }
  bool wants_all_nodes() override { return users_->wants_all_nodes(); }
  bool offers_all() const override { return false; }
  std::optional<std::uint32_t> far_prefetches(RackId rack) const override;

  /// The part of each rack in the tasks that are placed while maps run; empty: no rack is preferred.
  RackParts parts_for(const ClusterView& view, const JobInfo& job, const StageInfo& reader) const;

 private:
  struct Job {
    const JobInfo* info = nullptr;
    Time served{0};                       // when it launched a task last, or arrived
    std::uint64_t finished = UINT64_MAX;  // tasks, when the next two were computed
    bool heavy = false;                   // it shuffles more than it reads
    double work = 0;                      // seconds of its unfinished tasks
    std::string_view waits, last_reason;  // why it launched nothing in this call; the recorded reason
  };
  struct User {
    std::map<JobOrder, Job*> runnable;
    std::size_t jobs = 0;
    std::optional<Time> yields_since;  // since when it lets other users go first
  };
  struct Candidate {
    int place = INT32_MAX;
    double rank = 0;
    NassKind kind{};
    Job* job = nullptr;
    const StageInfo* stage = nullptr;
  };
  struct Call {
    const ClusterView& view;
    SlotKind kind;
    Launcher& launcher;
    const NodeInfo& node;
    bool saturated = false;
    bool yielded = false, last = false;  // a user let others go first; no other user launched anything
    std::vector<const User*> tried{};
    std::vector<const StageInfo*> no_remote{};  // stages all of whose remote maps have input in the chosen racks
  };
  class UsersLauncher;
  using UserKey = std::pair<std::string, std::string>;  // user, pool

  void arrive(const JobInfo& job);
  void change(const JobInfo& job);
  void end(const JobInfo& job);
  bool launch_for(Call& call, const JobInfo& offered);
  Candidate best_of(Call& call, User& user, const JobInfo& offered);
  std::optional<NassKind> kind_of(Call& call, Job& job, const StageInfo& stage, Locality near);
  std::optional<NassKind> kind_of_reduce(Call& call, Job& job, const StageInfo& stage);
  void update(Job& job) const;
  double rank_of(const Job& job) const;
  /// Null: there is none, or SAMP is off.
  const MapRacks* choice_of(const JobInfo& job) const;
  bool yields(Call& call, User& user, const Candidate& best);
  Time time_on_uplink(const Call& call, const JobInfo& job, const MapRacks& chosen) const;
  bool launch(Call& call, const Candidate& best) const;

  std::unique_ptr<OrderingPolicy> users_;
  const JobGroups* groups_;
  NetworkAwareOptions options_;
  UplinkLoad load_;
  MapRackChoices map_racks_;
  ReduceRacks reduce_racks_;
  bool on_ = false;           // there are two racks at least
  bool waiting_ = false;      // a user lets others go first, though no other user needs the capacity
  std::optional<Time> wake_;  // when the first of those stops waiting
  std::map<UserKey, User> by_user_;
  std::unordered_map<JobId, Job> jobs_;
};

}  // namespace weft::schedulers
