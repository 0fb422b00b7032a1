// What `weft node list --racks` shows: the uplinks of racks and how much of them is in use.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/master/protocol/protocol.hpp"

namespace weft::tools {

/// Bytes per second.
struct RackLoad {
  std::string name;
  std::uint32_t nodes = 0, slots = 0, running = 0;
  std::uint32_t lost = 0;           // workers that were lost within the last hour, which count nowhere else
  schedulers::UplinkRate crossing;  // of its workers together, as they reported
  schedulers::UplinkRate uplink;    // what it carries; 0: not known
  schedulers::UplinkRate most;      // the largest rates that were seen

  /// The part of the busier direction that is in use: of what the uplink carries or, where that is not known, of the largest rate
  /// seen. 0: nothing ever crossed.
  double in_use() const;
};

/// By name.
std::vector<RackLoad> racks_of(const std::vector<client::NodeStatus>& nodes);
std::string racks_text(const std::vector<RackLoad>& racks);
std::string racks_json(const std::vector<RackLoad>& racks);

}  // namespace weft::tools
