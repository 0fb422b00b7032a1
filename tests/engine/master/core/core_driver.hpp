// Drives a Core by hand: short words for events, and what is running according to its commands.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/master/core/core.hpp"
#include "schedulers/builtin.hpp"

namespace weft::master::test {

inline plan::Stage source(std::uint32_t id, std::uint32_t tasks, std::uint32_t partitions) {
  plan::Stage stage;
  stage.id = StageId(id);
  stage.name = fmt::format("source{}", id);
  stage.branches.push_back({plan::BranchKind::splits, tasks, {}, {}, {}});
  stage.partitions = partitions;
  return stage;
}

inline plan::Stage reader(std::uint32_t id, std::vector<std::uint32_t> inputs, std::uint32_t tasks, std::uint32_t partitions) {
  plan::Stage stage;
  stage.id = StageId(id);
  stage.name = fmt::format("reader{}", id);
  plan::Branch branch{plan::BranchKind::shuffles, tasks, {}, {}, {}};
  for (std::uint32_t input : inputs) branch.partitioned.emplace_back(input);
  stage.branches.push_back(std::move(branch));
  stage.partitions = partitions;
  return stage;
}

inline plan::Stage result(plan::Stage stage) {
  stage.output = plan::OutputKind::result;
  stage.partitions = 0;
  return stage;
}

inline plan::PlanPart part(std::uint32_t action, std::vector<plan::Stage> stages, std::vector<std::uint32_t> released = {}) {
  plan::PlanPart made;
  made.action = ActionId(action);
  for (const auto& stage : stages) {
    if (stage.output == plan::OutputKind::result) made.targets.push_back(stage.id);
  }
  made.stages = std::move(stages);
  for (std::uint32_t shuffle : released) made.released.emplace_back(shuffle);
  return made;
}

class Driver {
 public:
  explicit Driver(CoreOptions options = {}) : Driver(schedulers::make_scheduler("fifo").value(), options) {}
  Driver(std::unique_ptr<schedulers::Scheduler> scheduler, CoreOptions options, SchedulerFactory factory = {})
      : core(std::move(scheduler), options, std::move(factory)) {}

  Result<void> apply(Event event) {
    const std::size_t first = commands.size();
    auto applied = core.apply(now, std::move(event), commands);
    for (std::size_t i = first; i < commands.size(); ++i) track(commands[i]);
    return applied;
  }
  void join(std::uint32_t node, double slots, std::string host = "", std::string rack = "rack-0") {
    WorkerJoined event;
    event.node = NodeId(node);
    event.name = fmt::format("worker-{}", node);
    event.host = host.empty() ? fmt::format("host-{}", node) : host;
    event.rack = std::move(rack);
    event.capacity.cpu = slots;
    ASSERT_TRUE(apply(std::move(event)));
  }
  void submit(std::uint64_t job, std::uint32_t max_attempts = 4, std::uint32_t shuffle_replicas = 1) {
    JobSubmitted event;
    event.job = JobId(job);
    event.name = "job";
    event.options.max_attempts = max_attempts;
    event.options.shuffle_replicas = shuffle_replicas;
    ASSERT_TRUE(apply(std::move(event)));
  }
  Result<void> extend(std::uint64_t job, plan::PlanPart plan_part) { return apply(PlanExtended{JobId(job), std::move(plan_part)}); }
  Result<void> lose(std::uint32_t node) { return apply(WorkerLost{NodeId(node), "test"}); }

  /// The running attempt of a task; fails the test when there is none.
  AttemptId running_attempt(std::uint64_t job, std::uint32_t stage, std::uint32_t index) const {
    for (const auto& [attempt, node] : running) {
      if (attempt.task == TaskId{JobId(job), StageId(stage), index}) return attempt;
    }
    ADD_FAILURE() << "stage " << stage << " task " << index << " is not running";
    return {};
  }
  bool is_running(std::uint64_t job, std::uint32_t stage, std::uint32_t index) const {
    for (const auto& [attempt, node] : running) {
      if (attempt.task == TaskId{JobId(job), StageId(stage), index}) return true;
    }
    return false;
  }
  Result<void> finish(AttemptId attempt, NodeId node) {
    TaskFinished event;
    event.attempt = attempt;
    event.node = node;
    const auto partitions = core_partitions(attempt.task);
    event.output.assign(partitions, {100, 10});
    event.result = Buffer::copy_of(as_bytes(fmt::format("r{}", attempt.task.index)));
    event.counters["tasks"] = 1;
    event.input_records = 7;
    auto applied = apply(std::move(event));
    if (applied) running.erase(attempt);
    return applied;
  }
  Result<void> finish(AttemptId attempt) { return finish(attempt, running.at(attempt)); }
  /// Ends a map with these bytes per partition.
  void finish_map(const AttemptId& attempt, const std::vector<std::uint64_t>& bytes, std::uint64_t input = 0,
                  std::vector<std::uint32_t> spread = {}) {
    TaskFinished event;
    event.attempt = attempt;
    event.node = running.at(attempt);
    event.input_bytes = input;
    event.sample_histogram = std::move(spread);
    for (std::uint64_t size : bytes) event.output.push_back({size, 1});
    running.erase(attempt);
    const auto applied = apply(std::move(event));
    ASSERT_TRUE(applied) << applied.error().to_string();
  }
  Result<void> fail_task(AttemptId attempt, FailureKind kind = FailureKind::user_code, std::string message = "boom") {
    TaskFailed event;
    event.attempt = attempt;
    event.node = running.at(attempt);
    event.kind = kind;
    event.message = std::move(message);
    running.erase(attempt);  // before its task is launched again
    return apply(std::move(event));
  }
  Result<void> fail_fetch(AttemptId attempt, std::uint32_t shuffle, std::uint32_t map, std::uint32_t map_attempt, NodeId node) {
    TaskFailed event;
    event.attempt = attempt;
    event.node = running.at(attempt);
    event.kind = FailureKind::fetch_failed;
    event.message = "block lost";
    event.fetch = shuffle::FetchFailure{ShuffleId(shuffle), map, map_attempt, node};
    running.erase(attempt);
    return apply(std::move(event));
  }
  /// Lets time pass, and the timers fire that are set for it.
  void pass_until(Time then) {
    while (true) {
      const SetTimer* next = nullptr;
      for (const SetTimer* timer : all<SetTimer>())
        if (timer->at <= then && !fired_.contains(timer->timer) && (next == nullptr || timer->at < next->at)) next = timer;
      if (next == nullptr) break;
      fired_.insert(next->timer);
      now = std::max(now, next->at);
      (void)apply(TimerFired{next->timer});  // it may have been fired by hand
    }
    now = std::max(now, then);
  }
  /// Finishes whatever runs until nothing does; returns how many tasks that were.
  std::size_t drain() {
    std::size_t count = 0;
    while (!running.empty()) {
      const AttemptId attempt = running.begin()->first;
      auto finished = finish(attempt);
      EXPECT_TRUE(finished) << finished.error().to_string();
      if (!finished) break;
      ++count;
    }
    return count;
  }

  template <class C>
  std::vector<const C*> all() const {
    std::vector<const C*> found;
    for (const auto& command : commands) {
      if (const C* one = std::get_if<C>(&command)) found.push_back(one);
    }
    return found;
  }
  template <class C>
  const C* last() const {
    auto found = all<C>();
    return found.empty() ? nullptr : found.back();
  }
  std::size_t launches(std::uint32_t stage) const {
    std::size_t count = 0;
    for (const auto* launch : all<LaunchTask>()) count += launch->attempt.task.stage == StageId(stage) ? 1 : 0;
    return count;
  }

  Core core;
  Time now{0};
  std::vector<Command> commands;
  std::map<AttemptId, NodeId> running;

 private:
  std::set<std::uint64_t> fired_;
  std::uint32_t core_partitions(const TaskId& task) const {
    const auto* stage = core.view().stage(task.job, task.stage);
    return stage == nullptr || !stage->writes_shuffle ? 0 : stage->output.partitions();
  }
  void track(const Command& command) {
    if (const auto* launch = std::get_if<LaunchTask>(&command)) running[launch->attempt] = launch->node;
    if (const auto* kill = std::get_if<KillTask>(&command)) running.erase(kill->attempt);
  }
};

}  // namespace weft::master::test
