// How fast bytes may come from each other worker, whoever asks for them: shuffles leave room on the links for others.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "base/clock.hpp"

namespace weft::shuffle {

/// Shared by all fetchers of a worker. One thread.
class LinkCap {
 public:
  /// `bytes_per_second` is not 0.
  explicit LinkCap(std::uint64_t bytes_per_second) : bytes_per_second_(static_cast<double>(bytes_per_second)) {}

  /// From when on something may be asked for there.
  TimePoint free_at(const std::string& address) const {
    const auto link = links_.find(address);
    return link == links_.end() ? TimePoint() : link->second;
  }
  /// So much came for what was asked at that time.
  void took(const std::string& address, TimePoint asked, std::uint64_t bytes) {
    TimePoint& free = links_[address];
    const std::chrono::duration<double> time(static_cast<double>(bytes) / bytes_per_second_);
    free = std::max(free, asked) + std::chrono::duration_cast<Duration>(time);
  }
  void forget(const std::string& address) { links_.erase(address); }

 private:
  const double bytes_per_second_;
  std::map<std::string, TimePoint> links_;  // by address
};

}  // namespace weft::shuffle
