#include "schedulers/prediction/goals_met.hpp"

#include <algorithm>
#include <numeric>
#include <queue>
#include <utility>

namespace weft::schedulers {

namespace {

std::vector<std::size_t> by_deadline(const std::vector<Goal>& goals) {
  std::vector<std::size_t> order(goals.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return goals[a].seconds < goals[b].seconds; });
  return order;
}

}  // namespace

std::vector<bool> goals_to_give_up(const std::vector<Goal>& goals, double slots) {
  std::vector<bool> out(goals.size());
  std::priority_queue<std::pair<double, std::size_t>> kept;  // by work
  double work = 0;
  for (const std::size_t at : by_deadline(goals)) {
    kept.emplace(goals[at].work, at);
    work += goals[at].work;
    if (work <= slots * goals[at].seconds) continue;
    work -= kept.top().first;
    out[kept.top().second] = true;
    kept.pop();
  }
  return out;
}

std::vector<bool> goals_at_risk(const std::vector<Goal>& goals, const std::vector<bool>& given_up, double slots, double margin,
                                double wait) {
  std::vector<bool> at_risk(goals.size());
  std::vector<std::size_t> before;  // of the same or nearer deadlines, not at risk so far
  double work = 0;
  for (const std::size_t at : by_deadline(goals)) {
    if (given_up[at]) continue;
    const Goal& goal = goals[at];
    work += goal.work;
    before.push_back(at);
    at_risk[at] = goal.seconds < (1 + margin) * goal.at_best + wait;
    if (goal.seconds >= (1 + margin) * work / slots + wait) continue;
    for (const std::size_t nearer : before) at_risk[nearer] = true;
    before.clear();
  }
  return at_risk;
}

}  // namespace weft::schedulers
