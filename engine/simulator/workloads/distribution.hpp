// Numbers drawn at random, as people write them: "5", "uniform(1,10)", "lognormal(1GiB,1.5)".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.hpp"
#include "base/random.hpp"
#include "base/result.hpp"

namespace weft::simulator::workloads {

/// What the numbers in a distribution's text mean.
enum class Unit : std::uint8_t { number, bytes, seconds };

/// One of
///   5                         always that
///   uniform(LOW,HIGH)
///   exponential(MEAN)
///   normal(MEAN,SD)           negative draws become 0
///   lognormal(MEDIAN,SIGMA)   SIGMA of the logarithm, a plain number
///   pareto(LEAST,ALPHA)       ALPHA a plain number; optionally a third: the most
///   choice(A,B,…)             each as likely
///   bins(WEIGHT:LOW..HIGH,…)  a bin by its weight, then uniform in it
/// Numbers are written in the unit: 64MiB, 5s.
class Distribution {
 public:
  /// invalid_argument names the form.
  static Result<Distribution> parse(std::string_view text, Unit unit);
  static Distribution constant(double value);

  /// Never negative, never more than 1e18.
  double draw(Random& random) const;

 private:
  enum class Kind : std::uint8_t { choice, uniform, exponential, normal, lognormal, pareto, bins };
  struct Bin {
    double weight = 0, low = 0, high = 0;
  };
  Result<void> read_bins(const std::vector<std::string>& arguments, Unit unit);
  double draw_unbounded(Random& random) const;
  double draw_bin(Random& random) const;

  Kind kind_ = Kind::choice;
  std::vector<double> values_;
  std::vector<Bin> bins_;
};

/// Gaps of Poisson arrivals.
Duration exponential(Random& random, Duration mean);

}  // namespace weft::simulator::workloads
