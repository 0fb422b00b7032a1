#include "engine/master/nodes/node_capacities.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/text.hpp"

namespace weft::master {
namespace {

using namespace std::chrono_literals;
using schedulers::kResourceKinds;

constexpr Duration kHorizon = kDay;
constexpr Time kRefresh = 1h;  // of forecasts: so much of the horizon may be missing

bool limits(const CapacityWords& words, const schedulers::Resources& present, const schedulers::Resources& nominal) {
  return std::any_of(words.begin(), words.end(), [&](const auto& word) {
    const auto amount = kResourceKinds[word.first].amount;
    return word.second && *word.second == present.*amount && present.*amount < nominal.*amount;
  });
}

CapacityWords words_left(const ColocatedLoad::Left& left) {
  CapacityWords words;
  for (std::size_t kind = 0; kind < kResourceKinds.size(); ++kind) {
    if (kResourceKinds[kind].amount == &schedulers::Resources::cpu) words[kind] = left.slots;
    if (kResourceKinds[kind].amount == &schedulers::Resources::memory) words[kind] = left.memory;
  }
  return words;
}

}  // namespace

void NodeCapacities::joined(NodeId id, const std::string& name, const std::string& host, const schedulers::Resources& nominal,
                            const std::optional<ColocatedLoad::Machine>& machine) {
  Node& node = nodes_[id];
  node.name = name;
  node.nominal = node.known = nominal;
  if (machine) load_.joined(id, host, nominal, *machine);
}

void NodeCapacities::left(NodeId id) {
  nodes_.erase(id);
  load_.left(id);
}

Result<void> NodeCapacities::check(const Node& node, const CapacityWords& words) {
  for (const auto& [kind, amount] : words) {
    if (amount && !schedulers::accounted(kResourceKinds[kind], node.nominal))
      return fail(Code::invalid_argument, fmt::format("worker {} does not account for {}; start it with --capacity {}=…",
                                                      escaped(node.name), kResourceKinds[kind].name, kResourceKinds[kind].name));
  }
  return {};
}

Result<void> NodeCapacities::said(NodeId id, std::string_view text) {
  Node& node = nodes_.at(id);
  if (std::exchange(node.said_text, text) == text) return {};
  CapacityWords words;
  if (!text.empty()) {
    WEFT_ASSIGN(words, parse_capacity_words(text));
    WEFT_TRY(check(node, words));
  }
  node.said = std::move(words);
  return {};
}

void NodeCapacities::devices_lost(NodeId id, std::uint32_t lost, std::string_view why) {
  Node& node = nodes_.at(id);
  node.devices.clear();
  node.devices_why = why;
  if (lost == 0) return;
  for (std::size_t kind = 0; kind < kResourceKinds.size(); ++kind)
    if (kResourceKinds[kind].amount == &schedulers::Resources::accelerator)
      node.devices[kind] = std::max(0.0, node.nominal.accelerator - lost);
}

Result<void> NodeCapacities::forecast(NodeId id, std::string_view text, Duration utc_offset) {
  Node& node = nodes_.at(id);
  if (std::exchange(node.forecast_text, text) == text && node.utc_offset == utc_offset) return {};
  std::vector<DayLevel> levels;
  if (!text.empty()) {
    WEFT_ASSIGN(levels, parse_forecast(text));
    for (const DayLevel& level : levels) WEFT_TRY(check(node, level.words));
  }
  node.levels = std::move(levels);
  node.utc_offset = utc_offset;
  node.forecast_at.reset();
  return {};
}

Result<NodeSetting> NodeCapacities::set(const std::string& name, std::string_view text, std::string_view reason) {
  WEFT_ASSIGN(const CapacityWords words, parse_capacity_words(text));
  bool any = false;
  for (const auto& [id, node] : nodes_) {
    if (node.name != name) continue;
    any = true;
    for (const auto& [kind, amount] : words) {
      const double nominal = node.nominal.*kResourceKinds[kind].amount;
      if (amount) WEFT_TRY(check(node, words));
      if (amount && *amount > nominal)
        return fail(Code::invalid_argument, fmt::format("worker {} joined with {}: it cannot be given more than that",
                                                        escaped(name), to_string(node.nominal)));
    }
  }
  if (!any)
    return fail(Code::not_found, fmt::format("there is no worker '{}'; weft node list shows those there are", escaped(name)));
  Operator& by = operators_[name];
  for (const auto& [kind, amount] : words) {
    by.words.erase(kind);
    if (amount) by.words[kind] = amount;
  }
  by.why = reason.empty() ? std::string("set by an operator") : fmt::format("set by an operator: {}", reason);
  NodeSetting setting{name, to_text(by.words), by.why};
  if (by.words.empty()) operators_.erase(name);
  return setting;
}

Result<void> NodeCapacities::restore(const NodeSetting& setting) {
  WEFT_ASSIGN(CapacityWords words, parse_capacity_words(setting.capacity));
  operators_[setting.worker] = {std::move(words), setting.why};
  return {};
}

CapacityChanged NodeCapacities::present(NodeId id, const Node& node) const {
  CapacityChanged event;
  event.node = id;
  std::vector<std::pair<CapacityWords, std::string>> sources{{node.said, "its --capacity-from file"},
                                                             {node.devices, node.devices_why}};
  if (const auto left = load_.of(id)) sources.emplace_back(words_left(*left), left->why);
  if (const auto by = operators_.find(node.name); by != operators_.end()) sources.emplace_back(by->second.words, by->second.why);
  schedulers::Resources capacity = node.nominal;
  for (const auto& [words, why] : sources) capacity = limited(capacity, words);
  std::vector<std::string> reasons;
  for (const auto& [words, why] : sources) {
    if (limits(words, capacity, node.nominal)) reasons.push_back(why);
  }
  event.capacity = capacity;
  event.why = join(reasons, "; ");
  return event;
}

std::optional<CapacityChanged> NodeCapacities::news(NodeId id, Time now, Duration unix_now) {
  Node& node = nodes_.at(id);
  CapacityChanged event = present(id, node);
  const bool forecast_due = !node.levels.empty() && (!node.forecast_at || now - *node.forecast_at >= kRefresh);
  if (event.capacity == node.known && event.why == node.known_why && !forecast_due) return std::nullopt;
  if (forecast_due) {
    node.forecast_at = now;
    event.forecast = forecast_steps(node.levels, node.nominal, now, (unix_now + node.utc_offset) % kDay, kHorizon);
  }
  node.known = *event.capacity;
  node.known_why = event.why;
  return event;
}

}  // namespace weft::master
