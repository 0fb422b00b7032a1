#include "engine/master/core/output_replicas.hpp"

#include <fmt/format.h>

namespace weft::master {

namespace {

/// Nodes that may fail to replicate an output before it stays in one copy.
constexpr std::uint32_t kTries = 2;

}  // namespace

void OutputReplicas::node_joined(NodeId node) { placement_.add(node, context_.view.node(node)->rack); }

/// An output that is on a node that leaves needs another one, which is its only one when that is gone.
bool OutputReplicas::wanted(const JobRecord& job, const StageRecord& stage, std::uint32_t map) const {
  return job.spec.options.shuffle_replicas.value_or(1) >= 2 || context_.view.node(stage.info->tasks[map].node)->leaving;
}

void OutputReplicas::replicate(JobRecord& job, StageRecord& stage, std::uint32_t map) {
  if (!wanted(job, stage, map)) return;
  const schedulers::ClusterState& view = context_.view;
  const schedulers::TaskInfo& task = stage.info->tasks[map];
  StageReplicas& replicas = stage.replicas;
  const auto place = placement_.pick(view.node(task.node)->rack, [&](NodeId node) {
    return node != task.node && !replicas.barred(map, node) && view.node(node)->usable();
  });
  if (!place) {
    replicas.waiting.insert(map);
    return;
  }
  replicas.waiting.erase(map);
  replicas.begin(map, *place);
  replicas.holders.insert(*place);
  placement_.change(*place, +1);
  job.nodes.insert(*place);
  context_.emit(ReplicateOutput{*place, job.spec.job, ShuffleId(stage.plan.id.value()), {map, task.attempt(), task.node}});
}

void OutputReplicas::await(JobRecord& job, StageRecord& stage, std::uint32_t map) {
  if (wanted(job, stage, map) && stage.replicas.of(map) == nullptr) stage.replicas.waiting.insert(map);
}

void OutputReplicas::found(JobRecord& job, StageRecord& stage, std::uint32_t map, NodeId node) {
  if (!wanted(job, stage, map) || context_.view.node(node)->leaving) return;
  if (const StageReplicas::Replica* known = stage.replicas.of(map)) {
    if (known->node == node && !known->made) stage.replicas.made(map);
    return;
  }
  stage.replicas.waiting.erase(map);
  stage.replicas.begin(map, node);
  stage.replicas.made(map);
  stage.replicas.holders.insert(node);
  job.nodes.insert(node);
  placement_.change(node, +1);
}

void OutputReplicas::replicate_waiting() {
  for (auto& [id, job] : context_.jobs.running()) {
    for (auto& [stage_id, stage] : job.stages) {
      for (std::uint32_t map : std::set<std::uint32_t>(stage.replicas.waiting)) replicate(job, stage, map);
    }
  }
}

/// The stage whose replica that is, when it is being made there.
Result<StageRecord*> OutputReplicas::replicating_stage(const OutputReplica& copy) {
  WEFT_ASSIGN(JobRecord * job, context_.jobs.find(copy.job));
  if (context_.view.node(copy.node) == nullptr)
    return fail(Code::not_found, fmt::format("node {} is not known (any more)", copy.node.value()));
  const auto stage = job->stages.find(StageId(copy.shuffle.value()));
  if (stage == job->stages.end()) return fail(Code::not_found, fmt::format("there is no shuffle {}", copy.shuffle.value()));
  const StageReplicas::Replica* known = stage->second.replicas.of(copy.map);
  if (known == nullptr || known->made || known->node != copy.node || stage->second.info->tasks[copy.map].attempt() != copy.attempt)
    return fail(Code::cancelled, fmt::format("nobody waits for a copy of the output of map {} (attempt {}) on node {}", copy.map,
                                             copy.attempt, copy.node.value()));
  return &stage->second;
}

Result<void> OutputReplicas::made(const OutputReplica& copy) {
  if (found_late(copy)) return {};
  WEFT_ASSIGN(StageRecord * stage, replicating_stage(copy));
  context_.view.mutable_node(copy.node).last_heard = context_.now();
  stage->replicas.made(copy.map);
  if (context_.view.node(copy.node)->leaving) replicate_elsewhere(context_.jobs.at(copy.job), *stage, copy.map);
  return {};
}

/// The master before had that replica made, of an output that is there and has none by now.
bool OutputReplicas::found_late(const OutputReplica& copy) {
  const auto job = context_.jobs.running().find(copy.job);
  if (job == context_.jobs.running().end() || context_.view.node(copy.node) == nullptr) return false;
  if (job->second.first_attempt == 0) return false;  // it was not restored
  const auto stage = job->second.stages.find(StageId(copy.shuffle.value()));
  if (stage == job->second.stages.end() || stage->second.dropped || copy.map >= stage->second.info->tasks.size()) return false;
  const schedulers::TaskInfo& task = stage->second.info->tasks[copy.map];
  const bool there = task.state == schedulers::TaskState::finished && task.attempt() == copy.attempt && task.node != copy.node;
  if (!there || stage->second.replicas.of(copy.map) != nullptr || !wanted(job->second, stage->second, copy.map)) return false;
  found(job->second, stage->second, copy.map, copy.node);
  return true;
}

/// Its replica is on a node that leaves: there must be one that stays.
void OutputReplicas::replicate_elsewhere(JobRecord& job, StageRecord& stage, std::uint32_t map) {
  const NodeId node = stage.replicas.of(map)->node;
  placement_.change(node, -1);
  stage.replicas.erase(map);
  stage.replicas.bar(map, node);
  replicate(job, stage, map);
}

Result<void> OutputReplicas::failed(const OutputReplica& copy, const std::string& message) {
  WEFT_ASSIGN(StageRecord * stage, replicating_stage(copy));
  const std::uint32_t map = copy.map;
  context_.view.mutable_node(copy.node).last_heard = context_.now();
  placement_.change(copy.node, -1);
  stage->replicas.erase(map);
  stage->replicas.bar(map, copy.node);
  if (++stage->replicas.failures[map] < kTries) {
    replicate(context_.jobs.at(copy.job), *stage, map);
    return {};
  }
  ++stage->replicas.abandoned;
  context_.record_reason(copy.job, stage->plan.id,
                         fmt::format("the output of map {} stays in one copy, on {}: {}", map,
                                     context_.node_name(stage->info->tasks[map].node), message));
  return {};
}

void OutputReplicas::forget(StageRecord& stage, std::uint32_t map) {
  StageReplicas& replicas = stage.replicas;
  replicas.waiting.erase(map);
  replicas.failures.erase(map);
  replicas.unbar(map);
  const StageReplicas::Replica* replica = replicas.of(map);
  if (replica == nullptr) return;
  placement_.change(replica->node, -1);
  replicas.erase(map);
}

void OutputReplicas::forget_all(StageRecord& stage) {
  for (const auto& [map, replica] : stage.replicas.all()) placement_.change(replica.node, -1);
  const std::uint32_t abandoned = stage.replicas.abandoned, used = stage.replicas.used;
  stage.replicas = {};
  stage.replicas.abandoned = abandoned;
  stage.replicas.used = used;
}

std::optional<NodeId> OutputReplicas::take_over(StageRecord& stage, std::uint32_t map) {
  StageReplicas& replicas = stage.replicas;
  const StageReplicas::Replica* replica = replicas.of(map);
  if (replica == nullptr || !replica->made) return std::nullopt;
  const NodeId from = stage.info->tasks[map].node, to = replica->node;
  placement_.change(to, -1);
  replicas.erase(map);
  replicas.bar(map, from);
  replicas.holders.insert(from);
  replicas.failures.erase(map);
  ++replicas.used;
  return to;
}

void OutputReplicas::node_leaves(JobRecord& job, StageRecord& stage, NodeId node) {
  for (std::uint32_t map : stage.replicas.on(node)) {
    if (stage.replicas.of(map)->made) replicate_elsewhere(job, stage, map);  // others when they are made
  }
  if (stage.dropped || !stage.info->output.by_node().contains(node)) return;
  for (std::uint32_t map = 0; map < stage.info->tasks.size(); ++map) {
    const schedulers::TaskInfo& task = stage.info->tasks[map];
    if (task.state != schedulers::TaskState::finished || task.node != node) continue;
    if (stage.replicas.of(map) == nullptr) replicate(job, stage, map);
  }
}

void OutputReplicas::lose_on(JobRecord& job, StageRecord& stage, NodeId node) {
  stage.replicas.holders.erase(node);
  for (std::uint32_t map : stage.replicas.on(node)) {
    stage.replicas.erase(map);
    replicate(job, stage, map);
  }
}

}  // namespace weft::master
