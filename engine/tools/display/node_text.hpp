// What `weft node list` shows.
#pragma once

#include <string>
#include <vector>

#include "engine/master/protocol/protocol.hpp"

namespace weft::tools {

/// "ready", "excluded", "lost" or "dead".
const char* state_of(const client::NodeStatus& node);
std::string nodes_table(const std::vector<client::NodeStatus>& nodes);
std::string nodes_json(const std::vector<client::NodeStatus>& nodes);

}  // namespace weft::tools
