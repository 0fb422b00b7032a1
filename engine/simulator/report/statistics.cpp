#include "engine/simulator/report/statistics.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace weft::simulator::report {

constexpr double kRounding = 1e-12;  // relative: of sums of equal values

double student_t(std::size_t degrees) {
  constexpr std::array<double, 31> kTable{0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                                          2.201, 2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080,
                                          2.074, 2.069,  2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  if (degrees < kTable.size()) return kTable[degrees];
  const double n = static_cast<double>(degrees), z = 1.959964;
  return z + (z * z * z + z) / (4 * n) + (5 * std::pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * n * n);  // Cornish and Fisher
}

Estimate estimate(const std::vector<double>& values) {
  Estimate result;
  result.runs = values.size();
  if (values.empty()) return result;
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  if (*most - *least <= kRounding * std::max(std::abs(*least), std::abs(*most))) {  // would be shown as an interval
    result.mean = values[0];
    return result;
  }
  const auto n = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / n;
  if (values.size() < 2) return result;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  result.half_width = student_t(values.size() - 1) * std::sqrt(squares / (n - 1) / n);
  return result;
}

Points cumulative(std::vector<double> values, std::size_t most) {
  Points points;
  if (values.empty()) return points;
  std::sort(values.begin(), values.end());
  const std::size_t every = std::max<std::size_t>(1, values.size() / most);
  const auto n = static_cast<double>(values.size());
  points.push_back({values.front(), 0});
  for (std::size_t i = 0; i < values.size(); i += every) points.push_back({values[i], static_cast<double>(i + 1) / n});
  if (points.back().y < 1) points.push_back({values.back(), 1});
  return points;
}

Points thinned(const Points& points, std::size_t most) {
  const std::size_t every = (points.size() + most - 1) / std::max<std::size_t>(most, 1);
  if (every < 2) return points;
  Points result;
  for (std::size_t i = 0; i < points.size(); i += every) {
    const std::size_t end = std::min(points.size(), i + every);
    double sum = 0;
    for (std::size_t k = i; k < end; ++k) sum += points[k].y;
    result.push_back({points[i].x, sum / static_cast<double>(end - i)});
  }
  return result;
}

}  // namespace weft::simulator::report
