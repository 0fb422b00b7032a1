// What pools and queues used, and what their fair shares were, over the last hour.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "engine/master/protocol/protocol.hpp"

namespace weft::web {

/// Any thread.
class PoolSamples {
 public:
  static constexpr Duration kPause = std::chrono::seconds(10);
  static constexpr std::size_t kKept = 360;       // samples
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

/// Adds a sample every PoolSamples::kPause, on another thread, until it is destroyed.
class PoolSampler {
 public:
  using Ask = std::function<Result<std::vector<client::GroupInfo>>()>;
  /// `samples` outlives this object. What cannot be asked leaves a gap.
  PoolSampler(PoolSamples& samples, Ask ask, Duration pause = PoolSamples::kPause);

 private:
  std::mutex mutex_;
  std::condition_variable_any stopped_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace weft::web
