#include "schedulers/planning/future_capacity.hpp"

#include <algorithm>

namespace weft::schedulers {

namespace {

constexpr double kFutureSlack = 1e-9;

bool within(const Parts& demand, const Parts& free) {
  for (std::size_t kind = 0; kind < demand.size(); ++kind) {
    if (demand[kind] > 0 && demand[kind] > free[kind] + kFutureSlack) return false;
  }
  return true;
}

}  // namespace

void FutureCapacity::clear() {
  steps_.clear();
  next_ = steps_.end();
}

void FutureCapacity::add(Time at, const Parts& demand, double tasks) { change(at, demand, tasks, false); }
void FutureCapacity::take_back(Time at, const Parts& demand, double tasks) { change(at, demand, -tasks, true); }

void FutureCapacity::change(Time at, const Parts& demand, double tasks, bool back) {
  if (!asked_ || at <= now_) return;
  const auto [step, added] = steps_.try_emplace(at);
  step->second.used += demand * tasks;
  if (back) {
    if (--step->second.changes > 0) return;
    const auto after = steps_.erase(step);
    if (next_ == step) next_ = after;
    return;
  }
  ++step->second.changes;
  // A step that was visited in this round is not visited again.
  const bool seen = !lows_.empty() && at <= lows_.back().first;
  if (added && !seen && (next_ == steps_.end() || at < next_->first)) next_ = step;
}

void FutureCapacity::begin(Time now, const Parts& free) {
  now_ = now;
  steps_.erase(steps_.begin(), steps_.upper_bound(now));
  next_ = steps_.begin();
  free_ = low_ = free;
  lows_.assign(1, {now, low_});
}

bool FutureCapacity::holds(const Parts& demand, Time duration) {
  const Time until = now_ + duration;
  for (; next_ != steps_.end() && next_->first < until; ++next_) {
    free_ -= next_->second.used;
    low_ = pointwise_min(low_, free_);
    lows_.emplace_back(next_->first, low_);
  }
  const auto after =
      std::lower_bound(lows_.begin() + 1, lows_.end(), until, [](const auto& low, Time at) { return low.first < at; });
  return within(demand, std::prev(after)->second);
}

void FutureCapacity::taken(const Parts& demand) {
  free_ -= demand;
  low_ -= demand;
  for (auto& [from, low] : lows_) low -= demand;
}

bool FutureCapacity::holds(const Dag& dag, const DagPlan& plan, const Parts& free) const {
  std::map<Time, Parts> wanted;  // absolute
  const auto want = [&](Time at, const DagStage& stage, double tasks) { wanted[at] += stage.demand * tasks; };
  for (const PlannedLaunches& one : plan.launches) {
    want(now_ + one.start, dag[one.stage], one.tasks);
    want(now_ + one.end(dag[one.stage].duration), dag[one.stage], -static_cast<double>(one.tasks));
  }
  Parts left = free, sum{};
  auto step = steps_.upper_bound(now_);
  for (auto next = wanted.begin(); next != wanted.end();) {
    const bool ours = step == steps_.end() || next->first <= step->first;
    const Time at = ours ? next->first : step->first;
    for (; next != wanted.end() && next->first == at; ++next) {
      left -= next->second;
      sum += next->second;
    }
    for (; step != steps_.end() && step->first == at; ++step) left -= step->second.used;
    for (std::size_t kind = 0; kind < left.size(); ++kind) {
      if (sum[kind] > kFutureSlack && left[kind] < -kFutureSlack) return false;
    }
  }
  return true;
}

}  // namespace weft::schedulers
