#include "engine/tools/web/pool_samples.hpp"

#include <set>

#include "engine/tools/display/json_members.hpp"

namespace weft::web {

void PoolSamples::add(TimePoint at, const std::vector<client::GroupInfo>& groups) {
  PoolSample sample{at};
  for (const client::GroupInfo& group : groups) {
    if (sample.pools.size() == kMostPools) break;
    if (group.status.used != 0 || group.status.demand != 0 || group.status.guaranteed != 0)
      sample.pools[group.status.name] = {group.status.used, group.status.fair_share};
  }
  const std::lock_guard lock(mutex_);
  samples_.push_back(std::move(sample));
  if (samples_.size() > kKept) samples_.pop_front();
}

std::vector<double> PoolSamples::values(const std::string& pool, double PoolUse::*of) const {
  std::vector<double> all;
  for (const PoolSample& sample : samples_) {
    const auto found = sample.pools.find(pool);
    all.push_back(found == sample.pools.end() ? 0.0 : found->second.*of);
  }
  return all;
}

std::string PoolSamples::json(TimePoint now) const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> names;
  std::vector<double> seconds_ago;
  for (const PoolSample& sample : samples_) {
    seconds_ago.push_back(in_seconds(now - sample.at));
    for (const auto& [name, use] : sample.pools) names.insert(name);
  }
  const auto pool = [this](JsonWriter& json, const std::string& name) {
    tools::members(json, "name", name, "used", values(name, &PoolUse::used), "fair_share", values(name, &PoolUse::fair_share));
  };
  return tools::json_line(tools::object("seconds_ago", seconds_ago, "pools", tools::objects(names, pool)));
}

}  // namespace weft::web
