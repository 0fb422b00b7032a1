// Chooses the racks for the maps of a job, so that little of its input and of its shuffle crosses between racks: SAMP of
// ShuffleWatcher (Ahmad et al., USENIX ATC 2014, section 3.2).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "schedulers/view/scheduler.hpp"

namespace weft::schedulers {

/// The chunks that a job's maps read. Chunk i has its replicas in racks[first[i]], …, racks[first[i + 1] - 1], which are positions
/// in the list of racks, each once; none: its place is not known.
struct MapInput {
  std::vector<std::uint64_t> bytes;
  std::vector<std::uint32_t> first{0};
  std::vector<std::uint32_t> racks;

  void add(std::uint64_t size, std::span<const std::uint32_t> replicas);
  std::uint64_t total() const;
};

/// A rack that maps may run in. `load`: the input of earlier jobs that was given to it; of racks that hold as much of the input,
/// the one with the smaller load comes first.
struct RackOption {
  RackId id;
  double load = 0;
};

struct MapRacks {
  std::vector<RackId> preferred;
  std::vector<std::pair<RackId, double>> parts;  // the part of the input that each of these gets
  double cross_bytes = 0;                        // input from other racks, and shuffle between racks
  double spread_bytes = 0;  // what crosses where each rack runs as many maps, near their input as far as it can
  double spread_reads = 0;  // of these, what is read
  double chunk_bytes = 0;   // mean size of a chunk

  bool has(RackId rack) const { return std::ranges::find(preferred, rack) != preferred.end(); }
};

/// The racks are ordered by the input that they hold. The first n of them are chosen, with the n for which fewest bytes cross; of
/// equal ones the smallest. Chunks with a replica in the n racks are spread over their racks evenly, the others over all n, and
/// reduces go where maps are. There must be a rack.
MapRacks choose_map_racks(const MapInput& input, std::span<const RackOption> racks, double shuffle_bytes);

/// The choices for all jobs, made once for each, when its map stages are known. Stages without places of their input, or that write
/// no shuffle, do not count.
class MapRackChoices {
 public:
  /// Needs every notice.
  void on_event(const ClusterView& view, const Notice& notice);
  /// Bytes that a job shuffles for each byte of its input.
  using RatioOf = std::function<double(const JobInfo& job)>;
  /// Makes the missing choices, for the jobs in the order of their ids, which it returns.
  std::set<JobId> refresh(const ClusterView& view, const RatioOf& ratio);
  /// The next refresh() chooses for the job again: its ratio has become known.
  void choose_again(JobId job) {
    if (choices_.contains(job)) due_.insert(job);
  }
  /// Null: there is none for the job.
  const MapRacks* of(JobId job) const;
  /// The part of maps with a choice that were launched in the chosen racks, lately; 1 at first.
  double kept() const { return kept_; }

 private:
  struct Choice {
    MapRacks racks;
    double bytes = 0;  // of input
  };
  void forget(JobId job);
  void choose(const ClusterView& view, const JobInfo& job, const RatioOf& ratio);

  std::set<JobId> due_;
  std::map<JobId, Choice> choices_;
  std::map<RackId, double> load_;  // input of these choices
  std::size_t racks_ = 0;          // with nodes, when the choices were made
  double kept_ = 1;
};

}  // namespace weft::schedulers
