// What the nodes of a cluster did over the time of a job, in both modes side by side: one HTML page that loads nothing.
#pragma once

#include <string>
#include <vector>

#include "benchmarks/shuffle/node_samples.hpp"
#include "benchmarks/shuffle/run_log.hpp"

namespace weft::bench {

struct Timeline {
  std::string mode;
  JobRun run;
  std::vector<std::vector<NodeSample>> samples;  // by node
};

/// `facts`: how it was measured, in pairs of label and text. All timelines have the same time axis per chart row.
std::string timeline_page(const std::string& title, const std::vector<std::pair<std::string, std::string>>& facts,
                          const std::vector<Timeline>& timelines);

}  // namespace weft::bench
