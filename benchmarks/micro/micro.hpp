// What the operator benchmarks share: surroundings for an operator, and records made ahead of the measurement.
#pragma once

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "runtime/operators/fault.hpp"
#include "shuffle/segment/segment.hpp"

namespace weft::micro {

/// A task's surroundings with this much memory.
struct Task {
  explicit Task(std::uint64_t bytes) : grant(bytes) {
    context.memory = &grant;
    context.spill_directory = std::filesystem::temp_directory_path();
  }
  runtime::MemoryGrant grant;
  runtime::OperatorContext context;
};

inline constexpr std::uint64_t kPlenty = std::uint64_t{4} << 30;

/// A segment in memory, as map tasks write them.
inline std::unique_ptr<shuffle::SegmentWriter> memory_segment(std::uint32_t partitions) {
  return runtime::value_or_throw(shuffle::SegmentWriter::in_memory(partitions));
}

/// `count` numbers below `distinct`: uniform, or crowded on the small ones (the logarithm is uniform, which is Zipf's law).
inline std::vector<std::uint64_t> numbers(std::size_t count, std::uint64_t distinct, bool skewed) {
  Random random(1, 0);
  std::vector<std::uint64_t> result(count);
  for (std::uint64_t& number : result) {
    const double uniform = static_cast<double>(random.below(std::uint64_t{1} << 53)) * 0x1p-53;
    const double drawn = skewed ? std::pow(static_cast<double>(distinct), uniform) - 1 : uniform * static_cast<double>(distinct);
    number = static_cast<std::uint64_t>(drawn);
  }
  return result;
}

/// The numbers as words of five to seven letters.
inline std::vector<std::string> words_of(const std::vector<std::uint64_t>& numbers) {
  std::vector<std::string> result;
  result.reserve(numbers.size());
  for (std::uint64_t number : numbers) {
    std::string word = "wo";
    do word += static_cast<char>('a' + number % 26);
    while ((number /= 26) != 0 || word.size() < 5);
    result.push_back(std::move(word));
  }
  return result;
}

}  // namespace weft::micro
