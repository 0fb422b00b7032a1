// Readers of shuffles are given nodes while maps still run: when enough maps of an input have ended, the scheduler is asked where
// all of its readers go, and once more for each further input. The nodes are notified of what to prefetch (PrefetchShuffle).
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "engine/master/core/context.hpp"
#include "engine/master/core/round_eviction.hpp"

namespace weft::master {

class Preplacement {
 public:
  Preplacement(CoreContext& context, RoundEviction& rounds) : context_(context), rounds_(rounds) {}

  /// A map of `input` has ended and its output is known. May call the scheduler, which decides through `decisions`.
  void map_finished(JobRecord& job, StageRecord& input, std::uint32_t map, schedulers::Decisions& decisions);
  /// Has the scheduler place the tasks of the reader that are placed nowhere. `fresh`: an input that has become known; without one,
  /// tasks have lost their places.
  void place(JobRecord& job, StageRecord& reader, std::optional<StageId> fresh, schedulers::Decisions& decisions);

  /// The output is elsewhere: nodes that prefetch it are to know of that with the next notice.
  void output_moved(StageRecord& input, std::uint32_t map);
  /// Notifies nodes that prefetch the shuffle of the outputs they do not know of, where they are now.
  void send_outputs(const JobRecord& job, StageRecord& input);
  /// At the end of an event: once a second, tells nodes that prefetch how many fetches from other racks they may have at a time,
  /// where the scheduler says something new of that.
  void limit_far();

 private:
  void send_places(JobRecord& job, StageRecord& input);
  PrefetchShuffle notice(NodeId node, const JobRecord& job, const StageRecord& input) const;

  void tell_limit(NodeId node);

  CoreContext& context_;
  RoundEviction& rounds_;
  Time next_limits_{0};
  std::map<RackId, std::uint32_t> known_far_;  // other than "as many as it likes", once
};

/// Whether the first maps that ended say what the others will write, and so where it will lie. Not so after a partition by the same
/// ranges: what each map writes is nearly all for a reduce of its own.
bool maps_are_alike(const schedulers::StageInfo& input);

}  // namespace weft::master
