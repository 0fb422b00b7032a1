// A cluster and jobs for tests of policies, carrying out decisions and sending notices as the core does.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "schedulers/builtin.hpp"
#include "schedulers/view/state.hpp"

namespace weft::schedulers {

inline std::vector<std::vector<std::string>> anywhere(std::size_t tasks) { return std::vector<std::vector<std::string>>(tasks); }

class World : public Decisions {
 public:
  struct Launch {
    TaskId task;
    NodeId node;
    std::string reason;
  };

  explicit World(const std::string& spec = "fifo", const std::map<std::string, std::string>& files = {}) {
    auto made = make_scheduler(spec, reader_of(files));
    if (!made) throw std::runtime_error(made.error().to_string());
    scheduler = std::move(*made);
    EXPECT_TRUE(scheduler->start(state, nullptr));
  }
  explicit World(std::unique_ptr<Scheduler> made) : scheduler(std::move(made)) { EXPECT_TRUE(scheduler->start(state, nullptr)); }

  void node(std::uint32_t id, const std::string& host, const std::string& rack, double slots, double memory = 0) {
    node(id, host, rack, Resources{.cpu = slots, .memory = memory});
  }
  void node(std::uint32_t id, const std::string& host, const std::string& rack, const Resources& capacity,
            std::map<std::string, std::string> attributes = {}, const UplinkRate& uplink = {}) {
    NodeInfo info;
    info.id = NodeId(id);
    info.capacity = info.nominal = capacity;
    info.attributes = std::move(attributes);
    state.add_node(std::move(info), host, rack, uplink);
    tell({.kind = Notice::Kind::node_joined, .node = NodeId(id)});
  }

  /// It can be given that much from now on.
  void give(std::uint32_t id, const Resources& capacity) {
    state.set_capacity(NodeId(id), capacity);
    tell({.kind = Notice::Kind::node_changed, .node = NodeId(id)});
  }

  /// A job without stages. `user` and `pool` are its names.
  JobInfo& job(std::uint64_t id, const std::string& user = "", const std::string& pool = "", int priority = 0) {
    return job(id, priority, state.now(), user, pool);
  }
  JobInfo& job(std::uint64_t id, int priority, Time submitted, const std::string& user, const std::string& pool) {
    JobInfo info;
    info.id = JobId(id);
    info.priority = priority;
    info.submitted = submitted;
    info.user = user;
    info.pool = pool;
    JobInfo& added = state.add_job(std::move(info));
    tell({.kind = Notice::Kind::job_arrived, .job = added.id});
    return added;
  }
  /// A job of one stage that is ready.
  void job(std::uint64_t id, int priority, Time submitted, std::vector<std::vector<std::string>> hosts,
           Resources demand = {.cpu = 1}) {
    stage(job(id, priority, submitted, "", ""), 0, std::move(hosts), demand);
  }
  StageInfo& stage(JobInfo& job, std::uint32_t id, std::vector<std::vector<std::string>> hosts, Resources demand = {.cpu = 1},
                   double seconds = 0, std::vector<std::uint32_t> parents = {}) {
    StageInfo info;
    info.id = StageId(id);
    info.demand = demand;
    if (seconds > 0) info.estimated_duration = Time(static_cast<std::int64_t>(seconds * 1e9));
    for (std::uint32_t parent : parents) info.parents.emplace_back(parent);
    info.reads_shuffle = !parents.empty();
    std::vector<std::vector<HostId>> ids;
    for (const auto& list : hosts) {
      auto& out = ids.emplace_back();
      for (const auto& host : list) out.push_back(state.intern_host(host));
    }
    StageInfo& added = state.add_stage(job, std::move(info), static_cast<std::uint32_t>(ids.size()), ids);
    tell({.kind = Notice::Kind::stage_added, .job = job.id, .stage = added.id});
    ready_stages(job);
    return added;
  }

  Result<void> launch(const TaskId& task, NodeId where, std::string_view reason) override {
    if (auto wrong = state.why_not(task, where)) {
      ADD_FAILURE() << *wrong;
      return fail(Code::invalid_argument, *wrong);
    }
    JobInfo& job = state.mutable_job(task.job);
    StageInfo& stage = job.stages.at(task.stage);
    state.set_task(job, stage, task.index, TaskState::running);
    const AttemptId attempt{task, stage.tasks[task.index].attempts++};
    stage.tasks[task.index].node = where;
    stage.tasks[task.index].launched = state.now();
    state.occupy(where, attempt, job, stage.demand);
    launched.push_back({task, where, std::string(reason)});
    tell({Notice::Kind::task_launched, task.job, task.stage, task.index, where});
    tell_changes();
    return {};
  }
  Result<void> preempt(const AttemptId& attempt, std::string_view) override {
    const TaskInfo* info = state.task(attempt.task);
    if (info == nullptr || info->state != TaskState::running || info->attempts - 1 != attempt.attempt) {
      ADD_FAILURE() << weft::to_string(attempt) << " is not running";
      return fail(Code::invalid_argument, "not running");
    }
    const NodeId node = info->node;
    stop(attempt.task, TaskState::pending);
    preempted.push_back(attempt);
    tell({Notice::Kind::task_preempted, attempt.task.job, attempt.task.stage, attempt.task.index, node});
    tell_changes();
    return {};
  }
  Result<void> preplace(const TaskId& task, NodeId where, std::string_view) override {
    state.preplace(state.mutable_job(task.job).stages.at(task.stage), task.index, where);
    return {};
  }
  void hold(JobId job, std::optional<StageId>, std::string_view reason) override { held = holds[job] = reason; }
  void wake_at(Time at) override { wakes.push_back(at); }

  void schedule(Trigger trigger = {}) {
    tell_changes();
    scheduler->schedule(state, trigger, *this);
  }
  /// A heartbeat.
  void beat(std::uint32_t node) { schedule({Trigger::Kind::node, NodeId(node)}); }
  void at(double seconds) { state.set_now(Time(static_cast<std::int64_t>(std::llround(seconds * 1e9)))); }

  void finish(TaskId task) {  // a copy: callers take it from what this changes
    const NodeId node = state.task(task)->node;
    StageInfo& stage = state.mutable_job(task.job).stages.at(task.stage);
    stage.tasks[task.index].ended = state.now();
    stop(task, TaskState::finished);
    tell({Notice::Kind::task_finished, task.job, task.stage, task.index, node});
    if (stage.complete()) {
      state.set_ready(state.mutable_job(task.job), stage, false);
      tell({.kind = Notice::Kind::stage_complete, .job = task.job, .stage = task.stage});
    }
    ready_stages(state.mutable_job(task.job));
  }
  /// The node is lost, and what ran there waits again.
  void leave(std::uint32_t id) {
    const std::set<AttemptId> running = state.node(NodeId(id))->running;
    for (const AttemptId& attempt : running) stop(attempt.task, TaskState::pending);
    tell({.kind = Notice::Kind::node_left, .node = NodeId(id)});
    state.remove_node(NodeId(id));
  }
  void end(std::uint64_t job) {
    tell({.kind = Notice::Kind::job_ended, .job = JobId(job)});
    state.remove_job(JobId(job));
  }
  /// Jobs of the launches so far, one letter or number each.
  std::string order() const {
    std::string text;
    for (const auto& launch : launched) text += fmt::format("{}", launch.task.job.value());
    return text;
  }
  std::size_t running(std::uint64_t job) const { return static_cast<std::size_t>(state.job(JobId(job))->running); }

  ClusterState state;
  std::unique_ptr<Scheduler> scheduler;
  std::vector<Launch> launched;
  std::vector<AttemptId> preempted;
  std::vector<Time> wakes;
  std::map<JobId, std::string> holds;
  std::string held;

 private:
  void stop(const TaskId& task, TaskState state_after) {
    JobInfo& job = state.mutable_job(task.job);
    StageInfo& stage = job.stages.at(task.stage);
    const TaskInfo& info = stage.tasks[task.index];
    state.vacate(info.node, {task, info.attempts - 1}, job, stage.demand);
    state.set_task(job, stage, task.index, state_after);
  }
  void ready_stages(JobInfo& job) {
    for (auto& [id, stage] : job.stages) {
      bool ready = !stage.complete();
      for (StageId parent : stage.parents) ready = ready && job.stages.at(parent).complete();
      if (!ready || stage.ready) continue;
      state.set_ready(job, stage, true);
      tell({.kind = Notice::Kind::stage_ready, .job = job.id, .stage = id});
    }
  }
  void tell(const Notice& notice) { scheduler->on_event(state, notice); }
  void tell_changes() {
    for (JobId id : state.take_changed_jobs()) {
      if (state.job(id) != nullptr) tell({.kind = Notice::Kind::job_changed, .job = id});
    }
  }
};

}  // namespace weft::schedulers
