// What `weft pool list`, `weft queue list` and `weft scheduler show` print as JSON.
#pragma once

#include <string>
#include <vector>

#include "engine/master/protocol/protocol.hpp"

namespace weft::tools {

std::string groups_json(const std::vector<client::GroupInfo>& groups);
std::string scheduler_json(const client::SchedulerInfo& info);

}  // namespace weft::tools
