// What a job's submitter knows about it beyond its plan, and its text form: --hint key=value, job submissions, event logs.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

/// All of it is optional. Schedulers read it through schedulers/view/estimates.hpp, which knows the other sources, too.
struct JobHints {
  double weight = 1;                                                      // share in its pool
  std::optional<double> relative_reduce_cost;                             // duration of a reduce over that of a map (Adaptive)
  std::optional<double> shuffle_ratio;                                    // shuffle bytes over input bytes (ShuffleWatcher, SAMP)
  std::optional<Resources> map_profile, shuffle_profile, reduce_profile;  // use by phase (RAS)
  friend bool operator==(const JobHints&, const JobHints&) = default;
};

/// Takes one hint: a key of JobHints, or `deadline`, a time from the submission on. invalid_argument: there is no such hint (the
/// message names the nearest one and all known ones), or its value is not valid; nothing has changed then.
Result<void> set_hint(std::string_view key, std::string_view value, JobHints& hints, Time& deadline);
/// "key=value" in two parts. invalid_argument: set_hint() would refuse them, or there is no '='.
Result<std::pair<std::string, std::string>> parse_hint(std::string_view text);
/// Calls set_hint() for each, until one is refused.
Result<void> set_hints(const std::map<std::string, std::string>& texts, JobHints& hints, Time& deadline);
/// The hints that were given, except the weight, which every job has: set_hints() reads the same from it.
std::map<std::string, std::string> hint_texts(const JobHints& hints);

}  // namespace weft::schedulers
