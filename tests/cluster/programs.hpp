// The programs that the cluster tests run, and what the probe's jobs print.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace weft::test {

inline std::string program(const std::string& name) { return std::string(WEFT_BIN_DIR) + "/" + name; }

/// What the probe's sums print.
inline std::string expected_sums(std::uint64_t records) {
  std::vector<std::uint64_t> sums(1000);
  for (std::uint64_t i = 0; i < records; ++i) sums[i % 1000] += i;
  std::string text;
  for (std::size_t key = 0; key < std::min<std::uint64_t>(records, sums.size()); ++key)
    text += std::to_string(key) + " " + std::to_string(sums[key]) + "\n";
  return text;
}

}  // namespace weft::test
