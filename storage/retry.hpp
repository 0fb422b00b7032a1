// Whether a client of the cluster's files or tables tries a call again, and after which pause.
#pragma once

#include <algorithm>
#include <functional>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"
#include "storage/transient.hpp"

namespace weft::storage {

/// Called with what a call waits for.
using Waiting = std::function<void(const std::string&)>;

/// The tries of one call, for as long as its client's options allow. One thread.
class Retry {
 public:
  struct Pauses {
    Duration first{}, longest{};  // each is twice as long as the one before
  };
  /// From the options of a client: its `patience` is the time for all tries together; `waiting`, which outlives this and may be
  /// empty, is called once with what is waited for, unless that takes only a moment.
  template <class Options>
  Retry(const Options& options, Pauses pauses) : Retry(options.patience, options.waiting, pauses) {}
  /// For the first answer of all: `at_first` is the time for that, and no more than `patience`. A wrong address shows soon.
  template <class Options>
  static Retry at_first(const Options& options, Pauses pauses) {
    return Retry(std::min(options.at_first, options.patience), options.waiting, pauses);
  }

  Retry(Duration time, const Waiting& waiting, Pauses pauses);

  /// After a failure: true, after a pause, when it is transient and the time is not over. No pause ends after that: the last try is
  /// made when the time is over.
  bool again(const Error& why) { return is_transient(why) && wait(why); }
  /// The same whatever the failure.
  bool wait(const Error& why);
  /// The time is over.
  bool over() const { return SystemClock().now() > end_; }
  /// Since the first try.
  Duration spent() const { return SystemClock().now() - begin_; }

 private:
  const Waiting& waiting_;
  const TimePoint begin_, end_;
  const Duration longest_;
  Duration pause_;
  bool said_ = false;
};

}  // namespace weft::storage
