// How many of the tasks that read a shuffle each rack is to run: SARP of ShuffleWatcher (Ahmad et al., USENIX ATC 2014, section
// 3.3). As many as the rack has of what they read; which ones does not matter.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "schedulers/parts/map_racks.hpp"
#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// `count` things in proportion to the weights, which are not negative: rounded down, and the rest to the largest remainders, the
/// first of equal ones. They add up to `count`; without any weight they are even.
std::vector<std::uint32_t> largest_remainders(std::uint32_t count, const std::vector<double>& weights);

using RackParts = std::vector<std::pair<RackId, double>>;

/// Which part of what the stage reads lies in which rack, so far. Inputs that every task reads whole do not count. Empty: nothing
/// is there.
RackParts shuffle_by_rack(const ClusterView& view, const JobInfo& job, const StageInfo& stage);
/// The part of the maps that it reads that have ended.
double maps_ended(const JobInfo& job, const StageInfo& stage);

class ReduceRacks {
 public:
  /// Before that part of the maps has ended it goes by what SAMP guesses.
  explicit ReduceRacks(double map_completion) : map_completion_(map_completion) {}

  /// Wants to be told everything.
  void on_event(const ClusterView& view, const Notice& notice);
  /// Whether fewer of the stage's tasks than the rack's part were launched there. Also where nothing is known to go by. Where tasks
  /// were placed while maps ran, so that their input is on its way: whether one of them waits in the rack.
  bool wants(const ClusterView& view, const JobInfo& job, const StageInfo& stage, RackId rack, const MapRacks* guess);
  /// The rack's part of what the tasks read, as wants() was asked about it last.
  double share(std::pair<JobId, StageId> stage, RackId rack) const;
  /// For placing tasks while maps run: which part of what they read will lie in which rack. Of the maps that wait the part `kept`
  /// is taken to run as guessed, the rest where those are that have begun. Once all have ended: what was written.
  RackParts parts(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const MapRacks* guess, double kept) const;

 private:
  enum class Basis : std::uint8_t { nothing, guess, some_maps, all_maps };
  struct Count {
    std::uint32_t preferred = 0, launched = 0;  // launched: also those that ended
    double part = 0;
  };
  struct Plan {
    Basis basis = Basis::nothing;
    bool stale = true;      // launches are to be counted again
    bool anywhere = false;  // nothing was written for it
    std::map<RackId, Count> racks;
  };
  using Key = std::pair<JobId, StageId>;

  Basis basis_now(const JobInfo& job, const StageInfo& stage, const MapRacks* guess) const;
  void recount(const ClusterView& view, const StageInfo& stage, Plan& plan) const;

  double map_completion_;
  std::map<Key, Plan> plans_;
};

}  // namespace weft::schedulers
