// The hosts that a Rumen trace and its topology file name, in the order of their first mention.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_reader.hpp"
#include "base/result.hpp"
#include "engine/simulator/workload.hpp"

namespace weft::simulator::workloads {

/// Names lose the backslashes that Rumen puts before dots.
class RumenHosts {
 public:
  /// {"name": …, "children": [racks of hosts]}: leaves are hosts, their parents are the racks. No other hosts are added later.
  Result<void> load(const std::string& path);

  /// Returns the host's name. The first rack of a host stays.
  std::string add(std::string_view rack, std::string_view host);
  /// "/rack/host"; anything else is ignored.
  void add_path(std::string_view path);

  std::vector<HostSpec> take() && { return std::move(hosts_); }

 private:
  Result<bool> load_node(JsonReader& json, std::string& name, std::vector<std::string>& leaves);

  bool complete_ = false;
  std::vector<HostSpec> hosts_;
  std::map<std::string, std::size_t, std::less<>> positions_;
};

}  // namespace weft::simulator::workloads
