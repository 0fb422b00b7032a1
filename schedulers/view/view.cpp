#include "schedulers/view/view.hpp"

#include <fmt/format.h>

#include "base/attributes.hpp"

namespace weft::schedulers {

double RackInfo::uplink_utilisation() const {
  const auto part = [](double rate, double carries, double most) {
    const double of = carries > 0 ? carries : most;
    return of > 0 ? rate / of : 0;
  };
  return std::max(part(cross_rack.up, uplink.up, most_cross_rack.up), part(cross_rack.down, uplink.down, most_cross_rack.down));
}

namespace {
template <class Map, class Key>
const typename Map::mapped_type* find(const Map& map, const Key& key) {
  auto found = map.find(key);
  return found == map.end() ? nullptr : &found->second;
}
}  // namespace

namespace {

/// "accelerator", "accelerator=gpu".
bool for_accelerators(std::string_view variant) { return variant.substr(0, variant.find('=')) == kAcceleratorAttribute; }

}  // namespace

std::vector<std::string> StageInfo::variants_on(const NodeInfo& node, bool holds_device) const {
  std::vector<std::string> those;
  for (const std::string& attribute : variants) {
    if (node.lends_devices() && !holds_device && for_accelerators(attribute)) continue;
    if (has_attribute(node.attributes, attribute)) those.push_back(attribute);
  }
  return those;
}

bool StageInfo::takes_device(std::uint32_t task, const NodeInfo& node) const {
  if (!node.lends_devices()) return false;
  if (demand.accelerator > 0) return true;
  if (node.used.accelerator + 1 > node.capacity.accelerator) return false;
  if (without_device.size() >= kMostDeviceCrashes || without_device.contains(task)) return false;
  return std::any_of(variants.begin(), variants.end(), [&](const std::string& variant) {
    return for_accelerators(variant) && has_attribute(node.attributes, variant);
  });
}

const NodeInfo* ClusterView::node(NodeId id) const { return find(nodes_, id); }
const RackInfo* ClusterView::rack(RackId id) const { return find(racks_, id); }
const JobInfo* ClusterView::job(JobId id) const { return find(jobs_, id); }

const StageInfo* ClusterView::stage(JobId job_id, StageId stage_id) const {
  const JobInfo* info = job(job_id);
  return info == nullptr ? nullptr : info->stage(stage_id);
}

const TaskInfo* ClusterView::task(const TaskId& id) const {
  const StageInfo* info = stage(id.job, id.stage);
  return info == nullptr || id.index >= info->tasks.size() ? nullptr : &info->tasks[id.index];
}

std::optional<HostId> ClusterView::host_named(const std::string& name) const {
  const HostId* id = find(host_ids_, name);
  return id == nullptr ? std::nullopt : std::optional(*id);
}

const std::string& ClusterView::host_name(HostId id) const {
  static const std::string kUnknown = "?";
  return id.value() < host_names_.size() ? host_names_[id.value()] : kUnknown;
}

std::optional<RackId> ClusterView::rack_of(HostId host) const {
  const RackId* rack_id = find(host_racks_, host);
  return rack_id == nullptr ? std::nullopt : std::optional(*rack_id);
}

int ClusterView::distance(NodeId a, NodeId b) const {
  const NodeInfo* left = node(a);
  const NodeInfo* right = node(b);
  if (left == nullptr || right == nullptr) return schedulers::distance(Locality::any);
  if (a == b || left->host == right->host) return schedulers::distance(Locality::node);
  return schedulers::distance(left->rack == right->rack ? Locality::rack : Locality::any);
}

std::optional<Time> ClusterView::launched(const AttemptId& id) const {
  const TaskInfo* info = task(id.task);
  if (info == nullptr || info->state != TaskState::running) return std::nullopt;
  if (id.attempt == info->attempt()) return info->launched;
  const SpeculativeAttempt* speculative = find(stage(id.task.job, id.task.stage)->speculative, id.task.index);
  return speculative == nullptr || speculative->attempt != id.attempt ? std::nullopt : std::optional(speculative->launched);
}

std::optional<std::string> ClusterView::why_not(const TaskId& id, NodeId node_id) const {
  const NodeInfo* where = node(node_id);
  if (where == nullptr) return fmt::format("there is no node {}", node_id.value());
  const StageInfo* info = stage(id.job, id.stage);
  const TaskInfo* what = task(id);
  if (what == nullptr) return fmt::format("there is no {}", weft::to_string(id));
  if (what->state == TaskState::running) {
    if (!stragglers_.contains(id)) return fmt::format("{} is running already", weft::to_string(id));
    if (what->node == node_id) return fmt::format("{} runs there already", weft::to_string(id));
    if (where->slow) return fmt::format("{} is slow and takes no speculative attempts", where->name);
  }
  if (what->state == TaskState::finished) return fmt::format("{} is finished", weft::to_string(id));
  if (what->state == TaskState::blocked || !info->ready) return fmt::format("{} waits for its inputs", weft::to_string(id));
  if (where->leaving) return fmt::format("{} is leaving", where->name);
  if (where->away) return fmt::format("{} has not come back since the master was started again", where->name);
  if (!where->usable()) return fmt::format("{} is excluded after repeated failures", where->name);
  if (what->avoid == node_id) return fmt::format("{} failed on {} and goes to another node", weft::to_string(id), where->name);
  if (!fits(info->demand, where->used, where->capacity)) {
    return fmt::format("{} has no room: wants {}; free is {}", where->name, to_string(info->demand), to_string(where->free()));
  }
  return std::nullopt;
}

}  // namespace weft::schedulers
