// A launcher for trees of pools or queues: the jobs that they offer, and those that they hold.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "schedulers/parts/parts.hpp"

namespace weft::schedulers {

struct TreeLauncher final : Launcher {
  explicit TreeLauncher(JobId taker = {}) : takes(taker) {}
  bool launch(const JobInfo& job) override {
    offered.push_back(job.id.value());
    return job.id == takes;
  }
  void hold(JobId job, std::string_view reason) override { held[job.value()] = reason; }

  const JobId takes;  // the job that takes something
  std::vector<std::uint64_t> offered;
  std::map<std::uint64_t, std::string> held;
};

/// A job of one ready stage of tasks that take one core each.
inline JobInfo& tree_job(ClusterState& state, std::uint64_t id, const std::string& pool, std::uint32_t tasks,
                         const std::string& user = "ann", double weight = 1) {
  JobInfo info;
  info.id = JobId(id);
  info.pool = pool;
  info.user = user;
  info.submitted = Time(static_cast<std::int64_t>(id));
  info.hints.weight = weight;
  JobInfo& job = state.add_job(std::move(info));
  StageInfo stage;
  stage.id = StageId(0);
  stage.demand.cpu = 1;
  StageInfo& added = state.add_stage(job, std::move(stage), tasks, std::vector<std::vector<HostId>>(tasks));
  state.set_ready(job, added, true);
  return job;
}

/// So many further tasks of it run on node 1.
inline void tree_run(ClusterState& state, JobInfo& job, std::uint32_t tasks) {
  StageInfo& stage = job.stages.at(StageId(0));
  for (std::uint32_t i = 0; i < stage.tasks.size() && tasks > 0; ++i) {
    if (stage.tasks[i].state != TaskState::pending) continue;
    state.set_task(job, stage, i, TaskState::running);
    state.occupy(NodeId(1), {{job.id, stage.id, i}, stage.tasks[i].attempts++}, job, stage.demand);
    --tasks;
  }
}

inline void tree_node(ClusterState& state, double cores) {
  NodeInfo node;
  node.id = NodeId(1);
  node.capacity.cpu = cores;
  state.add_node(std::move(node), "host", "rack", {});
}

}  // namespace weft::schedulers
