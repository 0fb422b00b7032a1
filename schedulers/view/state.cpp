#include "schedulers/view/state.hpp"

#include <algorithm>
#include <utility>

namespace weft::schedulers {

namespace {
JobOrder priority_order(const JobInfo& job) { return {job.priority, job.submitted, job.id}; }
}  // namespace

HostId ClusterState::intern_host(const std::string& name) {
  auto [found, added] = host_ids_.try_emplace(name, HostId(static_cast<std::uint32_t>(host_names_.size())));
  if (added) host_names_.push_back(name);
  return found->second;
}

NodeInfo& ClusterState::add_node(NodeInfo node, const std::string& host, const std::string& rack, const UplinkRate& uplink) {
  node.host = intern_host(host);
  auto [rack_id, new_rack] = rack_ids_.try_emplace(rack, RackId(static_cast<std::uint32_t>(rack_ids_.size())));
  node.rack = rack_id->second;
  RackInfo& in = racks_[node.rack];
  in.id = node.rack;
  in.name = rack;
  if (uplink.up > 0) in.uplink.up = uplink.up;
  if (uplink.down > 0) in.uplink.down = uplink.down;
  in.nodes.insert(node.id);
  in.capacity += node.capacity;
  if (node.usable()) capacity_ += node.capacity;
  hosts_[node.host].insert(node.id);
  if (host_racks_.try_emplace(node.host, node.rack).second) {
    for (auto& [id, job] : jobs_) {
      for (auto& [stage_id, stage] : job.stages) stage.pending.place(node.host, node.rack);
    }
  }
  NodeInfo& added = nodes_[node.id] = std::move(node);
  update_free(added);
  return added;
}

void ClusterState::remove_node(NodeId id) {
  NodeInfo& node = nodes_.at(id);
  if (node.usable()) capacity_ -= node.capacity;
  RackInfo& in = racks_.at(node.rack);
  in.nodes.erase(id);
  in.capacity -= node.capacity;
  set_cross_rack(id, {});
  if (in.nodes.empty()) in.capacity = {}, in.used = {}, in.cross_rack = {};
  auto host = hosts_.find(node.host);
  host->second.erase(id);
  if (host->second.empty()) hosts_.erase(host);
  free_nodes_.erase(id);
  in.free_nodes.erase(id);
  nodes_.erase(id);
  if (nodes_.empty()) capacity_ = {}, used_ = {};
}

void ClusterState::exclude(NodeId id, std::optional<Time> until) {
  NodeInfo& node = nodes_.at(id);
  const bool usable = node.usable();
  node.excluded_until = until;
  usability_changed(node, usable);
}

void ClusterState::set_leaving(NodeId id) {
  NodeInfo& node = nodes_.at(id);
  const bool usable = node.usable();
  node.leaving = true;
  usability_changed(node, usable);
}

void ClusterState::set_back(NodeId id) {
  NodeInfo& node = nodes_.at(id);
  const bool usable = node.usable();
  node.away = false;
  usability_changed(node, usable);
}

void ClusterState::usability_changed(const NodeInfo& node, bool before) {
  if (before && !node.usable()) capacity_ -= node.capacity;
  if (!before && node.usable()) capacity_ += node.capacity;
  update_free(node);
}

void ClusterState::set_capacity(NodeId id, const Resources& capacity) {
  NodeInfo& node = nodes_.at(id);
  const Resources change = capacity - node.capacity;
  racks_.at(node.rack).capacity += change;
  if (node.usable()) capacity_ += change;
  node.capacity = capacity;
  update_free(node);
}

void ClusterState::set_cross_rack(NodeId id, const UplinkRate& rate) {
  NodeInfo& node = nodes_.at(id);
  RackInfo& rack = racks_.at(node.rack);
  rack.cross_rack.up = std::max(0.0, rack.cross_rack.up + rate.up - node.cross_rack.up);  // sums of fractions
  rack.cross_rack.down = std::max(0.0, rack.cross_rack.down + rate.down - node.cross_rack.down);
  rack.most_cross_rack.up = std::max(rack.most_cross_rack.up, rack.cross_rack.up);
  rack.most_cross_rack.down = std::max(rack.most_cross_rack.down, rack.cross_rack.down);
  node.cross_rack = rate;
}

JobInfo& ClusterState::add_job(JobInfo job) {
  users_[job.user].jobs.insert(job.id);
  pools_[job.pool].jobs.insert(job.id);
  const JobId id = job.id;
  return jobs_[id] = std::move(job);
}

void ClusterState::remove_job(JobId id) {
  JobInfo& job = jobs_.at(id);
  runnable_jobs_.erase(priority_order(job));
  auto leave = [&job, id](std::map<std::string, GroupInfo>& groups, const std::string& name) {
    auto group = groups.find(name);
    group->second.jobs.erase(id);
    group->second.pending -= job.pending;
    if (group->second.jobs.empty()) groups.erase(group);
  };
  leave(users_, job.user);
  leave(pools_, job.pool);
  erase_job(stragglers_, id);
  jobs_.erase(id);
}

StageInfo& ClusterState::add_stage(JobInfo& job, StageInfo stage, std::uint32_t tasks,
                                   const std::vector<std::vector<HostId>>& hosts) {
  stage.tasks.resize(tasks);
  stage.pending = PendingTasks(tasks, hosts);
  std::set<HostId> named;
  for (const auto& list : hosts) named.insert(list.begin(), list.end());
  for (HostId host : named) {
    if (auto rack = rack_of(host)) stage.pending.place(host, *rack);
  }
  for (StageId parent : stage.parents) {
    if (auto found = job.stages.find(parent); found != job.stages.end()) {
      found->second.children.push_back(stage.id);
      stage.depth = std::max(stage.depth, found->second.depth + 1);
    }
  }
  return job.stages[stage.id] = std::move(stage);
}

void ClusterState::set_task_count(StageInfo& stage, std::uint32_t count) {
  stage.tasks.resize(count);
  stage.pending = PendingTasks(count, {});
}

void ClusterState::set_ready(JobInfo& job, StageInfo& stage, bool ready) {
  if (stage.ready == ready) return;
  stage.ready = ready;
  const TaskState from = ready ? TaskState::blocked : TaskState::pending;
  for (std::uint32_t task = 0; task < stage.tasks.size(); ++task) {
    if (stage.tasks[task].state == from) set_task(job, stage, task, TaskState::pending);
  }
}

std::vector<JobId> ClusterState::take_changed_jobs() {
  std::vector<JobId> jobs = std::exchange(changed_jobs_, {});
  std::sort(jobs.begin(), jobs.end());
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
  return jobs;
}

void ClusterState::changed(const JobInfo& job) {
  if (changed_jobs_.empty() || changed_jobs_.back() != job.id) changed_jobs_.push_back(job.id);
}

void ClusterState::count_pending(JobInfo& job, StageInfo& stage, std::int64_t change) {
  changed(job);
  const auto delta = static_cast<std::uint64_t>(change);  // wraps around for -1
  job.pending += delta;
  users_.at(job.user).pending += delta;
  pools_.at(job.pool).pending += delta;
  if (stage.pending.empty()) {
    job.runnable.erase(stage.id);
  } else {
    job.runnable.insert(stage.id);
  }
  if (change > 0) {
    job.wanted += stage.demand;
  } else {
    job.wanted -= stage.demand;
  }
  if (job.pending == 0) {
    job.wanted = {};  // no drift of sums of fractions
    runnable_jobs_.erase(priority_order(job));
  } else if (job.pending == 1 && change > 0) {
    runnable_jobs_.insert(priority_order(job));
  }
}

void ClusterState::set_task(JobInfo& job, StageInfo& stage, std::uint32_t index, TaskState state) {
  TaskInfo& task = stage.tasks[index];
  if (state == TaskState::pending && !stage.ready) state = TaskState::blocked;
  if (task.state == state) return;
  switch (task.state) {
    case TaskState::blocked:
      break;
    case TaskState::pending:
      stage.pending.erase(index);
      count_pending(job, stage, -1);
      break;
    case TaskState::running:
      --stage.running, --job.running;
      changed(job);
      if (job.running == 0) job.used = {};  // no drift of sums of fractions
      if (!stragglers_.empty()) stragglers_.erase({job.id, stage.id, index});
      break;
    case TaskState::finished:
      --stage.finished, --job.finished;
      break;
  }
  task.state = state;
  switch (state) {
    case TaskState::blocked:
      break;
    case TaskState::pending:
      stage.pending.insert(index, task.avoid);
      count_pending(job, stage, 1);
      break;
    case TaskState::running:
      ++stage.running, ++job.running;
      preplace(stage, index, std::nullopt);
      break;
    case TaskState::finished:
      ++stage.finished, ++job.finished;
      break;
  }
}

void ClusterState::set_avoid(StageInfo& stage, std::uint32_t index, std::optional<NodeId> avoid) {
  TaskInfo& task = stage.tasks[index];
  if (task.avoid == avoid) return;
  if (task.state == TaskState::pending) stage.pending.erase(index);
  task.avoid = avoid;
  if (task.state == TaskState::pending) stage.pending.insert(index, avoid);
}

void ClusterState::preplace(StageInfo& stage, std::uint32_t index, std::optional<NodeId> node) {
  TaskInfo& task = stage.tasks[index];
  if (task.preplaced == node) return;
  if (task.preplaced) {
    auto old = stage.preplaced.find(*task.preplaced);
    old->second.erase(index);
    if (old->second.empty()) stage.preplaced.erase(old);
  }
  task.preplaced = node;
  if (node) stage.preplaced[*node].insert(index);
}

void ClusterState::set_straggler(const TaskId& task, bool straggles) {
  if (straggles) {
    stragglers_.insert(task);
  } else {
    stragglers_.erase(task);
  }
}

SpeculativeAttempt& ClusterState::add_speculative(const TaskId& id, StageInfo& stage, NodeId node) {
  TaskInfo& task = stage.tasks[id.index];
  ++task.later_attempts;
  stragglers_.erase(id);
  return stage.speculative[id.index] = {task.attempts++, node, now_};
}

void ClusterState::promote_speculative(StageInfo& stage, std::uint32_t index) {
  TaskInfo& task = stage.tasks[index];
  const SpeculativeAttempt second = stage.speculative.at(index);
  stage.speculative.erase(index);
  task.node = second.node;
  task.launched = second.launched;
  task.later_attempts = static_cast<std::uint16_t>(task.attempts - 1 - second.attempt);
}

namespace {

/// What an attempt takes that holds a device.
Resources with_device(Resources demand) {
  demand.accelerator = std::max(demand.accelerator, 1.0);
  return demand;
}

}  // namespace

void ClusterState::occupy(NodeId id, const AttemptId& attempt, JobInfo& job, const Resources& demand, bool device) {
  NodeInfo& node = nodes_.at(id);
  node.running.insert(attempt);
  ++node.launched;
  for (GroupInfo* group : {&users_.at(job.user), &pools_.at(job.pool)}) ++group->running;
  charge(node, job, demand);
  if (device) hold_device(id, attempt, job, demand);
}

void ClusterState::hold_device(NodeId id, const AttemptId& attempt, JobInfo& job, const Resources& demand) {
  NodeInfo& node = nodes_.at(id);
  if (!node.with_device.insert(attempt).second) return;
  Resources more;
  more.accelerator = with_device(demand).accelerator - demand.accelerator;
  charge(node, job, more);
}

void ClusterState::charge(NodeInfo& node, JobInfo& job, const Resources& taken) {
  changed(job);
  node.used += taken;
  racks_.at(node.rack).used += taken;
  used_ += taken;
  job.used += taken;
  for (GroupInfo* group : {&users_.at(job.user), &pools_.at(job.pool)}) group->used += taken;
  update_free(node);
}

void ClusterState::vacate(NodeId id, const AttemptId& attempt, JobInfo& job, const Resources& demand) {
  NodeInfo& node = nodes_.at(id);
  if (node.running.erase(attempt) == 0) return;
  const Resources taken = node.with_device.erase(attempt) != 0 ? with_device(demand) : demand;
  changed(job);
  node.used -= taken;
  racks_.at(node.rack).used -= taken;
  used_ -= taken;
  job.used -= taken;
  for (GroupInfo* group : {&users_.at(job.user), &pools_.at(job.pool)}) {
    group->used -= taken, --group->running;
    if (group->running == 0) group->used = {};
  }
  if (node.running.empty()) node.used = {};  // no drift of sums of fractions
  update_free(node);
}

void ClusterState::update_free(const NodeInfo& node) {
  if (node.usable() && node.used.cpu < node.capacity.cpu * (1 - 1e-9)) {
    free_nodes_.insert(node.id);
    racks_.at(node.rack).free_nodes.insert(node.id);
  } else {
    free_nodes_.erase(node.id);
    racks_.at(node.rack).free_nodes.erase(node.id);
  }
}

}  // namespace weft::schedulers
