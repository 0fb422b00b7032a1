// What `weft masters` shows.
#pragma once

#include <string>

#include "engine/master/protocol/protocol.hpp"

namespace weft::tools {

/// "leads", "in sync" or "copies".
const char* state_of(const client::MasterStatus& master);
std::string masters_table(const client::MasterList& list);
std::string masters_json(const client::MasterList& list);

}  // namespace weft::tools
