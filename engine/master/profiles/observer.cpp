#include "engine/master/profiles/observer.hpp"

#include <algorithm>
#include <cmath>
#include <variant>

#include <fmt/format.h>

#include "base/attributes.hpp"
#include "base/text.hpp"

namespace weft::profiles {

namespace {

/// On a node that lends devices, their kind counts while the attempt holds one, and what else is known of them does not.
std::string kind_of(const schedulers::NodeInfo& node, bool holds) {
  const bool lends = node.lends_devices();
  std::string kind;
  for (const auto& [name, value] : node.attributes) {
    if (lends && name.starts_with(kAcceleratorAttribute) && !(holds && name == kAcceleratorAttribute)) continue;
    kind += fmt::format("{}{}={}", kind.empty() ? "" : ",", name, value);
  }
  return kind;
}

bool reads_shuffle(const plan::Stage& stage) {
  return std::any_of(stage.branches.begin(), stage.branches.end(),
                     [](const plan::Branch& branch) { return !branch.partitioned.empty() || !branch.broadcast.empty(); });
}

/// How long an attempt would have run alone on its node, without its waits for map outputs. Three parts make that up:
/// - its processor time, at the speed of one processor, or of the node's part of one;
/// - the time in which it was neither running nor ready to run, which no other use of the processors made longer. Of its writes,
/// only
///   the time that the disk needs for the bytes counts: other writes caused the rest;
/// - its launch, but no more than it ran: a slot for short tasks uses less than they do.
/// (Polo's thesis, section 4.2.6, has profiles measured in isolation.) `lasted`: from its launch to its end. Nothing: the worker
/// did not measure it.
std::optional<Duration> time_alone(Duration lasted, const runtime::TaskUsage& usage, const shuffle::ShuffleTimes& shuffle,
                                   const schedulers::NodeInfo& node) {
  if (usage.run <= Duration(0) || usage.cpu <= Duration(0)) return std::nullopt;
  const double processors = node.processors > 0 ? std::min(1.0, node.processors) : 1, disk_rate = node.nominal.disk_write;
  const double writing = in_seconds(usage.write + shuffle.write);
  const double disk = disk_rate > 0 ? static_cast<double>(usage.disk_written) / disk_rate : 0;
  double blocked = in_seconds(usage.run - usage.cpu - usage.ready - shuffle.read);
  if (disk_rate > 0) blocked -= std::max(0.0, writing - disk);
  const double seconds = std::max(in_seconds(usage.cpu) / processors + std::max(0.0, blocked), disk);
  const double launching = std::clamp(in_seconds(lasted - usage.run), 0.0, seconds);
  return Duration(std::llround((seconds + launching) * 1e9));
}

}  // namespace

std::optional<std::string> Observer::before(master::Time now, const schedulers::ClusterView& view, master::Event& event) {
  finished_.reset();
  if (auto* extended = std::get_if<master::PlanExtended>(&event)) return plan(view, *extended);
  if (const auto* done = std::get_if<master::TaskFinished>(&event)) sample(now, view, *done);
  return std::nullopt;
}

std::optional<std::string> Observer::plan(const schedulers::ClusterView& view, master::PlanExtended& event) {
  const schedulers::JobInfo* job = view.job(event.job);
  if (job == nullptr) return std::nullopt;
  std::erase_if(jobs_, [&](const auto& known) { return view.job(known.first) == nullptr; });
  Running& running = jobs_[event.job];
  bool other_version = false;
  auto profiles = history_.predict(*job, event.part, other_version);
  event.profiles.resize(profiles.size());
  for (std::size_t i = 0; i < profiles.size(); ++i)
    if (!event.profiles[i]) event.profiles[i] = std::move(profiles[i]);
  for (const plan::Stage& stage : event.part.stages)
    running.stages[stage.id] = {stage.name, stage.fingerprint, reads_shuffle(stage)};
  if (!other_version || std::exchange(running.warned, true)) return std::nullopt;
  return fmt::format("job {}: profiles of another version of {} are not used; it is learned again", event.job.value(),
                     escaped(job->name));
}

/// Takes a sample of the attempt that is about to count. There is none if its input was not known at its launch.
void Observer::sample(master::Time now, const schedulers::ClusterView& view, const master::TaskFinished& event) {
  const TaskId id = event.attempt.task;
  const auto job = jobs_.find(id.job);
  const schedulers::StageInfo* stage = view.stage(id.job, id.stage);
  const schedulers::NodeInfo* node = view.node(event.node);
  const auto launched = view.launched(event.attempt);
  if (job == jobs_.end() || stage == nullptr || node == nullptr || !launched) return;
  const auto reading = job->second.reading.find(event.attempt);
  if (reading == job->second.reading.end()) return;
  Finished& made = finished_.emplace();
  made.attempt = event.attempt;
  TaskSample& task = made.sample;
  task.duration = now - *launched;
  task.bytes = stage->reads_shuffle ? static_cast<double>(stage->tasks[id.index].input_bytes) + reading->second
                                    : static_cast<double>(event.input_bytes);
  for (const auto& partition : event.output) task.written += static_cast<double>(partition.bytes);
  task.run = event.usage.run;
  task.alone = time_alone(task.duration, event.usage, event.shuffle_times, *node);
  if (task.alone) task.disk_written = static_cast<double>(event.usage.disk_written);
  task.cpu = event.usage.cpu;
  task.read = event.usage.read;
  task.shuffle = event.shuffle_times.read;
  task.write = event.usage.write + event.shuffle_times.write;
  task.memory = static_cast<double>(event.usage.peak_memory);
  task.kind = kind_of(*node, event.device);
  const auto hosts = stage->pending.hosts(id.index);
  task.placed = !hosts.empty();
  task.local = std::find(hosts.begin(), hosts.end(), node->host) != hosts.end();
  if (stage->profile) made.predicted = stage->profile->duration();
}

void Observer::after(const schedulers::ClusterView& view, const std::vector<master::Command>& commands, std::int64_t unix_seconds) {
  if (finished_) {
    const TaskId& id = finished_->attempt.task;
    Running& running = jobs_.at(id.job);
    running.reading.erase(finished_->attempt);
    const schedulers::JobInfo* job = view.job(id.job);
    const schedulers::TaskInfo* task = view.task(id);
    if (job != nullptr && task != nullptr && task->state == schedulers::TaskState::finished)
      history_.learn({job->name, id.stage}, running.stages.at(id.stage), id.job, finished_->sample, finished_->predicted,
                     unix_seconds);
    finished_.reset();
  }
  for (const master::Command& command : commands) {
    const auto* launch = std::get_if<master::LaunchTask>(&command);
    if (launch == nullptr) continue;
    const auto job = jobs_.find(launch->attempt.task.job);
    const schedulers::StageInfo* stage = view.stage(launch->attempt.task.job, launch->attempt.task.stage);
    if (job == jobs_.end() || stage == nullptr || !stage->inputs_complete) continue;
    double bytes = 0;
    for (const shuffle::InputSlice& slice : launch->spec.inputs) bytes += static_cast<double>(slice.bytes);
    job->second.reading[launch->attempt] = bytes;
  }
}

}  // namespace weft::profiles
