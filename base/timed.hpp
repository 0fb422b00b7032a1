// How long work takes, added up.
#pragma once

#include "base/clock.hpp"

namespace weft {

/// What `work` gives; the time it took is added to `sum`, unless it throws.
template <class Work>
auto timed(Duration& sum, Work&& work) {
  const auto began = std::chrono::steady_clock::now();
  auto given = work();
  sum += std::chrono::steady_clock::now() - began;
  return given;
}

}  // namespace weft
