#include "schedulers/planning/dag_packing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"

namespace weft::schedulers {

namespace {

constexpr double kPackSlack = 1e-9;

/// Tasks of one stage that end together.
struct Ending {
  std::uint32_t stage;
  std::uint32_t tasks;
};

class Packer {
 public:
  Packer(const Dag& dag, const Parts& capacity, Direction direction, const IntraOrder& order)
      : dag_(dag), forwards_(direction == Direction::forwards), order_(order), free_(capacity) {
    for (std::size_t kind = 0; kind < free_.size(); ++kind) slack_[kind] = kPackSlack * std::max(1.0, std::abs(capacity[kind]));
    stages_.resize(dag.size());
    for (std::uint32_t i = 0; i < dag.size(); ++i) begin(i);
    for (std::uint32_t i = 0; i < dag.size(); ++i) {
      for (std::uint32_t before : predecessors(i)) stages_[i].blocking += stages_[before].unfinished > 0 ? 1 : 0;
      if (stages_[i].blocking == 0 && stages_[i].waiting > 0) ready_.push_back(i);
    }
  }

  DagPlan run() {
    Time now{0};
    for (;;) {
      const bool idle = endings_.empty();
      const std::size_t before_round = plan_.launches.size();
      while (const Choice best = choose()) launch(best, now);
      if (endings_.empty()) break;
      if (idle && plan_.launches.size() == before_round + 1) repeat(plan_.launches.back());
      now = endings_.begin()->first;
      const auto before = static_cast<std::ptrdiff_t>(ready_.size());
      for (const Ending& ending : endings_.begin()->second) end(ending);
      endings_.erase(endings_.begin());
      std::sort(ready_.begin() + before, ready_.end());
    }
    plan_.length = now;
    plan_.complete = std::all_of(stages_.begin(), stages_.end(), [](const Progress& stage) { return stage.waiting == 0; });
    return std::move(plan_);
  }

 private:
  struct Progress {
    std::uint32_t waiting = 0, unfinished = 0, blocking = 0;
  };
  struct Choice {
    std::uint32_t stage = 0, tasks = 0;
    explicit operator bool() const { return tasks > 0; }
  };

  const std::vector<std::uint32_t>& predecessors(std::uint32_t i) const { return forwards_ ? dag_[i].parents : dag_[i].children; }
  const std::vector<std::uint32_t>& successors(std::uint32_t i) const { return forwards_ ? dag_[i].children : dag_[i].parents; }

  void begin(std::uint32_t i) {
    Progress& stage = stages_[i];
    stage.waiting = stage.unfinished = dag_[i].waiting;
    if (!forwards_) return;
    for (const RunningTasks& running : dag_[i].running) {
      stage.unfinished += running.tasks;
      endings_[std::max(running.until, Time(1))].push_back({i, running.tasks});
      take(i, running.tasks);
    }
  }

  void take(std::uint32_t i, double tasks) { free_ -= dag_[i].demand * tasks; }

  /// How many tasks of the stage fit beside each other.
  std::uint32_t fitting(std::uint32_t i) const {
    double most = stages_[i].waiting;
    for (std::size_t kind = 0; kind < free_.size(); ++kind) {
      const double demand = dag_[i].demand[kind];
      if (demand > 0) most = std::min(most, (free_[kind] + slack_[kind]) / demand);
    }
    return most >= 1 ? static_cast<std::uint32_t>(most) : 0;
  }

  Choice choose() { return order_.rank.empty() ? best_aligned() : first_ranked(); }

  Choice first_ranked() const {
    Choice best;
    for (std::uint32_t i : ready_) {
      if (best && order_.rank[i] >= order_.rank[best.stage]) continue;
      if (const std::uint32_t tasks = fitting(i); tasks > 0) best = {i, tasks};
    }
    return best;
  }

  /// As many tasks of the best stage as may begin until another stage scores more: each task that begins lowers its score.
  Choice best_aligned() {
    scores_.clear();
    Choice best;
    double best_score = 0;
    for (std::uint32_t i : ready_) {
      const std::uint32_t tasks = fitting(i);
      if (tasks == 0) continue;
      const double score = rounded(alignment(dag_[i].demand, free_, order_.digits), order_.digits);
      if (order_.digits && score <= 0) continue;
      scores_.emplace_back(i, score);
      if (best && score <= best_score) continue;
      best = {i, tasks};
      best_score = score;
    }
    if (!best || scores_.size() == 1) return best;
    if (order_.digits) return {best.stage, 1};
    const Parts& demand = dag_[best.stage].demand;
    const double own = alignment(demand, demand, {});
    for (const auto& [other, score] : scores_) {
      const double falls = own - alignment(dag_[other].demand, demand, {});
      if (other == best.stage || falls <= 0) continue;
      const double ahead = std::floor((best_score - score) / falls) + 1;
      if (ahead < best.tasks) best.tasks = static_cast<std::uint32_t>(ahead);
    }
    return best;
  }

  void launch(const Choice& choice, Time now) {
    take(choice.stage, choice.tasks);
    stages_[choice.stage].waiting -= choice.tasks;
    endings_[now + dag_[choice.stage].duration].push_back({choice.stage, choice.tasks});
    plan_.launches.push_back({now, choice.stage, choice.tasks});
    if (stages_[choice.stage].waiting == 0) std::erase(ready_, choice.stage);
  }

  /// Only these tasks run: when they have ended, everything is as it was before, and as many of the stage begin again.
  void repeat(PlannedLaunches& only) {
    Progress& stage = stages_[only.stage];
    const std::uint32_t more = stage.waiting / only.tasks;
    if (more == 0) return;
    only.times += more;
    stage.waiting -= more * only.tasks;
    stage.unfinished -= more * only.tasks;
    endings_.clear();
    endings_[only.end(dag_[only.stage].duration)].push_back({only.stage, only.tasks});
    if (stage.waiting == 0) std::erase(ready_, only.stage);
  }

  void end(const Ending& ending) {
    take(ending.stage, -static_cast<double>(ending.tasks));
    if ((stages_[ending.stage].unfinished -= ending.tasks) > 0) return;
    for (std::uint32_t next : successors(ending.stage)) {
      if (--stages_[next].blocking == 0 && stages_[next].waiting > 0) ready_.push_back(next);
    }
  }

  const Dag& dag_;
  bool forwards_;
  const IntraOrder& order_;
  Parts free_, slack_{};
  std::vector<Progress> stages_;
  std::vector<std::uint32_t> ready_;  // stages with waiting tasks: by when they became ready, then ascending
  std::map<Time, std::vector<Ending>> endings_;
  std::vector<std::pair<std::uint32_t, double>> scores_;  // scratch
  DagPlan plan_;
};

/// Amounts over time, as the steps by which they change.
using Steps = std::map<Time, Parts>;

void add(Steps& steps, Time at, const Parts& demand, double tasks) { steps[at] += demand * tasks; }

/// The running tasks of a DAG, one stage's after the other's, as they end.
class Endings {
 public:
  explicit Endings(const Dag& dag) : dag_(dag), next_(dag.size()) {}

  /// The next that end, added to `free`; nothing: none are left.
  std::optional<Time> next(Parts& free) {
    std::size_t first = dag_.size();
    for (std::size_t i = 0; i < dag_.size(); ++i) {
      if (next_[i] < dag_[i].running.size() && (first == dag_.size() || until(i) < until(first))) first = i;
    }
    if (first == dag_.size()) return std::nullopt;
    const RunningTasks& ended = dag_[first].running[next_[first]++];
    free += dag_[first].demand * ended.tasks;
    return ended.until;
  }

 private:
  Time until(std::size_t i) const { return dag_[i].running[next_[i]].until; }

  const Dag& dag_;
  std::vector<std::size_t> next_;  // of each stage's
};

/// How long a plan must wait for running tasks whose stages come before its own.
Time delay_for_parents(const Dag& dag, const DagPlan& plan) {
  Time delay{0};
  std::vector<Time> first(dag.size(), Time::max());  // start of the stage or of one that comes after it
  for (const PlannedLaunches& one : plan.launches) first[one.stage] = std::min(first[one.stage], one.start);
  for (std::uint32_t i = static_cast<std::uint32_t>(dag.size()); i-- > 0;) {
    Time after = Time::max();
    for (std::uint32_t child : dag[i].children) after = std::min(after, first[child]);
    if (after != Time::max() && !dag[i].running.empty()) delay = std::max(delay, dag[i].running.back().until - after);
    first[i] = std::min(first[i], after);
  }
  return delay;
}

/// By how much a plan must be delayed so that it fits beside the running tasks, and no stage begins before its parents have ended.
/// Running tasks only become fewer with time.
Time delay_for_running(const Dag& dag, const Parts& capacity, const DagPlan& plan) {
  Time delay = delay_for_parents(dag, plan);
  Parts free = capacity;
  bool any = false;
  for (const DagStage& stage : dag) {
    std::uint64_t tasks = 0;
    for (const RunningTasks& running : stage.running) tasks += running.tasks;
    free -= stage.demand * static_cast<double>(tasks);
    any = any || tasks > 0;
  }
  if (!any) return delay;
  Steps wanted;
  for (const PlannedLaunches& one : plan.launches) {
    add(wanted, one.start, dag[one.stage].demand, one.tasks);
    add(wanted, one.end(dag[one.stage].duration), dag[one.stage].demand, -static_cast<double>(one.tasks));
  }
  Parts sum{};
  const auto too_much = [&] {
    for (std::size_t kind = 0; kind < sum.size(); ++kind) {
      if (sum[kind] > std::max(free[kind], 0.0) + kPackSlack * std::max(1.0, capacity[kind])) return true;
    }
    return false;
  };
  Endings endings(dag);
  for (const auto& [start, more] : wanted) {
    sum += more;
    while (too_much()) {
      const auto end = endings.next(free);
      if (!end) return delay;
      delay = std::max(delay, *end - start);
    }
  }
  return delay;
}

/// Plays a plan of the reversed DAG from its end.
void play_backwards(const Dag& dag, const Parts& capacity, DagPlan& plan) {
  for (PlannedLaunches& one : plan.launches) one.start = plan.length - one.end(dag[one.stage].duration);
  std::stable_sort(plan.launches.begin(), plan.launches.end(),
                   [](const PlannedLaunches& a, const PlannedLaunches& b) { return a.start < b.start; });
  const Time delay = delay_for_running(dag, capacity, plan);
  for (PlannedLaunches& one : plan.launches) one.start += delay;
  plan.length += delay;
  for (const DagStage& stage : dag) {
    if (!stage.running.empty()) plan.length = std::max(plan.length, stage.running.back().until);
  }
}

}  // namespace

DagPlan pack(const Dag& dag, const Parts& capacity, Direction direction, const IntraOrder& order) {
  DagPlan plan = Packer(dag, capacity, direction, order).run();
  if (direction == Direction::backwards) play_backwards(dag, capacity, plan);
  return plan;
}

std::vector<double> ranks_by_path(const Dag& dag, Direction direction) {
  std::vector<double> rank(dag.size());
  const auto extend = [&](std::uint32_t i, const std::vector<std::uint32_t>& next) {
    for (std::uint32_t other : next) rank[i] = std::min(rank[i], rank[other]);
    rank[i] -= in_seconds(dag[i].duration);
  };
  if (direction == Direction::forwards) {
    for (std::uint32_t i = static_cast<std::uint32_t>(dag.size()); i-- > 0;) extend(i, dag[i].children);
  } else {
    for (std::uint32_t i = 0; i < dag.size(); ++i) extend(i, dag[i].parents);
  }
  return rank;
}

}  // namespace weft::schedulers
