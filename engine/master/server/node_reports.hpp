// What clients see of workers.
#pragma once

#include "engine/master/protocol/protocol.hpp"
#include "engine/master/server/workers.hpp"

namespace weft::master {

/// Those that are registered, and those that were lost of late.
client::NodeList node_list(Workers& workers);

}  // namespace weft::master
