// How many of the tasks that read a shuffle each rack should run: SARP of ShuffleWatcher (Ahmad et al., USENIX ATC 2014,
// section 3.3). In proportion to the part of their input that the rack holds; which tasks does not matter.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "schedulers/parts/map_racks.hpp"
#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// Divides `count` in proportion to the weights, which are not negative: rounded down, and the rest to the largest remainders, of
/// equal ones the first. The parts add up to `count`; where all weights are 0 they are even.
std::vector<std::uint32_t> largest_remainders(std::uint32_t count, const std::vector<double>& weights);

using RackParts = std::vector<std::pair<RackId, double>>;

/// The part of the stage's input that lies in each rack so far. Inputs that every task reads whole do not count. Empty: nothing was
/// written.
RackParts shuffle_by_rack(const ClusterView& view, const JobInfo& job, const StageInfo& stage);
/// The part of the stage's maps that have ended.
double maps_ended(const JobInfo& job, const StageInfo& stage);

class ReduceRacks {
 public:
  /// Before that part of the maps has ended, SAMP's choice counts instead of their outputs.
  explicit ReduceRacks(double map_completion) : map_completion_(map_completion) {}

  /// Needs every notice.
  void on_event(const ClusterView& view, const Notice& notice);
  /// Whether fewer of the stage's tasks than the rack's part were launched in the rack, or the parts are not known. Where tasks
  /// were placed while maps ran: whether one of them waits in the rack.
  bool wants(const ClusterView& view, const JobInfo& job, const StageInfo& stage, RackId rack, const MapRacks* guess);
  /// The rack's part of the input, as of the last call of wants().
  double share(std::pair<JobId, StageId> stage, RackId rack) const;
  /// The expected parts of the input by rack, for placing tasks while maps run. Of the waiting maps, the part `kept` is taken to
  /// run in the racks of the guess, the rest where maps have begun. Once all have ended: the parts of their outputs.
  RackParts parts(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const MapRacks* guess, double kept) const;

 private:
  enum class Basis : std::uint8_t { nothing, guess, some_maps, all_maps };
  struct Count {
    std::uint32_t preferred = 0, launched = 0;  // launched: ended ones included
    double part = 0;
  };
  struct Plan {
    Basis basis = Basis::nothing;
    bool stale = true;      // launches must be counted again
    bool anywhere = false;  // nothing was written for the stage
    std::map<RackId, Count> racks;
  };
  using Key = std::pair<JobId, StageId>;

  Basis basis_now(const JobInfo& job, const StageInfo& stage, const MapRacks* guess) const;
  void recount(const ClusterView& view, const StageInfo& stage, Plan& plan) const;

  double map_completion_;
  std::map<Key, Plan> plans_;
};

}  // namespace weft::schedulers
