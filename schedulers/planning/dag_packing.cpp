#include "schedulers/planning/dag_packing.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

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
      while (const Choice best = choose()) launch(best, now);
      if (endings_.empty()) break;
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

/// By how much a plan must be delayed so that it fits beside the running tasks, and no stage begins before its parents have ended.
/// Running tasks only become fewer with time.
Time delay_for_running(const Dag& dag, const Parts& capacity, const DagPlan& plan) {
  Steps ends;
  Time delay{0};
  std::vector<Time> first(dag.size(), Time::max());  // start of the stage or of one that comes after it
  for (const PlannedLaunches& one : plan.launches) first[one.stage] = std::min(first[one.stage], one.start);
  Parts free = capacity;
  for (std::uint32_t i = static_cast<std::uint32_t>(dag.size()); i-- > 0;) {
    Time after = Time::max();
    for (std::uint32_t child : dag[i].children) after = std::min(after, first[child]);
    for (const RunningTasks& running : dag[i].running) {
      add(ends, running.until, dag[i].demand, running.tasks);
      free -= dag[i].demand * running.tasks;
      if (after != Time::max()) delay = std::max(delay, running.until - after);
    }
    first[i] = std::min(first[i], after);
  }
  if (ends.empty()) return delay;
  Steps wanted;
  for (const PlannedLaunches& one : plan.launches) {
    add(wanted, one.start, dag[one.stage].demand, one.tasks);
    add(wanted, one.start + dag[one.stage].duration, dag[one.stage].demand, -static_cast<double>(one.tasks));
  }
  Parts sum{};
  auto end = ends.begin();
  for (auto step = wanted.begin(); step != wanted.end() && end != ends.end(); ++step) {
    sum += step->second;
    const auto too_much = [&] {
      for (std::size_t kind = 0; kind < sum.size(); ++kind) {
        if (sum[kind] > std::max(free[kind], 0.0) + kPackSlack * std::max(1.0, capacity[kind])) return true;
      }
      return false;
    };
    while (end != ends.end() && too_much()) {
      delay = std::max(delay, end->first - step->first);
      free += end->second;
      ++end;
    }
  }
  return delay;
}

/// Plays a plan of the reversed DAG from its end.
void play_backwards(const Dag& dag, const Parts& capacity, DagPlan& plan) {
  for (PlannedLaunches& one : plan.launches) one.start = plan.length - one.start - dag[one.stage].duration;
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
