#include "schedulers/prediction/reverse_fit.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/clock.hpp"

namespace weft::schedulers {

namespace {

constexpr double kNothing = 1e-9;  // tasks, or slots

/// How many such tasks run at a time in this capacity.
double slots_in(const Resources& left, const Resources& use) {
  double slots = std::numeric_limits<double>::infinity();
  for (const auto& kind : kResourceKinds) {
    if (use.*kind.amount > 0) slots = std::min(slots, std::max(0.0, left.*kind.amount) / (use.*kind.amount));
  }
  return slots;
}

}  // namespace

CapacityAhead::CapacityAhead(Time from, std::span<const CapacityStep> steps, std::vector<Time> times) {
  times.push_back(from);
  for (const CapacityStep& step : steps) times.push_back(step.from);
  std::erase_if(times, [from](Time time) { return time < from; });
  std::ranges::sort(times);
  times.erase(std::unique(times.begin(), times.end()), times.end());
  std::size_t step = 0;
  for (const Time time : times) {
    while (step + 1 < steps.size() && steps[step + 1].from <= time) ++step;
    pieces_.push_back({time, steps.empty() ? Resources() : steps[step].available});
  }
}

std::size_t CapacityAhead::at(Time time) const {
  const auto after = std::ranges::upper_bound(pieces_, time, std::less<>(), &Piece::from);
  return after == pieces_.begin() ? 0 : static_cast<std::size_t>(after - pieces_.begin()) - 1;
}

void CapacityAhead::occupy(Time from, Time to, const Resources& amounts) {
  for (std::size_t i = at(from); i < pieces_.size() && pieces_[i].from < to; ++i) {
    const double seconds = in_seconds(end_of(i) - pieces_[i].from);
    const double taken = in_seconds(std::min(to, end_of(i)) - std::max(from, pieces_[i].from));
    if (taken > 0) pieces_[i].left -= amounts * (taken / seconds);
  }
}

double CapacityAhead::fit(Time from, Time to, const Resources& use, Time length, double tasks) {
  double fitted = 0;
  if (to <= from) return 0;
  for (std::size_t i = at(to - Time(1)) + 1; i-- > 0 && end_of(i) > from && tasks - fitted > kNothing;) {
    const double all = in_seconds(end_of(i) - pieces_[i].from);
    const double seconds = in_seconds(std::min(to, end_of(i)) - std::max(from, pieces_[i].from));
    const double slots = slots_in(pieces_[i].left, use);
    const double here = std::min(tasks - fitted, slots * seconds / in_seconds(length));
    if (here <= 0) continue;
    pieces_[i].left -= use * (here * in_seconds(length) / all);
    fitted += here;
  }
  return fitted;
}

bool CapacityAhead::full(Time from, Time to, const Resources& least) const {
  for (std::size_t i = at(from); i < pieces_.size() && pieces_[i].from < to; ++i) {
    if (slots_in(pieces_[i].left, least) > kNothing) return false;
  }
  return true;
}

double CapacityAhead::mean_slots(Time from, Time to, const Resources& use) const {
  if (to <= from) return slots_in(pieces_[at(from)].left, use);
  double sum = 0;
  for (std::size_t i = at(from); i < pieces_.size() && pieces_[i].from < to; ++i)
    sum += slots_in(pieces_[i].left, use) * in_seconds(std::min(to, end_of(i)) - std::max(from, pieces_[i].from));
  return sum / in_seconds(to - from);
}

std::vector<double> reverse_fit(std::span<const ReverseJob> jobs, CapacityAhead& ahead, Time next) {
  std::vector<double> left;
  std::vector<Time> earliest;  // when a job's first round begins, counted back from its goal
  Resources least;
  for (const auto& kind : kResourceKinds) least.*kind.amount = std::numeric_limits<double>::infinity();
  for (const ReverseJob& job : jobs) {
    left.push_back(job.tasks);
    const Time room = job.goal - next;
    earliest.push_back(room > Time(0) ? job.goal - room / job.length * job.length : job.goal);
    for (const auto& kind : kResourceKinds) least.*kind.amount = std::min(least.*kind.amount, job.use.*kind.amount);
  }
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t j) { return jobs[j].goal; });
  std::vector<std::size_t> open;  // jobs with tasks that fitted no window so far, later goals first
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Time to = jobs[order[i]].goal, from = std::max(next, i + 1 < order.size() ? jobs[order[i + 1]].goal : next);
    open.push_back(order[i]);
    if (to <= from) continue;
    for (const std::size_t j : open) {
      left[j] -= ahead.fit(std::max(from, earliest[j]), to, jobs[j].use, jobs[j].length, left[j]);
      if (ahead.full(from, to, least)) break;
    }
    std::erase_if(open, [&](std::size_t j) { return left[j] <= kNothing; });
  }
  for (double& tasks : left) tasks = std::max(0.0, tasks);
  return left;
}

}  // namespace weft::schedulers
