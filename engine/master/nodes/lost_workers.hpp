// The workers that were lost of late, and why: for `weft node list`, and for an alarm when one is lost again and again.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/ids.hpp"

namespace weft::master {

struct LostWorker {
  NodeId node;
  std::string name, host, rack, address;
  std::string reason;  // "SIGBUS", "not heard of for 10.0 s"
  Duration at{0};      // on the master's clock
};

/// Bounded in number and time. One thread.
class LostWorkers {
 public:
  static constexpr std::size_t kMostKept = 100;
  static constexpr Duration kKept = std::chrono::hours(1);
  static constexpr Duration kAlarmWithin = std::chrono::minutes(1);

  /// Of a worker that did not leave by itself. An alarm in words, without its name, when a worker of this name was lost less than
  /// a minute before.
  std::optional<std::string> add(LostWorker worker);
  /// Those of the last hour, the first first.
  const std::deque<LostWorker>& recent(Duration now);

 private:
  std::deque<LostWorker> lost_;
};

}  // namespace weft::master
