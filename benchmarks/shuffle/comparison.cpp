#include "benchmarks/shuffle/comparison.hpp"

#include <fmt/core.h>

#include "benchmarks/measure.hpp"

namespace weft::bench {
namespace {

constexpr double kRounding = 0.0005;

double change_of(const Row& row) { return change(median(row.pull), median(row.memory)); }

}  // namespace

double change(double pull, double memory) { return pull > 0 ? memory / pull - 1 : memory > 0 ? 1 : 0; }

bool kept(const Row& row) { return !row.most || change_of(row) <= *row.most + kRounding; }

std::string text_of(const Row& row) {
  std::string text = fmt::format("  {:44} {:8.3f} {:3} {:8.3f} {:3} {:+7.1f} %", row.what, median(row.pull), row.unit,
                                 median(row.memory), row.unit, 100 * change_of(row));
  if (row.most) text += fmt::format("   {:16} {}", row.bound, kept(row) ? "ok" : "MISSED");
  return text;
}

std::string headline() { return fmt::format("  {:44} {:>12} {:>12} {:>9}   {}", "", "pull", "memory", "change", "bound"); }

}  // namespace weft::bench
