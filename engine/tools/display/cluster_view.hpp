// What `weft top` shows, as lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "engine/master/protocol/protocol.hpp"

namespace weft::tools {

/// A cluster at one moment.
struct ClusterLook {
  TimePoint at{};
  std::vector<client::NodeStatus> nodes{};
  client::JobList jobs{};                        // all, without stages
  std::map<JobId, master::JobStatus> in_full{};  // running ones, with their stages: as many as are shown
};

struct ClusterView {
  bool nodes = true, jobs = true;
  std::size_t rows = 0;  // at most so many lines; 0: all
};

/// A line of sums, a table of running jobs, the newest last, and one of workers, the busiest first. Rates are those between the two
/// looks; without `before` (null) there are none. What has no room is counted.
std::vector<std::string> lines_of(const ClusterLook& now, const ClusterLook* before, const ClusterView& view);
std::string look_json(const ClusterLook& now);

}  // namespace weft::tools
