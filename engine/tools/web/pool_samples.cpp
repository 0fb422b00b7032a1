#include "engine/tools/web/pool_samples.hpp"

#include <set>

#include "base/json.hpp"

namespace weft::web {

void PoolSamples::add(TimePoint at, const std::vector<client::GroupInfo>& groups) {
  Sample sample{at};
  for (const client::GroupInfo& group : groups) {
    if (sample.pools.size() == kMostPools) break;
    if (group.status.used != 0 || group.status.demand != 0 || group.status.guaranteed != 0)
      sample.pools[group.status.name] = {group.status.used, group.status.fair_share};
  }
  const std::lock_guard lock(mutex_);
  samples_.push_back(std::move(sample));
  if (samples_.size() > kKept) samples_.pop_front();
}

std::string PoolSamples::json(TimePoint now) const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> names;
  for (const Sample& sample : samples_)
    for (const auto& [name, use] : sample.pools) names.insert(name);
  JsonWriter json;
  json.begin_object().key("seconds_ago").begin_array();
  for (const Sample& sample : samples_) json.value(in_seconds(now - sample.at));
  json.end_array().key("pools").begin_array();
  for (const std::string& name : names) {
    const auto values = [&](const char* what, double Use::*of) {
      json.key(what).begin_array();
      for (const Sample& sample : samples_) {
        const auto found = sample.pools.find(name);
        json.value(found == sample.pools.end() ? 0.0 : found->second.*of);
      }
      json.end_array();
    };
    json.begin_object().member("name", name);
    values("used", &Use::used);
    values("fair_share", &Use::fair_share);
    json.end_object();
  }
  return json.end_array().end_object().text() + "\n";
}

PoolSampler::PoolSampler(PoolSamples& samples, Ask ask, Duration pause)
    : thread_([this, &samples, ask = std::move(ask), pause](const std::stop_token& ended) {
        std::unique_lock lock(mutex_);
        while (!ended.stop_requested()) {
          lock.unlock();
          if (const auto groups = ask()) samples.add(SystemClock().now(), *groups);
          lock.lock();
          stopped_.wait_for(lock, ended, pause, [] { return false; });
        }
      }) {}

}  // namespace weft::web
