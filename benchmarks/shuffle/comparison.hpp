// Rows of a table that sets two modes next to each other and to a bound.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace weft::bench {

/// How much less or more of something there is in mode memory, as a share: -0.8 is a fifth of it.
double change(double pull, double memory);

struct Row {
  std::string what;
  std::vector<double> pull, memory;  // of the rounds; the medians count
  const char* unit = "s";
  std::optional<double> most;  // the change may not be above
  std::string bound;           // in words
};

/// Whether the row keeps its bound; true without one. A change that rounds to the bound keeps it (0.1 %).
bool kept(const Row& row);
/// A line of about 100 characters, without an end: medians, change, bound and "ok" or "MISSED".
std::string text_of(const Row& row);
std::string headline();

}  // namespace weft::bench
