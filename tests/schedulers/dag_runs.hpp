// Random DAGs, and running them to their end on one machine under a scheduler, event by event.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "schedulers/view/estimates.hpp"
#include "tests/schedulers/world.hpp"

namespace weft::schedulers {

struct MadeStage {
  std::uint32_t tasks = 1;
  Resources demand;
  double seconds = 1;
  std::vector<std::uint32_t> parents{};
  double told = -1;  // seconds that schedulers are told; below 0: the truth
};
using MadeJob = std::vector<MadeStage>;
using MadeJobs = std::map<std::uint64_t, MadeJob>;

/// Demands are at most `largest` of 1 of each of two resources.
inline MadeJob random_dag(Random& random, double largest = 0.3) {
  MadeJob job(1 + random.below(6));
  for (std::size_t i = 0; i < job.size(); ++i) {
    job[i].tasks = static_cast<std::uint32_t>(1 + random.below(8));
    job[i].demand = {.cpu = 0.01 * static_cast<double>(1 + random.below(static_cast<std::uint64_t>(100 * largest))),
                     .memory = 0.01 * static_cast<double>(random.below(static_cast<std::uint64_t>(100 * largest)))};
    job[i].seconds = 0.5 * static_cast<double>(1 + random.below(20));
    for (std::size_t parent = 0; parent < i; ++parent) {
      if (random.chance(1.5 / static_cast<double>(i + 1))) job[i].parents.push_back(static_cast<std::uint32_t>(parent));
    }
  }
  return job;
}

/// Jobs that are all there at 0, on one machine. What ends at one moment has ended when the scheduler is called.
class DagRun {
 public:
  DagRun(const std::string& spec, const MadeJobs& jobs, const Resources& capacity = {.cpu = 1, .memory = 1},
         const std::map<std::string, std::string>& files = {})
      : world(spec, files), jobs_(jobs) {
    world.node(1, "a", "r", capacity);
    for (const auto& [id, stages] : jobs_) {
      JobInfo& job = world.job(id);
      for (std::uint32_t i = 0; i < stages.size(); ++i) {
        const MadeStage& stage = stages[i];
        world.stage(job, i, anywhere(stage.tasks), stage.demand, stage.told < 0 ? stage.seconds : stage.told, stage.parents);
      }
    }
  }

  /// Until every job has ended, or nothing goes on any more (false). At each moment `look` is called after the scheduler.
  template <class Look>
  bool run(Look look) {
    for (;;) {
      world.schedule();
      take_launches();
      look(*this);
      if (ends_.empty() && jobs_.size() == done.size()) return true;
      const Time next = std::min(ends_.empty() ? Time::max() : ends_.begin()->first, wake());
      if (next == Time::max()) return false;
      world.state.set_now(next);
      while (!ends_.empty() && ends_.begin()->first <= next) {
        const TaskId task = ends_.begin()->second;
        ends_.erase(ends_.begin());
        StageInfo& stage = world.state.mutable_job(task.job).stages.at(task.stage);
        stage.observed_total +=
            Time(static_cast<std::int64_t>(std::llround(1e9 * jobs_.at(task.job.value())[task.stage.value()].seconds)));
        ++stage.observed_count;
        world.finish(task);
      }
      end_jobs();
    }
  }
  bool run() {
    return run([](const DagRun&) {});
  }
  double mean_completion() const {
    double sum = 0;
    for (const auto& [id, at] : done) sum += at;
    return sum / static_cast<double>(done.size());
  }
  double makespan() const {
    double last = 0;
    for (const auto& [id, at] : done) last = std::max(last, at);
    return last;
  }

  World world;
  std::map<std::uint64_t, double> done;  // when, in seconds

 private:
  void take_launches() {
    for (; taken_ < world.launched.size(); ++taken_) {
      const TaskId task = world.launched[taken_].task;
      const double seconds = jobs_.at(task.job.value())[task.stage.value()].seconds;
      ends_.emplace(world.state.now() + Time(static_cast<std::int64_t>(std::llround(seconds * 1e9))), task);
    }
  }
  Time wake() {
    Time next = Time::max();
    for (Time at : world.wakes) {
      if (at > world.state.now()) next = std::min(next, at);
    }
    world.wakes.clear();
    return next;
  }
  void end_jobs() {
    for (const auto& [id, stages] : jobs_) {
      const JobInfo* job = world.state.job(JobId(id));
      if (job == nullptr || !std::all_of(job->stages.begin(), job->stages.end(), [](const auto& s) { return s.second.complete(); }))
        continue;
      done[id] = std::chrono::duration<double>(world.state.now()).count();
      world.end(id);
    }
  }

  MadeJobs jobs_;
  std::size_t taken_ = 0;
  std::multimap<Time, TaskId> ends_;
};

}  // namespace weft::schedulers
