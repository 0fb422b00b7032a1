// Second copies of map outputs (JobSubmitted::shuffle_replicas): where they are made, and how one takes the place of an output that
// is lost, so that no map runs again.
#include <algorithm>

#include <fmt/format.h>

#include "base/text.hpp"
#include "engine/master/core_impl.hpp"

namespace weft::master {

namespace {

/// Nodes that may fail to copy an output before it stays in one copy.
constexpr std::uint32_t kCopyTries = 2;
/// Of nodes that are gone it is remembered why, for those that come too late to read there.
constexpr std::size_t kLostNodesKept = 1000;

ShuffleId shuffle_of(const StageRecord& stage) { return ShuffleId(stage.plan.id.value()); }

}  // namespace

/// Of an output that is in one copy now.
void Core::Impl::copy_output(JobRecord& job, StageRecord& stage, std::uint32_t map) {
  if (job.spec.shuffle_replicas < 2) return;
  const schedulers::TaskInfo& task = stage.info->tasks[map];
  StageReplicas& copies = stage.copies;
  const auto place = replica_placement_.pick(state_.node(task.node)->rack, [&](NodeId node) {
    return node != task.node && !copies.barred(map, node) && state_.node(node)->usable();
  });
  if (!place) {
    copies.waiting.insert(map);
    return;
  }
  copies.waiting.erase(map);
  copies.begin(map, *place);
  copies.holders.insert(*place);
  replica_placement_.change(*place, +1);
  job.nodes.insert(*place);
  emit(CopyOutput{*place, job.spec.job, shuffle_of(stage), {map, task.attempt(), task.node}});
}

/// There is a node more for outputs that found none.
void Core::Impl::copy_waiting_outputs() {
  for (auto& [id, job] : jobs_) {
    if (job.spec.shuffle_replicas < 2) continue;
    for (auto& [stage_id, stage] : job.stages) {
      for (std::uint32_t map : std::set<std::uint32_t>(stage.copies.waiting)) copy_output(job, stage, map);
    }
  }
}

/// Its bytes may stay where they are until the shuffle is released.
void Core::Impl::forget_copy(StageRecord& stage, std::uint32_t map) {
  StageReplicas& copies = stage.copies;
  copies.waiting.erase(map);
  copies.failures.erase(map);
  copies.unbar(map);
  const StageReplicas::Copy* copy = copies.of(map);
  if (copy == nullptr) return;
  replica_placement_.change(copy->node, -1);
  copies.erase(map);
}

void Core::Impl::forget_copies(StageRecord& stage) {
  for (const auto& [map, copy] : stage.copies.all()) replica_placement_.change(copy.node, -1);
  const std::uint32_t left = stage.copies.left, used = stage.copies.used;
  stage.copies = {};
  stage.copies.left = left;
  stage.copies.used = used;
}

/// True when the output, which is lost where it was, is at its copy from now on. False: it has none.
bool Core::Impl::use_copy(JobRecord& job, StageRecord& stage, std::uint32_t map, const std::string& why) {
  const StageReplicas::Copy* copy = stage.copies.of(map);
  if (copy == nullptr || !copy->there) return false;
  schedulers::TaskInfo& task = stage.info->tasks[map];
  const NodeId from = task.node, to = copy->node;
  replica_placement_.change(to, -1);
  stage.copies.erase(map);
  stage.copies.bar(map, from);
  stage.copies.holders.insert(from);
  stage.copies.failures.erase(map);
  ++stage.copies.used;
  task.node = to;
  stage.info->output.move(map, to);
  ++stage.table_version;
  if (!stage.told.empty()) stage.untold.insert(map);
  emit(OutputMoved{job.spec.job, shuffle_of(stage), {map, task.attempt(), to}, from, why});
  if (options_.slow_start < 1) extend_tables(job, stage, {&job, &stage, map});
  copy_output(job, stage, map);
  return true;
}

/// To nodes that bring its blocks to readers, and to those whose tasks read it: at the new places from now on.
void Core::Impl::tell_moved(JobRecord& job, StageRecord& stage) {
  if (!stage.untold.empty()) tell_outputs(job, stage);
  if (options_.slow_start < 1 || !stage.info->complete()) return;
  const auto& readers = stage.info->children;
  if (std::none_of(readers.begin(), readers.end(), [&](StageId id) { return job.stages.at(id).active; })) return;
  std::vector<NodeId> nodes;
  for (const auto& [node, version] : stage.sent) nodes.push_back(node);
  for (NodeId node : nodes) send_locations(job, stage, node);
}

/// That node is gone; what it had in copy is copied to another one.
void Core::Impl::lose_copies_on(JobRecord& job, StageRecord& stage, NodeId node) {
  stage.copies.holders.erase(node);
  for (std::uint32_t map : stage.copies.on(node)) {
    stage.copies.erase(map);
    copy_output(job, stage, map);
  }
}

/// The stage whose copy that is, when it is being made there.
Result<StageRecord*> Core::Impl::copying_stage(const OutputCopy& copy) {
  WEFT_ASSIGN(JobRecord * job, running_job(copy.job));
  if (state_.node(copy.node) == nullptr)
    return fail(Code::not_found, fmt::format("node {} is not known (any more)", copy.node.value()));
  const auto stage = job->stages.find(StageId(copy.shuffle.value()));
  if (stage == job->stages.end()) return fail(Code::not_found, fmt::format("there is no shuffle {}", copy.shuffle.value()));
  const StageReplicas::Copy* known = stage->second.copies.of(copy.map);
  if (known == nullptr || known->there || known->node != copy.node || stage->second.info->tasks[copy.map].attempt() != copy.attempt)
    return fail(Code::cancelled, fmt::format("nobody waits for a copy of the output of map {} (attempt {}) on node {}", copy.map,
                                             copy.attempt, copy.node.value()));
  return &stage->second;
}

Result<void> Core::Impl::on(OutputCopied event) {
  WEFT_ASSIGN(StageRecord * stage, copying_stage(event.copy));
  state_.mutable_node(event.copy.node).last_heard = state_.now();
  stage->copies.made(event.copy.map);
  return {};
}

Result<void> Core::Impl::on(CopyFailed event) {
  WEFT_ASSIGN(StageRecord * stage, copying_stage(event.copy));
  const std::uint32_t map = event.copy.map;
  state_.mutable_node(event.copy.node).last_heard = state_.now();
  replica_placement_.change(event.copy.node, -1);
  stage->copies.erase(map);
  stage->copies.bar(map, event.copy.node);
  if (++stage->copies.failures[map] < kCopyTries) {
    copy_output(jobs_.at(event.copy.job), *stage, map);
    return {};
  }
  ++stage->copies.left;
  record_reason(event.copy.job, stage->plan.id,
                fmt::format("the output of map {} stays in one copy, on {}: {}", map, node_name(stage->info->tasks[map].node),
                            event.message));
  return {};
}

void Core::Impl::note_lost_node(NodeId id, const std::string& reason) {
  if (lost_nodes_.size() >= kLostNodesKept) lost_nodes_.erase(lost_nodes_.begin());
  lost_nodes_[id] = {node_name(id), reason, state_.now()};
}

/// "map 17's output was on worker w3, which was lost 2.1 s ago (connection reset)", or why it cannot be read there.
std::string Core::Impl::where_it_was(const shuffle::FetchFailure& fetch, const std::string& message) const {
  if (const auto lost = lost_nodes_.find(fetch.node); lost != lost_nodes_.end())
    return fmt::format("map {}'s output was on worker {}, which was lost {} ago ({})", fetch.map, lost->second.name,
                       human_duration(state_.now() - lost->second.at), lost->second.reason);
  return fmt::format("map {}'s output could not be read from worker {} ({})", fetch.map, node_name(fetch.node), message);
}

/// And what became of it.
std::string Core::Impl::where_it_is(const StageRecord& source, const shuffle::FetchFailure& fetch) const {
  const schedulers::TaskInfo& map = source.info->tasks[fetch.map];
  if (map.state != schedulers::TaskState::finished) return "the map runs again";
  if (map.attempt() != fetch.map_attempt) return fmt::format("the map has run again, on {}", node_name(map.node));
  return fmt::format("its copy on {} is used", node_name(map.node));
}

}  // namespace weft::master
