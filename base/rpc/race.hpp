// Connects to the first of several addresses that shakes hands.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/rpc/loop.hpp"

namespace weft::rpc {

/// The tries of one Reactor::connect() to a list (Endpoint::parse_list). The first address is tried at once, each other one when
/// the one before it has failed, or has not shaken hands within a quarter of a second. A connection alone decides nothing: that to
/// a process which is stopped is made by its kernel. While others are still silent, one that cannot be reached is tried again every
/// quarter of a second: of masters, it may begin to lead because another one is stopped. Keeps itself alive until it has called
/// `done`, once. Loop's thread only.
///
/// Which address has answered before is not remembered. The one that leads may be another by then, those that do not lead refuse
/// connections at once, and one that is stopped costs a quarter of a second.
class Race : public std::enable_shared_from_this<Race> {
 public:
  using Done = std::function<void(Result<ConnectionPtr>)>;
  /// Ends a try without a call of its `done`, or with a failure. Does nothing to one that has ended.
  using Abandon = std::function<void()>;
  /// Connects to one address, shakes hands, and calls `done` once, at the deadline at the latest.
  using Try = std::function<Abandon(const std::string& address, Duration deadline, Done done)>;

  Race(Loop& loop, std::vector<std::string> addresses, Duration deadline, Try one, Done done);
  void start() { start_next(); }

 private:
  struct Runner {
    Abandon abandon;
    std::optional<Error> failure;
    std::unique_ptr<Timer> again;  // until it is tried once more
  };

  void start_next();
  void run(std::size_t index);
  void try_again(std::size_t index);
  void ended(std::size_t index, Result<ConnectionPtr> result);
  void won(std::size_t index, ConnectionPtr connection);
  /// Nothing more is tried; returns what to call.
  Done decide();
  /// Why none of them answers, in one line. version_mismatch when one of them is a process of another version: more tries would
  /// find it again.
  Error failure() const;

  Loop& loop_;
  const std::vector<std::string> addresses_;
  const TimePoint deadline_;
  const Duration head_start_;  // of each before the next one
  const Try try_;
  Done done_;                    // null: decided
  std::vector<Runner> runners_;  // of all addresses
  std::size_t started_ = 0, failed_ = 0;
  std::unique_ptr<Timer> timer_;  // of the next one's start
};

}  // namespace weft::rpc
