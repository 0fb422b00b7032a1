// What is known of the tasks of a stage from earlier runs: the part of a profile (engine/master/profiles) that schedulers see.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

/// Made from earlier runs of the same program when the stage is planned. A task takes `constant`, and `per_byte` for each byte that
/// it reads.
struct StageProfile {
  Time constant{0};         // may be negative: the line is right near the sizes that were seen
  double per_byte = 0;      // nanoseconds
  double bytes = 0;         // read by a task, in the mean: predicted, and measured once the stage's inputs are complete
  double deviation = 0;     // of durations: their standard deviation over their mean
  double error = 0;         // of earlier predictions of the mean: |predicted - true| / true
  double tasks = 0;         // it was made from; each run counts half as much as the next
  double output_ratio = 0;  // bytes written to the shuffle for each byte read; 0: not known
  Resources use;            // by a task that maps or reduces: processors, memory, bytes per second
  Resources shuffle_use;    // by a reduce that fetches its input
  double remote = 1;        // duration where the input lies on another machine, over that where it does not
  std::map<std::string, double> kinds{};  // duration on nodes with these attributes ("accelerator=gpu"), over that of all
  friend bool operator==(const StageProfile&, const StageProfile&) = default;

  /// Of a task that reads `bytes`; never less than a microsecond, so that nothing is predicted to take no time.
  Time duration() const {
    const double nanoseconds = static_cast<double>(constant.count()) + per_byte * bytes;
    return Time(static_cast<std::int64_t>(std::clamp(nanoseconds, 1e3, 9e18)));
  }
};

inline bool valid(const StageProfile& profile) {
  const auto amount = [](double value) { return value >= 0 && value <= 1e300; };
  return amount(profile.per_byte) && amount(profile.bytes) && amount(profile.deviation) && amount(profile.error) &&
         amount(profile.tasks) && amount(profile.output_ratio) && valid(profile.use) && valid(profile.shuffle_use) &&
         amount(profile.remote) &&
         std::all_of(profile.kinds.begin(), profile.kinds.end(), [&](const auto& kind) { return amount(kind.second); });
}

}  // namespace weft::schedulers
