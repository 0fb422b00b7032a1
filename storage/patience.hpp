// How long a client of the cluster's files or tables waits for those that are away, and that it says so.
#pragma once

#include <functional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace weft::storage {

/// Told what a call waits for.
using Waiting = std::function<void(const std::string&)>;

/// What one call has for a master, workers or replicas that are away. One thread.
class Patience {
 public:
  /// From the options of a client: its `patience` and `waiting`, which outlives this and may be empty.
  template <class Options>
  explicit Patience(const Options& options) : Patience(options.patience, options.waiting) {}

  /// Sleeps; false when it is at its end. Says once what it waits for, unless that takes only a moment.
  bool wait(const Error& why, Duration pause);
  bool over() const { return SystemClock().now() > end_; }

 private:
  Patience(Duration patience, const Waiting& waiting);

  const Waiting& waiting_;
  const TimePoint begin_, end_;
  bool told_ = false;
};

}  // namespace weft::storage
