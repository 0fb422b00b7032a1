// Keeps the tasks of jobs to the racks of their data where uplinks are saturated and that is predicted to pay: what SAMP and SARP
// of ShuffleWatcher (policies/shufflewatcher.hpp) save, around any order of jobs, which stays as it is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "schedulers/parts/map_racks.hpp"
#include "schedulers/parts/parts.hpp"
#include "schedulers/parts/reduce_racks.hpp"
#include "schedulers/parts/uplink_load.hpp"

namespace weft::schedulers {

struct NetworkGainsOptions {
  bool sarp = true, samp = true;  // reduces and maps are kept to racks
  UplinkLoadOptions load;
  double map_completion = 0.15;
  bool shapes_traffic = false;  // prefetches across a saturated uplink are limited, too
  std::uint32_t tokens = 1;     // how many of these a node may have under way
};

/// A task passes on a node in another rack than that of its data while
/// - the uplink of one of these racks is saturated, and all together are busy: where only few are, work is better spread over all,
/// - the bytes that would cross only because of that node would take longer on the node's part of the uplink than the tasks before
/// it
///   take until there is room in the racks of its data, and
/// - it has not passed on nodes for as long as these bytes would take.
/// The next job in order gets the node then. Everything else is decided by the order.
class NetworkGains final : public OrderingPolicy, public PrefetchLimits {
 public:
  NetworkGains(std::unique_ptr<OrderingPolicy> users, const NetworkGainsOptions& options);

  Result<void> start(const ClusterView& view, Part* before) override;
  void on_event(const ClusterView& view, const Notice& notice) override;
  Time period() const override { return on_ ? options_.load.interval : Time(0); }
  bool tick(const ClusterView& view, Decisions& decisions) override;
  void begin(const ClusterView& view, std::size_t nodes) override;
  void decided(const ClusterView& view, Decisions& decisions) override;
  bool offer(const ClusterView& view, SlotKind kind, Launcher& launcher) override;
  Asks asks() const override { return acts() ? Asks::nodes : users_->asks(); }
  bool wants_all_nodes() override { return users_->wants_all_nodes(); }
  bool offers_all() const override { return false; }
  const FairEnds* fair_ends() const override { return users_->fair_ends(); }
  std::optional<std::uint32_t> far_prefetches(RackId rack) const override;

  /// The part of each rack in the tasks that are placed while maps run; empty: no rack is preferred.
  RackParts parts_for(const ClusterView& view, const JobInfo& job, const StageInfo& reader) const;

 private:
  using Key = std::pair<JobId, StageId>;
  /// What a stage's task would save in another rack.
  struct Saving {
    double bytes = 0;
    double queued = 0;  // seconds until the tasks before it there have begun
    bool saturated = false;
  };
  class Choosy;

  bool acts() const { return on_ && saturated_; }
  void claim(const ClusterView& view, JobId job);
  /// Null: keeping to racks is not predicted to pay.
  const MapRacks* paying_choice(JobId job) const;
  Saving saving(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const NodeInfo& node, Launcher& launcher);
  Saving of_map(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const NodeInfo& node, Launcher& launcher);
  Saving of_reduce(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const NodeInfo& node);
  bool passes(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const NodeInfo& node, Launcher& launcher);
  double capacity_of(const RackInfo& rack) const;
  double seconds_on_uplink(const RackInfo& rack, double bytes) const;
  void learn_ratio(const StageInfo& maps);
  double ratio_of(const JobInfo& job) const;

  std::unique_ptr<OrderingPolicy> users_;
  NetworkGainsOptions options_;
  UplinkLoad load_;
  MapRackChoices map_racks_;
  ReduceRacks reduce_racks_;
  bool on_ = false;                     // there are two racks at least
  bool saturated_ = false;              // the uplinks of some racks, and all together are busy
  bool passed_ = false, last_ = false;  // in this offer a task passed; no other job has a task for the node
  bool waiting_ = false;                // a task passed on a node
  std::optional<Time> wake_;            // when the first of those takes any
  std::map<Key, Time> since_;           // when a stage first passed on a node after its last launch
  std::map<Key, RackParts> inputs_;     // of stages all of whose maps have ended
  std::map<JobId, std::map<RackId, double>> claims_;
  std::map<RackId, double> claimed_;  // seconds of waiting maps that are kept to the rack
  double read_ = 0, written_ = 0;     // by maps of all jobs, lately
};

}  // namespace weft::schedulers
