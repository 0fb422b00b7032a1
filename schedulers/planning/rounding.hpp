// Rounding as the simulator of Carbyne's authors does it, for runs that are to agree with theirs.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <optional>

#include "schedulers/config/options.hpp"
#include "schedulers/view/resources.hpp"

namespace weft::schedulers {

/// A power of ten: amounts are rounded to multiples of its inverse. Nothing: not at all.
using Digits = std::optional<double>;

inline double rounded(double value, Digits digits) { return digits ? std::floor(value * *digits + 0.5) / *digits : value; }

/// The option `digits`, at most 9.
inline Result<Digits> take_digits(Options& options) {
  if (!options.given("digits")) return Digits();
  WEFT_ASSIGN(const std::uint64_t given, options.whole("digits", 2));
  if (given > 9) return fail(Code::invalid_argument, "scheduler option digits must be at most 9");
  return Digits(std::pow(10, static_cast<double>(given)));
}

/// Positions in kResourceKinds in the order in which that simulator adds up: the order of a sum breaks ties.
inline constexpr std::array<std::size_t, kResourceKinds.size()> kOrderOfSums{0, 1, 4, 5, 2, 3, 6, 7, 8};

}  // namespace weft::schedulers
