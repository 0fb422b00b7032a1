#include "schedulers/planning/troublesome.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include "base/clock.hpp"

namespace weft::schedulers {

namespace {

/// The free capacity over time, in the virtual schedule. Times may be negative.
class VirtualCapacity {
 public:
  explicit VirtualCapacity(const Parts& capacity) { free_.emplace(Time::min(), capacity); }

  /// Places `tasks` tasks of the stage beside each other and, where they do not fit, in waves: none before `from` or, backwards,
  /// none after `until`. Returns when the first begins and when the last ends.
  std::pair<Time, Time> place(const DagStage& stage, double tasks, std::optional<Time> from, std::optional<Time> until) {
    std::pair<Time, Time> span{Time::max(), Time::min()};
    const bool late = until.has_value();
    Time at = late ? *until - stage.duration : from.value_or(Time(0));
    while (tasks > 0) {
      const double fit = std::min(tasks, fits(stage, at));
      if (fit >= 1) {
        take(at, at + stage.duration, stage.demand, fit);
        span = {std::min(span.first, at), std::max(span.second, at + stage.duration)};
        tasks -= fit;
      }
      const auto next = late ? before(at, stage.duration) : after(at);
      if (!next) break;  // beyond, all capacity is free: a task that does not fit there never will
      at = *next;
    }
    return span;
  }

 private:
  double fits(const DagStage& stage, Time at) const {
    double most = 1e18;
    for (auto step = std::prev(free_.upper_bound(at)); step != free_.end() && step->first < at + stage.duration; ++step) {
      for (std::size_t kind = 0; kind < stage.demand.size(); ++kind) {
        if (stage.demand[kind] > 0) most = std::min(most, std::floor((step->second[kind] + 1e-9) / stage.demand[kind]));
      }
      if (most < 1) return 0;
    }
    return most;
  }
  void split(Time at) { free_.try_emplace(at, std::prev(free_.upper_bound(at))->second); }
  void take(Time from, Time until, const Parts& demand, double tasks) {
    split(from);
    split(until);
    for (auto step = free_.find(from); step->first < until; ++step) step->second -= demand * tasks;
  }
  std::optional<Time> after(Time at) const {
    const auto next = free_.upper_bound(at);
    return next == free_.end() ? std::nullopt : std::optional(next->first);
  }
  /// The next earlier point at which a task may end where something else begins.
  std::optional<Time> before(Time at, Time duration) const {
    const auto next = free_.lower_bound(at + duration);
    if (next == free_.begin() || std::prev(next)->first == Time::min()) return std::nullopt;
    return std::prev(next)->first - duration;
  }

  std::map<Time, Parts> free_;  // from when on
};

enum class Subset : std::uint8_t { troublesome, other, parents, children };

class Schedules {
 public:
  Schedules(const Dag& dag, const Parts& capacity) : dag_(dag), capacity_(capacity), spans_(dag.size()) {}

  using Spans = std::vector<std::pair<Time, Time>>;
  const Spans& best() {
    for (const double long_from : {0.25, 0.5, 0.75, 1.1}) {
      for (const double large_from : {0.3, 0.6, 0.9, 1.1}) {
        if (divide(long_from, large_from)) try_orders();
      }
    }
    return best_;
  }

 private:
  /// Divides the stages by these thresholds into the four subsets of the paper. False: this division was tried already.
  bool divide(double long_from, double large_from) {
    Time longest{1};
    for (const DagStage& stage : dag_) longest = std::max(longest, stage.duration);
    part_.assign(dag_.size(), Subset::other);
    for (std::size_t i = 0; i < dag_.size(); ++i) {
      double largest = 0;
      for (std::size_t kind = 0; kind < capacity_.size(); ++kind) {
        if (capacity_[kind] > 0) largest = std::max(largest, dag_[i].demand[kind] / capacity_[kind]);
      }
      const bool lasts = in_seconds(dag_[i].duration) >= long_from * in_seconds(longest);
      if (lasts || largest >= large_from) part_[i] = Subset::troublesome;
    }
    if (!seen_.insert(part_).second) return false;
    std::vector<bool> above(dag_.size()), below(dag_.size());
    for (std::size_t i = dag_.size(); i-- > 0;) {
      for (std::uint32_t child : dag_[i].children) above[i] = above[i] || above[child] || part_[child] == Subset::troublesome;
    }
    for (std::size_t i = 0; i < dag_.size(); ++i) {
      for (std::uint32_t parent : dag_[i].parents) below[i] = below[i] || below[parent] || part_[parent] == Subset::troublesome;
      if (above[i] && below[i]) part_[i] = Subset::troublesome;  // between two of them
    }
    for (std::size_t i = 0; i < dag_.size(); ++i) {
      if (part_[i] == Subset::troublesome) continue;
      if (above[i]) part_[i] = Subset::parents;
      if (below[i]) part_[i] = Subset::children;
    }
    return true;
  }

  void try_orders() {
    constexpr Subset t = Subset::troublesome, o = Subset::other, p = Subset::parents, c = Subset::children;
    for (const auto& order : {std::array{t, o, p, c}, std::array{t, p, o, c}, std::array{t, c, o, p}}) {
      VirtualCapacity free(capacity_);
      placed_.assign(dag_.size(), false);
      for (const Subset part : order) {
        // Stages before a placed one, and after none that is still to be placed, end as late as possible.
        place(part, part == p || (part == o && order[1] == c), free);
      }
      keep_if_best();
    }
  }

  void place(Subset part, bool late, VirtualCapacity& free) {
    for (std::size_t n = 0; n < dag_.size(); ++n) {
      const std::size_t i = late ? dag_.size() - 1 - n : n;
      if (part_[i] != part) continue;
      std::optional<Time> from, until;
      for (std::uint32_t parent : dag_[i].parents) {
        if (placed_[parent]) from = std::max(from.value_or(Time::min()), spans_[parent].second);
      }
      for (std::uint32_t child : dag_[i].children) {
        if (placed_[child]) until = std::min(until.value_or(Time::max()), spans_[child].first);
      }
      if (from && !late) until.reset();
      spans_[i] = free.place(dag_[i], std::max<double>(dag_[i].waiting, 1), from, late && until ? until : std::nullopt);
      if (spans_[i].first > spans_[i].second) spans_[i] = {Time(0), dag_[i].duration};  // larger than the machine
      placed_[i] = true;
    }
  }

  void keep_if_best() {
    Time first = Time::max(), last = Time::min();
    for (const auto& [begin, end] : spans_) {
      first = std::min(first, begin);
      last = std::max(last, end);
    }
    if (!best_.empty() && last - first >= length_) return;
    length_ = last - first;
    best_ = spans_;
  }

  const Dag& dag_;
  Parts capacity_;
  std::vector<Subset> part_;
  std::set<std::vector<Subset>> seen_;
  Spans spans_, best_;
  std::vector<bool> placed_;
  Time length_{0};
};

}  // namespace

std::vector<double> ranks_by_trouble(const Dag& dag, const Parts& capacity, Direction direction) {
  std::vector<double> rank(dag.size());
  if (dag.empty()) return rank;
  const auto spans = Schedules(dag, capacity).best();
  const auto key = [&](std::size_t i) {  // of those that begin (or end) together the long ones first
    return std::pair(direction == Direction::forwards ? spans[i].first : -spans[i].second, -dag[i].duration);
  };
  std::vector<std::size_t> order(dag.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = static_cast<double>(i);
  return rank;
}

}  // namespace weft::schedulers
