#include "engine/master/log/heartbeat_filter.hpp"

#include <algorithm>
#include <cmath>

namespace weft::master {
namespace {

using namespace std::chrono_literals;

constexpr Time kInterval = 1s;
constexpr double kChange = 0.05;
constexpr double kRateNoise = 10e3;  // bytes per second
constexpr schedulers::Resources kNoise{0.01, 1e6, kRateNoise, kRateNoise, kRateNoise, kRateNoise, 0, 0};

bool differs(double before, double now, double noise) {
  const double change = std::abs(now - before);
  return change > noise && change > kChange * std::abs(before);
}

bool differs(const schedulers::Resources& before, const schedulers::Resources& now) {
  return std::any_of(schedulers::kResourceKinds.begin(), schedulers::kResourceKinds.end(),
                     [&](const auto& kind) { return differs(before.*kind.amount, now.*kind.amount, kNoise.*kind.amount); });
}

bool differs(const schedulers::UplinkRate& before, const schedulers::UplinkRate& now) {
  return differs(before.up, now.up, kRateNoise) || differs(before.down, now.down, kRateNoise);
}

}  // namespace

bool HeartbeatFilter::admits(const WorkerHeartbeat& heartbeat, Time now) {
  const auto [known, first] = logged_.try_emplace(heartbeat.node);
  Logged& logged = known->second;
  const bool differs_enough = differs(logged.heartbeat.used, heartbeat.used) ||
                              differs(logged.heartbeat.machine, heartbeat.machine) ||
                              differs(logged.heartbeat.cross_rack, heartbeat.cross_rack);
  const bool due = first || now - logged.at >= kInterval;
  if (!heartbeat.capacity && heartbeat.forecast.empty() && !(due && differs_enough)) {
    if (first) logged_.erase(known);
    return false;
  }
  logged = {now, heartbeat};
  return true;
}

}  // namespace weft::master
