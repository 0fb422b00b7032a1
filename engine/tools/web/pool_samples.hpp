// What pools and queues used, and what their fair shares were, over the last hour.
#pragma once

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "engine/master/protocol/protocol.hpp"

namespace weft::web {

/// Any thread.
class PoolSamples {
 public:
  static constexpr std::size_t kKept = 360;       // samples, one every ten seconds
  static constexpr std::size_t kMostPools = 500;  // of a sample: the first ones

  void add(TimePoint at, const std::vector<client::GroupInfo>& groups);
  /// The samples, the newest last; of pools without use, share and demand throughout, nothing.
  std::string json(TimePoint now) const;

 private:
  struct PoolUse {
    double used = 0, fair_share = 0;
  };
  struct PoolSample {
    TimePoint at{};
    std::map<std::string, PoolUse> pools{};
  };
  /// Of each sample, of one pool; 0 where a sample does not have it.
  std::vector<double> values(const std::string& pool, double PoolUse::*of) const;

  mutable std::mutex mutex_;
  std::deque<PoolSample> samples_;
};

}  // namespace weft::web
