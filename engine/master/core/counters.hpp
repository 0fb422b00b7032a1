// The counters of a job, added up over its tasks. What executors report is bounded: a job that counts without end must not fill the
// lists that everybody reads.
#pragma once

#include <cstddef>
#include <string_view>

#include "engine/master/core/events.hpp"

namespace weft::master {

inline constexpr std::size_t kMostCounters = 1000, kMostCounterNameBytes = 256;
/// Counts the values that are left out: of more names, or of longer ones.
inline constexpr std::string_view kCountersLeftOut = "weft: counters left out";

/// A sum stops at the largest number, and at the smallest.
void add_counters(Counters& sums, const Counters& more);

}  // namespace weft::master
