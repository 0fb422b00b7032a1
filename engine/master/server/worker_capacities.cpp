#include "engine/master/server/worker_capacities.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include <fmt/core.h>

#include "base/text.hpp"

namespace weft::master {

void WorkerCapacities::joined(NodeId id, const protocol::Register& info, const schedulers::Resources& capacity) {
  std::optional<ColocatedLoad::Machine> machine;
  if (info.processors > 0) machine = {static_cast<double>(info.processors), static_cast<double>(info.machine_memory)};
  capacities_.joined(id, info.name, info.host, capacity, machine);
  update(id);
}

void WorkerCapacities::measured(NodeId id, const schedulers::Resources& worker, const schedulers::Resources& machine) {
  capacities_.measured(id, worker, machine, context_.shell.now());
}

/// What is wrong with a text is logged, and what it said before stays; a worker sends each text once.
Result<void> WorkerCapacities::on_texts(NodeId id, const RegisteredWorker& worker, const rpc::Message& message) {
  WEFT_ASSIGN(const protocol::CapacityTexts texts, protocol::decode<protocol::CapacityTexts>(message));
  if (std::max({texts.capacity.size(), texts.forecast.size(), texts.devices_why.size()}) > protocol::kMostCapacityText ||
      std::abs(texts.utc_offset.count()) > kDay.count())
    return fail(Code::corrupt, "capacity texts that cannot be");
  const auto warn = [&](std::string_view what, const Result<void>& done) {
    if (!done)
      log_.warn("worker {}: its {} is wrong: {}; what it said before stays", worker.info.name, what, done.error().to_string());
  };
  warn("--capacity-from file", capacities_.said(id, texts.capacity));
  warn("--forecast file", capacities_.forecast(id, texts.forecast, texts.utc_offset));
  capacities_.devices_lost(id, texts.devices_lost, escaped(texts.devices_why));
  update(id);
  return {};
}

void WorkerCapacities::update(NodeId id) {
  auto event = capacities_.news(id, context_.shell.now(), std::chrono::system_clock::now().time_since_epoch());
  if (!event) return;
  const std::string said = fmt::format("worker {} has {} at present{}{}", context_.table.at(id).info.name,
                                       to_string(*event->capacity), event->why.empty() ? "" : ": ", event->why);
  const schedulers::NodeInfo* known = context_.shell.core().view().node(id);
  const bool changes = known != nullptr && known->capacity != *event->capacity;
  if (const auto applied = context_.shell.apply(std::move(*event)); !applied) return log_.debug("{}", applied.error().to_string());
  if (changes) log_.info("{}", said);
}

Result<void> WorkerCapacities::set(const std::string& name, std::string_view text, std::string_view reason) {
  WEFT_ASSIGN(NodeSetting setting, capacities_.set(name, text, reason));
  context_.recorder.record(std::move(setting));
  std::vector<NodeId> of_name;
  for (const auto& [id, worker] : context_.table.all())
    if (worker.info.name == name) of_name.push_back(id);
  for (const NodeId id : of_name) update(id);
  return {};
}

void WorkerCapacities::restore(const std::vector<NodeSetting>& settings) {
  for (const NodeSetting& setting : settings) {
    const auto restored = capacities_.restore(setting);
    if (restored) {
      log_.info("worker {} will have {} at most, {}", setting.worker, setting.capacity, setting.why);
    } else {
      log_.warn("what an operator set of worker {} is forgotten: {}", setting.worker, restored.error().to_string());
    }
  }
}

}  // namespace weft::master
