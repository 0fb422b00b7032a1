#include "schedulers/parts/utility.hpp"

#include <algorithm>
#include <cmath>

namespace weft::schedulers {

namespace {

/// From minus infinity, or nearly so, to 0 as `allocated` grows to `enough`, which is more than 1.
double below(double allocated, double enough) {
  if (allocated <= 0) return kStarvedUtility;
  return std::max(kStarvedUtility, std::log(allocated) / std::log(enough) - 1);
}

/// From 0 to 1 as `at` goes from `low` to `high`.
double between(double at, double low, double high) { return high > low ? (at - low) / (high - low) : 1; }

}  // namespace

double map_utility(double allocated, double required, double pending) {
  if (allocated >= pending) return 1;
  if (allocated <= 0) return kStarvedUtility;
  const double enough = std::clamp(required, 1.0, pending);
  return allocated >= enough ? between(allocated, enough, pending) : below(allocated, enough);
}

double reverse_utility(double allocated, double fit, double required, double pending) {
  if (allocated >= pending) return 1;
  if (allocated < fit) return below(allocated, std::clamp(fit, 1.0 + 1e-9, pending));
  if (allocated <= 0) return 0;  // all tasks can be delayed
  if (required <= fit) return between(allocated, fit, pending);
  if (allocated <= required) return between(allocated, fit, required) / 2;
  return (1 + between(allocated, required, pending)) / 2;
}

double reduce_utility(double allocated, double pending) {
  if (allocated >= pending) return 0;
  return allocated <= 1 ? -1 : std::log(allocated) / std::log(pending) - 1;
}

}  // namespace weft::schedulers
