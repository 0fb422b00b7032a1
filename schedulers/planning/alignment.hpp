// How well a demand is aligned with the free capacity of a node: their dot product (Tetris, section 3.2).
#pragma once

#include <array>

#include "schedulers/planning/rounding.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

/// Of each kind of kResourceKinds an amount, as a part of some capacity.
struct Parts : std::array<double, kResourceKinds.size()> {
  Parts& operator+=(const Parts& more) {
    for (std::size_t kind = 0; kind < size(); ++kind) (*this)[kind] += more[kind];
    return *this;
  }
  Parts& operator-=(const Parts& less) {
    for (std::size_t kind = 0; kind < size(); ++kind) (*this)[kind] -= less[kind];
    return *this;
  }
  friend Parts operator*(Parts parts, double factor) {
    for (double& part : parts) part *= factor;
    return parts;
  }
};
/// The smaller (larger) of each two.
inline Parts pointwise_min(Parts a, const Parts& b) {
  for (std::size_t kind = 0; kind < a.size(); ++kind) a[kind] = std::min(a[kind], b[kind]);
  return a;
}
inline Parts pointwise_max(Parts a, const Parts& b) {
  for (std::size_t kind = 0; kind < a.size(); ++kind) a[kind] = std::max(a[kind], b[kind]);
  return a;
}

/// As parts of `capacity`; 0 for kinds that it does not account for. With digits in units, of which it has as many as cores.
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
