// Means, quantiles and confidence intervals.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/simulator/quantile.hpp"

namespace weft::simulator::report {

/// A mean, and half the width of its 95 % t-interval over independent runs.
struct Estimate {
  double mean = 0;
  double half_width = 0;  // 0 for a single run, and where all runs gave the same
  std::size_t runs = 0;
};
Estimate estimate(const std::vector<double>& values);

/// The 97.5 % quantile of Student's t with this many degrees of freedom.
double student_t(std::size_t degrees);

/// A point of a line in a plot.
struct Point {
  double x = 0, y = 0;
};
using Points = std::vector<Point>;

/// The share of values at or below each value, as a line of at most about `most` points.
Points cumulative(std::vector<double> values, std::size_t most = 400);

/// Groups of neighbours become their means, so that about `most` points are left.
Points thinned(const Points& points, std::size_t most = 600);

}  // namespace weft::simulator::report
