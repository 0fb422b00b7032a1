// Workers: joining, heartbeats, silence and loss.
#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "engine/master/core/coordinator.hpp"

namespace weft::master {
namespace {

bool possible(const schedulers::UplinkRate& rate) {
  return std::isfinite(rate.up) && std::isfinite(rate.down) && rate.up >= 0 && rate.down >= 0;
}

/// Whether it takes nothing into account that `nominal` does not, and has no more of anything.
bool within(const schedulers::Resources& capacity, const schedulers::Resources& nominal) {
  return std::all_of(schedulers::kResourceKinds.begin(), schedulers::kResourceKinds.end(), [&](const auto& kind) {
    return capacity.*kind.amount <= nominal.*kind.amount &&
           schedulers::accounted(kind, capacity) == schedulers::accounted(kind, nominal);
  });
}

bool possible(const std::vector<schedulers::CapacityStep>& forecast) {
  return std::all_of(forecast.begin(), forecast.end(), [](const auto& step) { return schedulers::valid(step.available); }) &&
         std::is_sorted(forecast.begin(), forecast.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
}

}  // namespace

Result<void> Core::Impl::on(WorkerJoined event) {
  if (health_.joined(event.node)) return fail(Code::already_exists, fmt::format("there was a node {} already", event.node.value()));
  if (!possible(event.rack_uplink))
    return fail(Code::invalid_argument, fmt::format("the uplink of rack {} must be finite and not negative", event.rack));
  if (!schedulers::valid(event.capacity) || event.capacity.cpu == 0) {
    return fail(Code::invalid_argument,
                fmt::format("worker {} has no usable capacity ({})", event.name, to_string(event.capacity)));
  }
  if (!(event.processors >= 0 && event.processors <= 1e6))
    return fail(Code::invalid_argument, fmt::format("worker {} cannot have {} processors", event.name, event.processors));
  health_.join(event.node);
  schedulers::NodeInfo node = info_of(event);
  node.joined = node.last_heard = context_.now();
  context_.view.add_node(std::move(node), event.host, event.rack, event.rack_uplink);
  if (const Time timeout = context_.options.heartbeat_timeout; timeout > Time(0))
    context_.timers.set({Timers::Purpose::heartbeat, context_.now() + timeout, event.node});
  replicas_.node_joined(event.node);
  oversized_.node_joined(event.capacity);
  rounds_.node_joined(event.node, event.prefetch_bytes);
  health_.begin(event.node);
  context_.scheduler.notify({.kind = schedulers::Notice::Kind::node_joined, .node = event.node});
  if (context_.view.node(event.node)->usable()) failures_.retry_paused();
  context_.triggers.note_node(event.node);
  replicas_.replicate_waiting();
  return {};
}

schedulers::NodeInfo Core::Impl::info_of(WorkerJoined& event) {
  schedulers::NodeInfo node;
  node.id = event.node;
  node.name = std::move(event.name);
  node.capacity = node.nominal = event.capacity;
  node.processors = event.processors;
  node.attributes = std::move(event.attributes);
  node.forecast = std::move(event.forecast);
  return node;
}

Result<void> Core::Impl::on(WorkerHeartbeat event) {
  if (context_.view.node(event.node) == nullptr)
    return fail(Code::not_found, fmt::format("node {} is not known (any more); it must register again", event.node.value()));
  if (event.capacity && !schedulers::valid(*event.capacity))
    return fail(Code::invalid_argument, fmt::format("the capacity of node {} must be finite and not negative", event.node.value()));
  schedulers::NodeInfo& node = context_.view.mutable_node(event.node);
  node.last_heard = context_.now();
  node.measured = event.used;
  node.machine_measured = event.machine;
  if (!event.forecast.empty()) node.forecast = std::move(event.forecast);
  if (possible(event.cross_rack)) context_.view.set_cross_rack(event.node, event.cross_rack);
  if (event.capacity) set_capacity(event.node, *event.capacity);
  context_.triggers.note_heartbeat(event.node);
  return {};
}

void Core::Impl::set_capacity(NodeId node, const schedulers::Resources& capacity) {
  context_.view.set_capacity(node, capacity);
  context_.scheduler.notify({.kind = schedulers::Notice::Kind::node_changed, .node = node});
  health_.lift_avoidance();  // another node may be none for some tasks now
}

Result<void> Core::Impl::on(CapacityChanged event) {
  const schedulers::NodeInfo* known = context_.view.node(event.node);
  if (known == nullptr) return fail(Code::not_found, fmt::format("node {} is not known (any more)", event.node.value()));
  if (event.capacity && (!schedulers::valid(*event.capacity) || !within(*event.capacity, known->nominal)))
    return fail(Code::invalid_argument, fmt::format("{} joined with {}: its capacity cannot become {}", known->name,
                                                    to_string(known->nominal), to_string(*event.capacity)));
  if (!possible(event.forecast))
    return fail(Code::invalid_argument, fmt::format("the forecast of {} must be ascending, finite and not negative", known->name));
  schedulers::NodeInfo& node = context_.view.mutable_node(event.node);
  if (!event.forecast.empty()) node.forecast = std::move(event.forecast);
  if (event.capacity) {
    node.capacity_why = std::move(event.why);
    set_capacity(event.node, *event.capacity);
  }
  context_.triggers.note_node(event.node);
  return {};
}

Result<void> Core::Impl::on(const WorkerLeaving& event) {
  const schedulers::NodeInfo* known = context_.view.node(event.node);
  if (known == nullptr) return fail(Code::not_found, fmt::format("node {} is not known (any more)", event.node.value()));
  if (known->leaving) return {};
  context_.view.set_leaving(event.node);
  context_.scheduler.notify({.kind = schedulers::Notice::Kind::node_changed, .node = event.node});
  health_.lift_avoidance();
  for (auto& [id, job] : context_.jobs.running()) {
    for (auto& [stage_id, stage] : job.stages) replicas_.node_leaves(job, stage, event.node);
  }
  context_.triggers.note_work();
  return {};
}

NodeRemains Core::Impl::remains(NodeId node) const {
  NodeRemains remains;
  const schedulers::NodeInfo* known = context_.view.node(node);
  if (known == nullptr) return remains;
  remains.tasks = static_cast<std::uint32_t>(known->running.size());
  for (const auto& [id, job] : context_.jobs.running()) {
    for (const auto& [stage_id, stage] : job.stages) {
      if (stage.dropped || !stage.info->output.by_node().contains(node)) continue;
      for (std::uint32_t map = 0; map < stage.info->tasks.size(); ++map) {
        const schedulers::TaskInfo& task = stage.info->tasks[map];
        if (task.state != schedulers::TaskState::finished || task.node != node) continue;
        const StageReplicas::Replica* replica = stage.replicas.of(map);
        if (replica != nullptr && replica->made) continue;  // on a node that stays
        ++(replica == nullptr && !stage.replicas.waiting.contains(map) ? remains.abandoned : remains.outputs);
      }
    }
  }
  return remains;
}

Result<void> Core::Impl::on(const WorkerLost& event) {
  if (context_.view.node(event.node) == nullptr)
    return fail(Code::not_found, fmt::format("node {} is not known (any more)", event.node.value()));
  lose_node(event.node, event.reason.empty() ? "connection lost" : event.reason);
  return {};
}

/// The node's heartbeat timer has fired: it is lost unless it was heard of since.
void Core::Impl::check_heartbeat(NodeId node) {
  const Time timeout = silence_of(node), due = context_.view.node(node)->last_heard + timeout;
  if (timeout == Time(0)) return;  // it was away, and came back
  if (context_.now() < due) return context_.timers.set({Timers::Purpose::heartbeat, due, node});
  const std::string_view why =
      context_.view.node(node)->away ? "it did not come back to the restarted master within" : "not heard of for";
  lose_node(node, fmt::format("{} {:.1f} s", why, std::chrono::duration<double>(timeout).count()));
}

void Core::Impl::lose_node(NodeId id, const std::string& reason) {
  std::string why = fmt::format("worker {} was lost: {}", context_.node_name(id), reason);
  context_.scheduler.notify({.kind = schedulers::Notice::Kind::node_left, .node = id});
  if (const std::string crashes = health_.note_loss(id, reason); !crashes.empty()) why += "; " + crashes;
  replicas_.node_left(id);
  const std::set<AttemptId> running = context_.view.mutable_node(id).running;
  for (const AttemptId& attempt : running) {
    const TaskRef task = attempts_.at(attempt);
    ++task.stage->info->failed_attempts;
    attempts_.vacate(task, &StageAttempts::lost);
    failures_.lose(task, why);
  }
  std::vector<std::pair<JobId, StageId>> displaced;  // stages that had tasks placed there
  for (auto& [job_id, job] : context_.jobs.running()) {
    job.nodes.erase(id);
    if (reason != kWorkerLeft && ++job.workers_lost <= kLostWorkersNamed)
      job.lost_workers.push_back(fmt::format("{} ({})", context_.node_name(id), reason));
    for (auto& [stage_id, stage] : job.stages) {
      if (lose_node(job, stage, id, why)) displaced.emplace_back(job_id, stage_id);
    }
    shuffles_.refresh(job);
  }
  rounds_.node_left(id);
  health_.forget(id);
  speeds_.forget(id);
  stragglers_.forget(id);
  context_.timers.forget(id);
  const schedulers::Resources capacity = context_.view.node(id)->nominal;
  const bool was_away = context_.view.node(id)->away;
  context_.view.remove_node(id);
  oversized_.node_left(capacity);
  if (was_away) all_back();
  context_.emit(NodeLost{id, reason});
  for (const auto& [job_id, stage_id] : displaced) {
    JobRecord& job = context_.jobs.at(job_id);
    preplacement_.place(job, job.stages.at(stage_id), std::nullopt, decisions_);
  }
  health_.lift_avoidance();
  context_.triggers.note_work();
}

/// What the stage had on the node. True when tasks of it were placed there.
bool Core::Impl::lose_node(JobRecord& job, StageRecord& stage, NodeId node, const std::string& why) {
  stage.locations.forget(node);
  stage.prefetch.notified.erase(node);
  stage.fetch_failures.erase(node);
  shuffles_.lose_outputs_on(job, stage, node, why);
  replicas_.lose_on(job, stage, node);
  bool placed = false;
  for (auto there = stage.info->preplaced.find(node); there != stage.info->preplaced.end();
       there = stage.info->preplaced.find(node)) {
    context_.view.preplace(*stage.info, *there->second.begin(), std::nullopt);
    placed = true;
  }
  return placed;
}

}  // namespace weft::master
