// Tasks that no live node is large enough for: a job that has some when it hands them over fails; one that comes to have some later
// waits CoreOptions::placement_wait for a larger node before it fails. Without any node all wait for ever.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "engine/master/core/context.hpp"

namespace weft::master {

class OversizedTasks {
 public:
  explicit OversizedTasks(CoreContext& context) : context_(context) {}

  /// A node has joined or left, with this capacity. O(jobs) when it was the only one of its kind.
  void node_joined(const schedulers::Resources& capacity) { count(capacity, +1); }
  void node_left(const schedulers::Resources& capacity) { count(capacity, -1); }

  /// Why the job cannot run; nothing when each of its tasks fits some node, or there is no node.
  std::optional<Error> refusal(const JobRecord& job) const;
  /// A timer of the job has fired: it fails if it still has such tasks and has waited long enough since it came to have them.
  void due(JobId job);
  void forget(JobId job) { waiting_.erase(job); }
  /// Which jobs have tasks now that fit no node, and which no longer: their time begins. O(jobs).
  void review();

 private:
  void count(const schedulers::Resources& capacity, int change);
  bool fits_some(const schedulers::Resources& demand) const;

  CoreContext& context_;
  std::vector<std::pair<schedulers::Resources, std::uint32_t>> kinds_;  // distinct capacities, and how many nodes have each
  std::map<JobId, Time> waiting_;                                       // until when, with a timer each
};

}  // namespace weft::master
