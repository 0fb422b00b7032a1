#include "engine/tools/display/rack_text.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/tools/display/json_members.hpp"
#include "engine/tools/display/text_table.hpp"

namespace weft::tools {

namespace {

std::string rate_text(double rate) { return human_bytes(static_cast<std::uint64_t>(rate)) + "/s"; }

/// "60 MiB/s up, 30 MiB/s down", or the largest rate seen of an uplink whose rate is not known.
std::string uplink_text(const RackLoad& rack) {
  const auto both = [](const schedulers::UplinkRate& rate) {
    return rate.up == rate.down ? rate_text(rate.up) : fmt::format("{} up, {} down", rate_text(rate.up), rate_text(rate.down));
  };
  if (rack.uplink.up > 0 || rack.uplink.down > 0) return both(rack.uplink);
  if (rack.most.up > 0 || rack.most.down > 0) return fmt::format("not known; most seen: {}", both(rack.most));
  return "not known";
}

double part(double rate, double carries, double most) {
  const double of = carries > 0 ? carries : most;
  return of > 0 ? rate / of : 0;
}

}  // namespace

double RackLoad::in_use() const {
  return std::max(part(crossing.up, uplink.up, most.up), part(crossing.down, uplink.down, most.down));
}

std::vector<RackLoad> racks_of(const std::vector<client::NodeStatus>& nodes) {
  std::map<std::string, RackLoad> racks;
  for (const client::NodeStatus& node : nodes) {
    RackLoad& rack = racks[node.rack];
    rack.name = node.rack;
    if (node.dead || node.lost) {
      ++rack.lost;
      continue;
    }
    ++rack.nodes;
    rack.slots += node.slots;
    rack.running += node.running;
    rack.crossing.up += node.measured.cross_rack.up;
    rack.crossing.down += node.measured.cross_rack.down;
    rack.uplink = node.standing.uplink;
    rack.most = node.standing.most_cross_rack;
  }
  std::vector<RackLoad> all;
  for (auto& [name, rack] : racks) all.push_back(std::move(rack));
  return all;
}

std::string racks_text(const std::vector<RackLoad>& racks) {
  TextTable table({"RACK", "WORKERS", "LOST", "RUNNING", "OUT", "IN", "UPLINK", "IN USE"});
  for (const RackLoad& rack : racks) {
    table.row(rack.name, rack.nodes, rack.lost, fmt::format("{} of {}", rack.running, rack.slots), rate_text(rack.crossing.up),
              rate_text(rack.crossing.down), uplink_text(rack), fmt::format("{:.0f} %", 100 * rack.in_use()));
  }
  return table.text();
}

std::string racks_json(const std::vector<RackLoad>& racks) {
  return json_line(objects(racks, [](JsonWriter& json, const RackLoad& rack) {
    members(json, "rack", rack.name, "workers", rack.nodes, "lost", rack.lost, "slots", rack.slots, "running", rack.running,
            "cross_rack_up", rack.crossing.up, "cross_rack_down", rack.crossing.down, "uplink_up", rack.uplink.up, "uplink_down",
            rack.uplink.down, "most_cross_rack_up", rack.most.up, "most_cross_rack_down", rack.most.down, "in_use", rack.in_use());
  }));
}

}  // namespace weft::tools
