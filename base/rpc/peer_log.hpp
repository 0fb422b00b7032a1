// What is logged about peers that misbehave. They may be many, and must not fill the disk with lines.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"

namespace weft::rpc {

/// The first lines of an interval are written; of the others only how many they were, and the last of them, when the interval ends.
/// The loop's thread only.
class PeerLog {
 public:
  static constexpr unsigned kFirst = 5;
  static constexpr Duration kInterval = std::chrono::seconds(10);

  /// A timer, as Loop::after() makes it.
  using After = std::function<std::unique_ptr<Timer>(Duration, std::function<void()>)>;
  explicit PeerLog(After after) : after_(std::move(after)) {}

  void warn(std::string line);

 private:
  void end_interval();

  const Log log_{"rpc"};
  const After after_;
  std::unique_ptr<Timer> interval_;  // while one runs
  unsigned written_ = 0;
  std::uint64_t held_ = 0;
  std::string last_;
};

}  // namespace weft::rpc
