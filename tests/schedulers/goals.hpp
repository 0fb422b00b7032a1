// Jobs with goals on regular and accelerated nodes, for tests of the Adaptive scheduler.
#pragma once

#include <algorithm>
#include <string>

#include "tests/schedulers/world.hpp"

namespace weft::schedulers::adaptive_rules {

struct Goals {
  World world;
  /// Without a reserve, needs are those of equation (1).
  explicit Goals(const std::string& spec = "adaptive(order=need, late=first, reserve=0)") : world(spec) {}

  void nodes(std::uint32_t count, std::uint32_t first = 1) {
    for (std::uint32_t i = first; i < first + count; ++i) world.node(i, "h" + std::to_string(i), "r", Resources{.cpu = 1});
  }
  void accelerated(std::uint32_t count, std::uint32_t first) {
    for (std::uint32_t i = first; i < first + count; ++i)
      world.node(i, "h" + std::to_string(i), "r", Resources{.cpu = 1}, {{"accelerator", "gpu"}});
  }
  /// `length`: of a task, as the program says; 0: it says nothing. `goal`: seconds from the start of time; 0: none.
  JobInfo& job(std::uint64_t id, std::size_t tasks, double length, int goal) {
    JobInfo& job = world.job(id);
    if (goal > 0) job.deadline = std::chrono::seconds(goal);
    world.stage(job, 0, anywhere(tasks), {.cpu = 1}, length);
    return job;
  }
  /// Launches so far of the job, on nodes from `first` to `last`.
  std::size_t on(std::uint64_t job, std::uint32_t first, std::uint32_t last) const {
    return static_cast<std::size_t>(std::count_if(world.launched.begin(), world.launched.end(), [&](const World::Launch& launch) {
      return launch.task.job.value() == job && launch.node.value() >= first && launch.node.value() <= last;
    }));
  }
  /// Ends all that run of the job, of those launched so far.
  void finish_all(std::uint64_t job) {
    const auto launched = world.launched;
    for (const auto& launch : launched)
      if (launch.task.job.value() == job && world.state.task(launch.task)->state == TaskState::running) world.finish(launch.task);
  }
};

}  // namespace weft::schedulers::adaptive_rules
