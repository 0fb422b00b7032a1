// What workers may be given at present, and why that is less than what they joined with: what they say themselves (`weft worker
// --capacity-from`), what others on their machines take (`--yield`), and an operator (`weft node set`).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.hpp"
#include "engine/master/core/events.hpp"
#include "engine/master/journal/journal_record.hpp"
#include "engine/master/nodes/capacity_words.hpp"
#include "engine/master/nodes/colocated_load.hpp"

namespace weft::master {

/// One thread. An operator's words count for all workers of a name, also for those that join later.
class NodeCapacities {
 public:
  /// `machine`: of a worker that leaves to others on its machine what they take.
  void joined(NodeId id, const std::string& name, const std::string& host, const schedulers::Resources& nominal,
              const std::optional<ColocatedLoad::Machine>& machine);
  void left(NodeId id);

  /// The text of the worker's capacity file; empty: it has none. What is wrong with it is the error, once for each text, and
  /// what was said before stays.
  Result<void> said(NodeId id, std::string_view text);
  /// `lost` of the devices that it joined with have failed; `why` says how.
  void devices_lost(NodeId id, std::uint32_t lost, std::string_view why);
  /// Takes the text of its forecast. `utc_offset`: of the worker's hours.
  Result<void> forecast(NodeId id, std::string_view text, Duration utc_offset);
  void measured(NodeId id, const schedulers::Resources& used, const schedulers::Resources& machine, Time now) {
    load_.measured(id, used, machine, now);
  }
  /// An operator's words, and perhaps why; what a worker of that name is and which of its resources it accounts for is checked.
  /// Returns what is set of it from now on.
  Result<NodeSetting> set(const std::string& name, std::string_view text, std::string_view reason);

  /// As if set() had been called with it; for the time when workers of that name join.
  Result<void> restore(const NodeSetting& setting);

  /// What the core does not know yet of the node; nothing when it knows all. `unix_now`: the same moment as `now`, since 1970.
  std::optional<CapacityChanged> news(NodeId id, Time now, Duration unix_now);

 private:
  struct Operator {
    CapacityWords words;
    std::string why;
  };
  struct Node {
    std::string name;
    schedulers::Resources nominal;
    std::string said_text, forecast_text;
    CapacityWords said, devices;  // devices: what is left of them
    std::string devices_why;
    std::vector<DayLevel> levels;
    Duration utc_offset{0};
    std::optional<Time> forecast_at;  // when the core was given its steps last
    schedulers::Resources known;      // to the core
    std::string known_why;
  };
  static Result<void> check(const Node& node, const CapacityWords& words);
  CapacityChanged present(NodeId id, const Node& node) const;

  std::map<NodeId, Node> nodes_;
  std::map<std::string, Operator> operators_;  // by worker
  ColocatedLoad load_;
};

}  // namespace weft::master
