// Quantiles of a few numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace weft::simulator {

/// The value below which the given part of the values lies, linear between the two nearest; 0 without values. Sorts them.
inline double quantile(std::vector<double>& values, double part) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (at - static_cast<double>(below));
}

}  // namespace weft::simulator
