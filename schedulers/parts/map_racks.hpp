// In which racks the maps of a job are to run, so that little of its input and of its shuffle crosses between racks: SAMP of
// ShuffleWatcher (Ahmad et al., USENIX ATC 2014, section 3.2).
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// The chunks that a job's maps read. Chunk i has its replicas in racks[first[i]], …, racks[first[i + 1] - 1], positions in the
/// list of racks, each once; none: nobody knows where it lies.
struct MapInput {
  std::vector<std::uint64_t> bytes;
  std::vector<std::uint32_t> first{0};
  std::vector<std::uint32_t> racks;

  void add(std::uint64_t size, std::span<const std::uint32_t> replicas);
  std::uint64_t total() const;
};

/// A rack that maps may run in, and the input of earlier jobs that was given to it: of racks that hold the same, the one with less
/// comes first.
struct RackOption {
  RackId id;
  double load = 0;
};

struct MapRacks {
  std::vector<RackId> preferred;
  std::vector<std::pair<RackId, double>> parts;  // of the map input, of each of these
  double cross_bytes = 0;                        // input from elsewhere, and shuffle between racks
  double chunk_bytes = 0;                        // of input, in the mean

  bool has(RackId rack) const { return std::ranges::find(preferred, rack) != preferred.end(); }
};

/// Racks come in order of the input that they hold. Of all beginnings of that order the one is taken with which least crosses:
/// chunks with a replica in it are spread over their racks evenly, the others over all of it, and reduces go where maps are. Of
/// equal ones the shortest. There must be a rack.
MapRacks choose_map_racks(const MapInput& input, std::span<const RackOption> racks, double shuffle_bytes);

/// The choices for all jobs that are there, made once for each, when its map stages are known. A stage that knows no place of its
/// input, or writes no shuffle, is not in them.
class MapRackChoices {
 public:
  /// Wants to be told everything.
  void on_event(const ClusterView& view, const Notice& notice);
  /// Makes the choices that are due, for the jobs in the order of their ids.
  void refresh(const ClusterView& view);
  /// Null: none.
  const MapRacks* of(JobId job) const;
  /// Of maps with a choice the part that ran in the chosen racks, as of those that were launched lately; 1 at first.
  double kept() const { return kept_; }

 private:
  struct Choice {
    MapRacks racks;
    double bytes = 0;  // of input
  };
  void forget(JobId job);
  void choose(const ClusterView& view, const JobInfo& job);

  std::set<JobId> due_;
  std::map<JobId, Choice> choices_;
  std::map<RackId, double> load_;  // input of these choices
  std::size_t racks_ = 0;          // with nodes, when the choices were made
  double kept_ = 1;
};

}  // namespace weft::schedulers
