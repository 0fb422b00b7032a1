// Workers: joining, silence, loss, exclusion; and the timers behind them.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/master/core_impl.hpp"

namespace weft::master {
namespace {

constexpr std::uint32_t kLostWorkersNamed = 16;  // in the status of a job

}  // namespace

Result<void> Core::Impl::on(WorkerJoined event) {
  if (seen_nodes_.contains(event.node))
    return fail(Code::already_exists, fmt::format("there was a node {} already", event.node.value()));
  if (!schedulers::valid(event.capacity) || event.capacity.cpu == 0) {
    return fail(Code::invalid_argument,
                fmt::format("worker {} has no usable capacity ({})", event.name, to_string(event.capacity)));
  }
  seen_nodes_.insert(event.node);
  schedulers::NodeInfo node;
  node.id = event.node;
  node.name = std::move(event.name);
  node.capacity = node.nominal = event.capacity;
  node.attributes = std::move(event.attributes);
  node.forecast = std::move(event.forecast);
  node.joined = node.last_heard = state_.now();
  state_.add_node(std::move(node), event.host, event.rack, options_.rack_uplink_bytes_per_second);
  if (options_.heartbeat_timeout > Time(0))
    set_timer(Timer::Purpose::heartbeat, event.node, state_.now() + options_.heartbeat_timeout);
  replica_placement_.add(event.node, state_.node(event.node)->rack);
  count_shape(event.capacity, +1);
  units_.join(event.node, event.prefetch_bytes);
  notify({.kind = schedulers::Notice::Kind::node_joined, .node = event.node});
  trigger_node(event.node);
  copy_waiting_outputs();
  return {};
}

Result<void> Core::Impl::on(WorkerHeartbeat event) {
  if (state_.node(event.node) == nullptr) {
    return fail(Code::not_found, fmt::format("node {} is not known (any more); it must register again", event.node.value()));
  }
  if (event.capacity && !schedulers::valid(*event.capacity))
    return fail(Code::invalid_argument, fmt::format("the capacity of node {} must be finite and not negative", event.node.value()));
  schedulers::NodeInfo& node = state_.mutable_node(event.node);
  node.last_heard = state_.now();
  node.measured = event.used;
  if (event.capacity) state_.set_capacity(event.node, *event.capacity);
  if (!event.forecast.empty()) node.forecast = std::move(event.forecast);
  if (std::isfinite(event.cross_rack_rate) && event.cross_rack_rate >= 0)
    state_.set_cross_rack_rate(event.node, event.cross_rack_rate);
  if (event.capacity) notify({.kind = schedulers::Notice::Kind::node_changed, .node = event.node});
  if (event.capacity) lift_avoidance();  // another node may be none for some tasks now
  heartbeat_ = event.node;
  trigger_node(event.node);
  return {};
}

Result<void> Core::Impl::on(WorkerLost event) {
  if (state_.node(event.node) == nullptr)
    return fail(Code::not_found, fmt::format("node {} is not known (any more)", event.node.value()));
  lose_node(event.node, event.reason.empty() ? "connection lost" : event.reason);
  return {};
}

void Core::Impl::lose_node(NodeId id, const std::string& reason) {
  const std::string why = fmt::format("worker {} was lost: {}", node_name(id), reason);
  notify({.kind = schedulers::Notice::Kind::node_left, .node = id});
  note_lost_node(id, reason);
  replica_placement_.remove(id);
  const std::set<AttemptId> running = state_.mutable_node(id).running;
  for (const AttemptId& attempt : running) {
    const TaskRef task = ref_of(attempt);
    ++task.stage->info->failed_attempts;
    vacate(task);
    lose_attempt(task, why);
  }
  std::vector<TaskId> homeless;  // one of each stage that had tasks placed there
  for (auto& [job_id, job] : jobs_) {
    job.nodes.erase(id);
    if (reason != kWorkerLeft && ++job.workers_lost <= kLostWorkersNamed)
      job.lost_workers.push_back(fmt::format("{} ({})", node_name(id), reason));
    for (auto& [stage_id, stage] : job.stages) {
      stage.sent.erase(id);
      stage.told.erase(id);
      stage.fetch_failures.erase(id);
      lose_outputs_on(job, stage, id, why);
      lose_copies_on(job, stage, id);
      if (stage.info->preplaced.contains(id)) homeless.push_back({job_id, stage_id, 0});
      for (bool more = true; more;) {  // promises of this node
        auto promised = stage.info->preplaced.find(id);
        more = promised != stage.info->preplaced.end();
        if (more) state_.preplace(*stage.info, *promised->second.begin(), std::nullopt);
      }
    }
    refresh(job);
  }
  units_.leave(id);
  node_failures_.erase(id);
  paces_.erase(id);
  std::erase_if(timers_, [id](const auto& entry) {
    using Purpose = Timer::Purpose;
    return (entry.second.purpose == Purpose::heartbeat || entry.second.purpose == Purpose::exclusion) && entry.second.node == id;
  });
  const schedulers::Resources capacity = state_.node(id)->nominal;
  state_.remove_node(id);
  count_shape(capacity, -1);
  emit(NodeLost{id, reason});
  for (const TaskId& of_stage : homeless) {
    JobRecord& job = jobs_.at(of_stage.job);
    preplace(job, job.stages.at(of_stage.stage), std::nullopt);
  }
  lift_avoidance();
  trigger_work();
}

std::string Core::Impl::node_name(NodeId id) const {
  const schedulers::NodeInfo* node = state_.node(id);
  return node == nullptr || node->name.empty() ? fmt::format("node {}", id.value()) : node->name;
}

bool Core::Impl::another_node(const schedulers::StageInfo& stage, NodeId than) const {
  return std::any_of(state_.nodes().begin(), state_.nodes().end(), [&](const auto& entry) {
    return entry.first != than && entry.second.usable() && schedulers::fits(stage.demand, {}, entry.second.capacity);
  });
}

void Core::Impl::lift_avoidance(schedulers::StageInfo& stage) {
  std::vector<std::uint32_t> lifted;
  for (const auto& [node, tasks] : stage.pending.avoiding()) {
    if (state_.node(node) != nullptr && another_node(stage, node)) continue;
    lifted.insert(lifted.end(), tasks.begin(), tasks.end());
  }
  for (std::uint32_t task : lifted) state_.set_avoid(stage, task, std::nullopt);
}

void Core::Impl::lift_avoidance() {
  for (auto& [id, job] : jobs_) {
    for (StageId stage : job.info->runnable) lift_avoidance(*job.stages.at(stage).info);
  }
}

void Core::Impl::node_failed(NodeId id) {
  const schedulers::NodeInfo* node = state_.node(id);
  if (node == nullptr || !node->usable()) return;
  std::uint32_t limit = options_.max_failures_per_node;
  if (limit == 0) limit = std::max(3u, static_cast<std::uint32_t>(std::min(node->capacity.cpu, 1e6)));
  if (++node_failures_[id] >= limit) exclude(id);
}

void Core::Impl::exclude(NodeId id) {
  const schedulers::NodeInfo* node = state_.node(id);
  if (node == nullptr || !node->usable()) return;
  const bool last = std::none_of(state_.nodes().begin(), state_.nodes().end(),
                                 [id](const auto& entry) { return entry.first != id && entry.second.usable(); });
  if (last) return;  // better a bad node than none
  node_failures_.erase(id);
  state_.exclude(id, state_.now() + options_.exclusion);
  set_timer(Timer::Purpose::exclusion, id, state_.now() + options_.exclusion);
  notify({.kind = schedulers::Notice::Kind::node_changed, .node = id});
  lift_avoidance();
  trigger_work();
}

Result<void> Core::Impl::on(TimerFired event) {
  auto found = timers_.find(event.timer);
  if (found == timers_.end()) return fail(Code::not_found, fmt::format("there is no timer {}", event.timer));
  const Timer timer = found->second;
  if (state_.now() < timer.at) {  // early: ask again
    emit(SetTimer{event.timer, timer.at});
    return {};
  }
  timers_.erase(found);
  switch (timer.purpose) {
    case Timer::Purpose::scheduler:
      wakes_.erase(wakes_.find(timer.at));
      timer_ = true;
      break;
    case Timer::Purpose::step:
      step_ = true;
      step_asked_ = false;
      break;
    case Timer::Purpose::exclusion:
      state_.exclude(timer.node, std::nullopt);
      notify({.kind = schedulers::Notice::Kind::node_changed, .node = timer.node});
      copy_waiting_outputs();
      if (state_.free_nodes().contains(timer.node)) trigger_work();
      break;
    case Timer::Purpose::placement:
      placement_due(timer.job);
      break;
    case Timer::Purpose::stragglers:
      if (next_look_ == timer.at) look_for_stragglers();
      break;
    case Timer::Purpose::heartbeat: {
      const Time due = state_.node(timer.node)->last_heard + options_.heartbeat_timeout;
      if (state_.now() < due) {
        set_timer(Timer::Purpose::heartbeat, timer.node, due);
      } else {
        using Seconds = std::chrono::duration<double>;
        lose_node(timer.node, fmt::format("not heard of for {:.1f} s", Seconds(options_.heartbeat_timeout).count()));
      }
    }
  }
  return {};
}

}  // namespace weft::master
