#include "engine/tools/display/rack_text.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/json.hpp"
#include "base/text.hpp"
#include "engine/tools/display/table.hpp"

namespace weft::tools {

namespace {

std::string rate_text(double rate) { return human_bytes(static_cast<std::uint64_t>(rate)) + "/s"; }

/// "60 MiB/s up, 30 MiB/s down", or what was seen of an uplink of which nobody said anything.
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
    if (node.dead || node.lost) continue;
    RackLoad& rack = racks[node.rack];
    rack.name = node.rack;
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
  Table table({"RACK", "WORKERS", "RUNNING", "OUT", "IN", "UPLINK", "IN USE"});
  for (const RackLoad& rack : racks) {
    table.add({rack.name, std::to_string(rack.nodes), fmt::format("{} of {}", rack.running, rack.slots),
               rate_text(rack.crossing.up), rate_text(rack.crossing.down), uplink_text(rack),
               fmt::format("{:.0f} %", 100 * rack.in_use())});
  }
  return table.text();
}

std::string racks_json(const std::vector<RackLoad>& racks) {
  JsonWriter json;
  json.begin_array();
  for (const RackLoad& rack : racks) {
    json.begin_object().member("rack", rack.name).member("workers", rack.nodes).member("slots", rack.slots);
    json.member("running", rack.running).member("cross_rack_up", rack.crossing.up).member("cross_rack_down", rack.crossing.down);
    json.member("uplink_up", rack.uplink.up).member("uplink_down", rack.uplink.down);
    json.member("most_cross_rack_up", rack.most.up).member("most_cross_rack_down", rack.most.down);
    json.member("in_use", rack.in_use()).end_object();
  }
  json.end_array();
  return json.text() + "\n";
}

}  // namespace weft::tools
