// What a run of the benchmarks was asked for, and how it prints.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace weft::bench {

struct Setting {
  std::string bin, data;  // directories of the programs and for what they read and write
  bool quick = false;
  std::string only;  // a section's name; empty: all

  int rounds() const { return quick ? 3 : 5; }
  std::string program(const std::string& name) const { return bin + "/" + name; }
  /// `full` bytes or rows, a quarter of it with --quick.
  std::uint64_t scaled(std::uint64_t full) const { return quick ? full / 4 : full; }
};

template <class... Values>
std::string text(const char* format, Values... values) {
  char buffer[256];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

/// One line: what was measured, the figure, and what it is to be.
inline void row(const std::string& what, const std::string& figure, const std::string& bound) {
  std::printf("  %-46s %-40s %s\n", what.c_str(), figure.c_str(), bound.c_str());
}

/// "at most 1.25 x" and whether it holds.
inline std::string at_most(double figure, double bound, const char* unit) {
  return text("at most %.4g%s: %s", bound, unit, figure <= bound ? "ok" : "MISSED");
}
inline std::string at_least(double figure, double bound, const char* unit) {
  return text("at least %.4g%s: %s", bound, unit, figure >= bound ? "ok" : "MISSED");
}

}  // namespace weft::bench
