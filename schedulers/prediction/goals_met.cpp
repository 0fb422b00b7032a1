#include "schedulers/prediction/goals_met.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

namespace weft::schedulers {

std::vector<bool> goals_to_give_up(const std::vector<Goal>& goals, double slots) {
  std::vector<std::size_t> order(goals.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return goals[a].seconds < goals[b].seconds; });
  std::vector<bool> out(goals.size());
  std::priority_queue<std::pair<double, std::size_t>> kept;  // by work
  double work = 0;
  for (const std::size_t at : order) {
    kept.emplace(goals[at].work, at);
    work += goals[at].work;
    if (work <= slots * goals[at].seconds) continue;
    work -= kept.top().first;
    out[kept.top().second] = true;
    kept.pop();
  }
  return out;
}

}  // namespace weft::schedulers
