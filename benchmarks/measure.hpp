// What the benchmarks that call weft as a library share.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace weft::bench {

/// The value, or the end of the benchmark with the error.
template <class T>
T need(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "benchmark: %s\n", result.error().to_string().c_str());
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

/// Bytes that do not compress.
inline std::string content(std::uint64_t bytes) {
  std::string text(bytes, '\0');
  for (std::uint64_t i = 0; i + 8 <= bytes; i += 8) {
    const std::uint64_t word = (i + 1) * 0x9e3779b97f4a7c15ULL;
    std::memcpy(text.data() + i, &word, sizeof word);
  }
  return text;
}

}  // namespace weft::bench
