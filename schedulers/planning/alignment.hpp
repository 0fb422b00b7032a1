// How well a demand is aligned with what is free on a node: their dot product (Tetris, section 3.2).
#pragma once

#include <array>

#include "schedulers/planning/rounding.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

using Parts = std::array<double, kResourceKinds.size()>;

/// As parts of `capacity`; 0 where nothing is accounted. With digits in units, of which the node has as many as it has cores.
inline Parts parts_of(const Resources& amounts, const Resources& capacity, Digits digits) {
  Parts parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const double all = capacity.*kResourceKinds[i].amount, amount = amounts.*kResourceKinds[i].amount;
    if (all > 0) parts[i] = digits ? rounded(amount * (capacity.cpu / all), digits) : amount / all;
  }
  return parts;
}

/// Not rounded.
inline double alignment(const Parts& demand, const Parts& free, Digits digits) {
  double sum = 0;
  for (std::size_t i = 0; i < free.size(); ++i) {
    const std::size_t kind = digits ? kOrderOfSums[i] : i;
    sum += demand[kind] * free[kind];
  }
  return sum;
}

}  // namespace weft::schedulers
