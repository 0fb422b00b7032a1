// What elections in all stores check before they begin, and how long each of their calls may take. Private to
// engine/master/election.
#pragma once

#include <cstdint>
#include <string>

#include "base/clock.hpp"
#include "base/result.hpp"

namespace weft::master {

/// Without slashes at its end. invalid_argument unless it is http:// or https://HOST[:PORT], and a path where one may be; `setting`
/// is what says it.
Result<std::string> checked_url(const std::string& url, const std::string& setting, bool path);
/// invalid_argument when the member has no id or a time cannot be.
Result<void> check_member(const std::string& member, Duration lease, Duration patience);
/// Whole seconds, rounded up.
std::int64_t lease_seconds(Duration lease);

/// The time of one call, from here on.
class CallTime {
 public:
  explicit CallTime(Duration patience) : end_(SystemClock().now() + patience) {}
  /// Zero when it is over.
  Duration left() const;

 private:
  const TimePoint end_;
};

}  // namespace weft::master
