#include "engine/master/core/device_speed.hpp"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "base/attributes.hpp"
#include "base/clock.hpp"

namespace weft::master {

void DeviceSpeed::ended(bool with_device, NodeId node, schedulers::Time took) {
  if (with_device && compiled_.insert(node).second) return;
  Ended& ended = ended_[with_device ? 1 : 0];
  ++ended.tasks;
  ended.seconds += in_seconds(took);
}

bool DeviceSpeed::pays(const schedulers::StageInfo& stage) const {
  const auto& [host, device] = ended_;
  if (host.tasks >= kEnough && device.tasks >= kEnough) return device.mean() <= host.mean();
  if (tried_ == 0 || !stage.profile) return true;
  const auto& kinds = stage.profile->kinds;  // of tasks, by the attributes that counted for them
  const std::string start = fmt::format("{}=", kAcceleratorAttribute);
  const auto on_host = kinds.find("");
  const auto on_device = std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.first.starts_with(start); });
  return on_host == kinds.end() || on_device == kinds.end() || on_device->second <= on_host->second;
}

}  // namespace weft::master
