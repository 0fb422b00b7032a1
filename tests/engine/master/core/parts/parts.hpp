// What parts of the core are tested with: a context with nodes, jobs and stages, and no core.
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "engine/master/core/shuffles.hpp"
#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master::test {

class Parts {
 public:
  explicit Parts(const CoreOptions& options = {},
                 std::unique_ptr<schedulers::Scheduler> scheduler = schedulers::make_scheduler("fifo").value())
      : context(std::move(scheduler), options, {}) {
    context.commands.open(commands);
  }

  void at(std::int64_t seconds) { context.view.set_now(std::chrono::seconds(seconds)); }
  void node(std::uint32_t id, double slots, const std::string& rack = "r") {
    schedulers::NodeInfo info;
    info.id = NodeId(id);
    info.name = fmt::format("w{}", id);
    info.capacity.cpu = info.nominal.cpu = slots;
    context.view.add_node(std::move(info), fmt::format("h{}", id), rack, {});
  }
  JobRecord& job(std::uint64_t id, std::uint32_t shuffle_replicas = 1) {
    JobRecord& job = context.jobs.running()[JobId(id)];
    job.spec.job = JobId(id);
    job.spec.options.shuffle_replicas = shuffle_replicas;
    schedulers::JobInfo info;
    info.id = JobId(id);
    info.slow_start = context.options.slow_start.value_or(1);
    job.info = &context.view.add_job(std::move(info));
    return job;
  }
  StageRecord& stage(JobRecord& job, plan::Stage plan, double cpu = 1) {
    schedulers::StageInfo info;
    info.id = plan.id;
    info.demand.cpu = cpu;
    for (const auto& branch : plan.branches)
      for (ShuffleId input : branch.partitioned) info.parents.emplace_back(input.value());
    const std::uint32_t tasks = plan.task_count();
    if (plan.output == plan::OutputKind::shuffle) info.output = schedulers::ShuffleSizes(tasks, plan.partitions);
    StageRecord& record = job.stages[plan.id];
    record.inputs = info.parents;
    record.info = &context.view.add_stage(*job.info, std::move(info), tasks, std::vector<std::vector<schedulers::HostId>>(tasks));
    record.begun.resize(tasks);
    record.counted.resize(tasks);
    record.plan = std::move(plan);
    job.open.insert(record.plan.id);
    return record;
  }
  void ready(JobRecord& job, StageRecord& stage) {
    stage.info->inputs_complete = stage.active = true;
    context.view.set_ready(*job.info, *stage.info, true);
  }
  /// As if the task had been launched there now.
  TaskRef run(JobRecord& job, StageRecord& stage, std::uint32_t task, std::uint32_t node) {
    schedulers::TaskInfo& info = stage.info->tasks[task];
    context.view.set_task(*job.info, *stage.info, task, schedulers::TaskState::running);
    info.node = NodeId(node);
    info.launched = context.now();
    const TaskRef ref{&job, &stage, task};
    context.view.occupy(NodeId(node), {ref.id(), info.attempts++}, *job.info, stage.info->demand);
    return ref;
  }
  /// As if a running task had finished now, and had written so much for each partition.
  void finish(const TaskRef& task, const std::vector<std::uint64_t>& bytes = {}) {
    context.view.vacate(task.node(), task.attempt(), *task.job->info, task.stage->info->demand);
    task.info().ended = context.now();
    if (!bytes.empty()) task.stage->info->output.add(task.index, task.node(), bytes);
    context.view.set_task(*task.job->info, *task.stage->info, task.index, schedulers::TaskState::finished);
  }

  template <class C>
  std::vector<C> all() const {
    std::vector<C> found;
    for (const Command& command : commands)
      if (const C* one = std::get_if<C>(&command)) found.push_back(*one);
    return found;
  }

  std::vector<Command> commands;
  CoreContext context;
};

/// Shuffles, and the parts they work with.
struct ShuffleParts {
  explicit ShuffleParts(CoreContext& context)
      : health(context),
        replicas(context),
        rounds(context),
        preplacement(context, rounds),
        slow_start(context),
        shuffles(context, health, replicas, preplacement, rounds, slow_start) {}

  NodeHealth health;
  OutputReplicas replicas;
  RoundEviction rounds;
  Preplacement preplacement;
  SlowStart slow_start;
  Shuffles shuffles;
};

}  // namespace weft::master::test
