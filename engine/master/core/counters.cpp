#include "engine/master/core/counters.hpp"

#include <limits>

namespace weft::master {

namespace {

void add(std::int64_t& sum, std::int64_t value) {
  if (__builtin_add_overflow(sum, value, &sum))
    sum = value < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

void add_counters(Counters& sums, const Counters& more) {
  std::int64_t left_out = 0;
  for (const auto& [name, value] : more) {
    if (name == kCountersLeftOut || sums.contains(name)) {
      add(sums[name], value);
    } else if (name.size() <= kMostCounterNameBytes && sums.size() < kMostCounters) {
      sums.emplace(name, value);
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) add(sums[std::string(kCountersLeftOut)], left_out);
}

}  // namespace weft::master
