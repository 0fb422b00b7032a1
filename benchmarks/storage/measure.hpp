// What the benchmarks of storage share.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace weft::bench {

/// The value, or the end of the benchmark with the error.
template <class T>
T need(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "storage benchmark: %s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline double seconds(const std::function<void()>& what) {
  const auto began = std::chrono::steady_clock::now();
  what();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace weft::bench
