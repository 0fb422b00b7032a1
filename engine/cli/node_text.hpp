// What `weft node list` shows.
#pragma once

#include <string>
#include <vector>

#include "engine/client/protocol.hpp"

namespace weft::cli {

/// "ready", "excluded", "lost" or "dead".
const char* state_of(const client::NodeStatus& node);
std::string nodes_table(const std::vector<client::NodeStatus>& nodes);
std::string nodes_json(const std::vector<client::NodeStatus>& nodes);

}  // namespace weft::cli
