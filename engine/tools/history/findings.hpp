// What is wrong with a job, in words: each finding with its figures and what to change.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/tools/history/history.hpp"

namespace weft::history {

struct Finding {
  std::string kind;    // skew, slow_node, lost_worker, … (docs/page.md)
  std::string text;    // one line
  std::string advice;  // what to change
  std::vector<std::pair<std::string, double>> numbers{};
};

/// The gravest first; nothing when all is well. A pure function of the history.
std::vector<Finding> findings_of(const EventHistory& history, const LoggedJob& job);

std::string findings_json(const std::vector<Finding>& findings);
/// "No finding: …" when there is none.
std::string findings_text(const std::vector<Finding>& findings);

}  // namespace weft::history
