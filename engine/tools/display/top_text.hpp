// What `weft top` shows, as lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "engine/master/protocol/protocol.hpp"

namespace weft::tools {

/// What the cluster did over the last hour, the newest last; all of the same length.
struct TopPast {
  std::vector<double> seconds_ago, slots, running, pending;
  std::vector<std::pair<double, std::string>> events;  // seconds ago, and what happened
};
/// Of /past in docs/rest.md; corrupt when it is none.
Result<TopPast> parse_past(std::string_view json);

/// A cluster at one moment.
struct TopSnapshot {
  TimePoint at{};
  std::vector<client::NodeStatus> nodes{};
  client::JobList jobs{};                        // all, without stages
  std::map<JobId, master::JobStatus> in_full{};  // running ones, with their stages: as many as are shown
  std::string past{};                            // JSON of the last hour; empty: the master does not keep it
};

struct TopLayout {
  bool nodes = true, jobs = true;
  std::size_t rows = 0;  // at most this many lines; 0: all
};

/// A line of sums, the last hour, a table of running jobs, the newest last, and a table of workers, the busiest first. Rates are
/// those between the two snapshots; when `before` is null there are none. Jobs and workers beyond the rows are only counted.
std::vector<std::string> top_lines(const TopSnapshot& now, const TopSnapshot* before, const TopLayout& view);
std::string top_json(const TopSnapshot& now);

}  // namespace weft::tools
