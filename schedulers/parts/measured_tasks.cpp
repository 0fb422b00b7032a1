#include "schedulers/parts/measured_tasks.hpp"

#include <algorithm>

#include "base/attributes.hpp"
#include "base/clock.hpp"

namespace weft::schedulers {

void MeasuredTasks::start(const ClusterView& view) {
  for (const auto& [id, node] : view.nodes()) intern(node);
  for (const auto& [id, job] : view.jobs()) {
    for (const auto& [stage_id, stage] : job.stages) {
      Seen& seen = stages_[{id, stage_id}];
      for (std::uint32_t task = 0; task < stage.tasks.size(); ++task) {
        if (stage.tasks[task].state == TaskState::finished) note_ended(view, stage, task, seen, std::nullopt);
        if (stage.tasks[task].state == TaskState::running) note_running(view, stage, task, seen);
      }
    }
  }
}

void MeasuredTasks::on_event(const ClusterView& view, const Notice& notice) {
  using Kind = Notice::Kind;
  switch (notice.kind) {
    case Kind::job_ended:
      return erase_job(stages_, notice.job);
    case Kind::node_joined:
      intern(*view.node(notice.node));
      [[fallthrough]];
    case Kind::node_left:
    case Kind::node_changed:
      capacity_.clear();
      return;
    case Kind::task_launched:
    case Kind::task_finished:
    case Kind::task_failed:
    case Kind::task_preempted:
    case Kind::attempt_dropped:
      break;
    default:
      return;
  }
  const StageInfo& stage = *view.stage(notice.job, notice.stage);
  Seen& seen = stages_[{notice.job, notice.stage}];
  const auto ran = seen.running.extract(notice.task);
  const TaskState state = stage.tasks[notice.task].state;
  if (state == TaskState::running) note_running(view, stage, notice.task, seen);
  if (notice.kind == Kind::task_finished && state == TaskState::finished)
    note_ended(view, stage, notice.task, seen, ran ? std::optional(ran.mapped().node_class) : std::nullopt);
}

std::size_t MeasuredTasks::intern(const NodeInfo& node) {
  const auto value = node.attributes.find(attribute_);
  if (value == node.attributes.end()) return 0;
  const auto [found, added] = ids_.try_emplace(value->second, names_.size());
  if (added) names_.push_back(attribute_ + "=" + value->second);
  return found->second;
}

std::size_t MeasuredTasks::class_of(const NodeInfo& node) const {
  const auto value = node.attributes.find(attribute_);
  if (value == node.attributes.end()) return 0;
  const auto found = ids_.find(value->second);
  return found == ids_.end() ? 0 : found->second;
}

std::size_t MeasuredTasks::class_for_launch(const NodeInfo& node) const {
  return lends(node) && node.used.accelerator + 1 > node.capacity.accelerator ? 0 : class_of(node);
}

bool MeasuredTasks::lends(const NodeInfo& node) const { return node.lends_devices() && attribute_ == kAcceleratorAttribute; }

void MeasuredTasks::add_capacity(const NodeInfo& node) const {
  if (!node.usable()) return;
  if (!lends(node)) {
    capacity_[class_of(node)] += node.capacity;
    return;
  }
  const double cores = std::max(node.capacity.cpu, 1e-9), part = std::min(node.capacity.accelerator / cores, 1.0);
  capacity_[class_of(node)] += node.capacity * part;
  capacity_[0] += node.capacity * (1 - part);
}

double MeasuredTasks::slots(const ClusterView& view, std::size_t node_class, SlotKind kind) const {
  if (capacity_.size() != classes()) {
    capacity_.assign(classes(), {});
    for (const auto& [id, node] : view.nodes()) add_capacity(node);
  }
  return amount_of(capacity_[node_class], kind);
}

void MeasuredTasks::note_running(const ClusterView& view, const StageInfo& stage, std::uint32_t task, Seen& seen) const {
  const TaskInfo& info = stage.tasks[task];
  const NodeInfo* node = view.node(info.node);
  std::size_t on = node == nullptr ? 0 : class_of(*node);
  if (node != nullptr && lends(*node) &&
      std::none_of(node->with_device.begin(), node->with_device.end(), [&](const AttemptId& holds) {
        return view.stage(holds.task.job, holds.task.stage) == &stage && holds.task.index == task;
      }))
    on = 0;
  seen.running[task] = {on, info.launched};
}

void MeasuredTasks::note_ended(const ClusterView& view, const StageInfo& stage, std::uint32_t task, Seen& seen,
                               std::optional<std::size_t> ran_on) const {
  const TaskInfo& info = stage.tasks[task];
  const NodeInfo* node = view.node(info.node);
  if (node == nullptr) return;
  seen.ended.resize(std::max(seen.ended.size(), classes()));
  Ended& ended = seen.ended[lends(*node) ? ran_on.value_or(0) : class_of(*node)];
  ++ended.tasks;
  ended.seconds += in_seconds(stage.worked(info.launched, info.ended));
}

/// A lost node takes tasks with it for which there is no notice: then all tasks of the stage are counted again.
MeasuredTasks::Seen& MeasuredTasks::seen(const ClusterView& view, JobId job, const StageInfo& stage) const {
  Seen& seen = stages_[{job, stage.id}];
  if (seen.running.size() == stage.running) return seen;
  seen.running.clear();
  for (std::uint32_t task = 0; task < stage.tasks.size(); ++task)
    if (stage.tasks[task].state == TaskState::running) note_running(view, stage, task, seen);
  return seen;
}

std::vector<MeasuredTasks::OfClass> MeasuredTasks::of(const ClusterView& view, JobId job, const StageInfo& stage) const {
  const Seen& seen = this->seen(view, job, stage);
  std::vector<OfClass> all(classes());
  for (std::size_t i = 0; i < std::min(all.size(), seen.ended.size()); ++i) {
    all[i].ended = seen.ended[i].tasks;
    all[i].seconds = seen.ended[i].seconds;
  }
  for (const auto& [task, running] : seen.running) {
    OfClass& on = all[running.node_class];
    ++on.running;
    on.oldest = std::min(on.oldest.value_or(running.launched), running.launched);
  }
  return all;
}

}  // namespace weft::schedulers
