#include "weft/statistics.hpp"

#include <stdexcept>

namespace weft::detail {

double checked_part(double part) {
  if (!(part >= 0 && part <= 1)) throw std::invalid_argument("quantile: the part must be between 0 and 1, as 0.95");
  return part;
}

}  // namespace weft::detail
