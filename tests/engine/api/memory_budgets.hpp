// Tests of operators with plenty of memory, and with so little that they spill.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <weft/weft.h>

namespace weft::test {

/// The parameter is the memory for all tasks together, in bytes.
class MemoryBudgets : public testing::TestWithParam<std::uint64_t> {
 protected:
  void run(const std::function<void(Flow&)>& define) const {
    const auto report = run_locally(define, {.threads = 2, .memory_bytes = GetParam()});
    ASSERT_TRUE(report) << report.error().to_string();
  }
  /// `many` where they have to spill.
  static std::size_t records(std::size_t many = 60'000) { return GetParam() < (8u << 20) ? many : 3'000; }
};

template <class T>
std::vector<T> in_order(std::vector<T> values) {
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace weft::test
