#include "schedulers/prediction/prefetch_rounds.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace weft::schedulers {

namespace {

/// A node's budget, and how much of it the units before the present one take.
struct Budget {
  NodeId node;
  std::uint64_t bytes = 0;
  std::uint64_t ahead = 0;
};

/// Calls `visit` with the unit's bytes on each of its nodes that has a budget, and that budget.
template <class Visit>
void for_budgets(const PrefetchRound& unit, std::vector<Budget>& budgets, Visit visit) {
  auto budget = budgets.begin();
  for (const auto& [node, bytes] : unit.bytes) {
    if (budget != budgets.end() && budget->node < node)
      budget = std::lower_bound(budget, budgets.end(), node, [](const Budget& one, NodeId id) { return one.node < id; });
    if (budget == budgets.end()) return;
    if (budget->node == node) visit(bytes, *budget);
  }
}

/// The unit that leaves last comes first.
bool stays_longer(const PrefetchRound& a, const PrefetchRound& b, RoundOrder order) {
  if (a.complete != b.complete) return a.complete;
  if (order == RoundOrder::by_rounds_left && a.left != b.left) return a.left > b.left;
  if (a.job < b.job || b.job < a.job) return a.job < b.job;
  return a.round != b.round ? a.round < b.round : a.stage < b.stage;
}

}  // namespace

std::vector<bool> resident_rounds(std::span<const PrefetchRound> units, const std::map<NodeId, std::uint64_t>& budgets,
                                  RoundOrder order) {
  std::vector<Budget> all;
  all.reserve(budgets.size());
  for (const auto& [node, bytes] : budgets) all.push_back({node, bytes, 0});
  std::vector<std::size_t> line(units.size());
  std::iota(line.begin(), line.end(), std::size_t{0});
  std::stable_sort(line.begin(), line.end(), [&](std::size_t a, std::size_t b) { return stays_longer(units[a], units[b], order); });

  std::vector<bool> resident(units.size());
  for (const std::size_t at : line) {
    bool possible = true, fits = true;
    for_budgets(units[at], all, [&](std::uint64_t bytes, const Budget& budget) {
      possible = possible && bytes <= budget.bytes;
      fits = fits && budget.ahead <= budget.bytes && bytes <= budget.bytes - budget.ahead;
    });
    resident[at] = fits;
    if (possible) for_budgets(units[at], all, [](std::uint64_t bytes, Budget& budget) { budget.ahead += bytes; });
  }
  return resident;
}

}  // namespace weft::schedulers
