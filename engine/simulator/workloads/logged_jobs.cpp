#include "engine/simulator/workloads/logged_jobs.hpp"

#include <numeric>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "base/attributes.hpp"
#include "engine/simulator/workloads/known_durations.hpp"

namespace weft::simulator::workloads {

namespace {

/// Everything but the parents.
StageSpec to_spec(const JobLog& job, const StageLog& log, RecordingNotes& notes) {
  StageSpec spec;
  spec.name = log.plan.name;
  spec.tasks = static_cast<std::uint32_t>(log.tasks.size());
  spec.demand = log.plan.demand == schedulers::Resources{} ? job.demand : log.plan.demand;
  spec.estimate = log.plan.estimate;  // 0, none: schedulers get no estimate that they did not have then
  spec.profile = log.plan.profile;
  spec.merged = log.merged ? 1 : 0;
  notes.unknown += set_durations(log.tasks, spec);
  for (std::uint32_t i = 0; i < log.tasks.size(); ++i) {
    spec.durations[i] = std::max(Time{0}, spec.durations[i]);
    if (!log.tasks[i].failures.empty()) spec.failures[i] = log.tasks[i].failures;
  }
  if (!log.plan.splits.empty()) spec.hosts.resize(spec.tasks);  // a split without hosts gets no place
  for (const master::LoggedSplit& split : log.plan.splits) {
    spec.input_bytes += split.bytes;
    if (split.task < spec.tasks) spec.hosts[split.task] = split.hosts;
  }
  if (!log.plan.splits.empty() && log.input_bytes > 0) spec.input_bytes = log.input_bytes;
  for (const std::uint64_t bytes : log.partition_bytes) {
    spec.shuffle_bytes += bytes;
    spec.partition_weights.push_back(static_cast<double>(bytes));
  }
  if (spec.shuffle_bytes == 0) spec.partition_weights.clear();
  for (const LoggedTask& task : log.tasks) {
    spec.read.push_back(task.read);
    spec.written.push_back(task.written);
  }
  spec.sample_histogram = log.sample_histogram;
  const auto rows_differ = [&](const auto& row) { return row.size() != log.partition_bytes.size(); };
  if (spec.shuffle_bytes == 0 || std::any_of(spec.written.begin(), spec.written.end(), rows_differ)) spec.written.clear();
  return spec;
}

struct Mean {
  double sum = 0, count = 0;
  void add(Time duration) {
    sum += static_cast<double>(duration.count());
    ++count;
  }
  double value() const { return count > 0 ? sum / count : 0; }
};

/// The speed-up of nodes with the attribute over those without any, by the profile; 0: unknown.
double profiled_factor(const std::optional<schedulers::StageProfile>& profile, const std::string& attribute) {
  if (!profile || !profile->kinds.contains(attribute)) return 0;
  const auto others = profile->kinds.find("");
  return (others == profile->kinds.end() ? 1 : others->second) / profile->kinds.at(attribute);
}

/// Sets the speed-ups of nodes with an attribute for which the stage has functions, from the tasks that ended there and elsewhere.
/// All durations become those on other nodes.
void add_speedups(const StageLog& log, const std::vector<RecordedNode>& nodes, StageSpec& spec, RecordingNotes& notes) {
  std::map<std::string, Speedup> speedups;
  for (const std::string& variant : log.plan.variants)
    for (const RecordedNode& node : nodes)
      for (const auto& [name, value] : node.attributes)
        if (has_attribute({{name, value}}, variant)) speedups.try_emplace(name + "=" + value, Speedup{name, value, 1});
  if (speedups.empty()) return;
  std::map<std::string, Mean> means;
  for (const LoggedTask& task : log.tasks)
    if (task.duration) means[task.ran].add(*task.duration);
  bool known = true;
  for (auto& [attribute, speedup] : speedups) {
    const double here = means[attribute].value(), elsewhere = means[""].value();
    const double factor = here > 0 && elsewhere > 0 ? elsewhere / here : profiled_factor(spec.profile, attribute);
    known = known && factor > 0;
    if (factor > 0) speedup.factor = factor;
    for (std::size_t i = 0; i < log.tasks.size(); ++i)
      if (log.tasks[i].ran == attribute)
        spec.durations[i] = Time(static_cast<std::int64_t>(static_cast<double>(spec.durations[i].count()) * speedup.factor));
    spec.speedups.push_back(speedup);
  }
  if (!known) ++notes.alike;
}

/// Joins adjacent partitions: the first counts[0] of them, then the next counts[1], and so on.
template <class Size>
void join_partitions(std::vector<Size>& sizes, const std::vector<std::uint32_t>& counts) {
  std::vector<Size> joined;
  auto at = sizes.begin();
  for (const std::uint32_t count : counts) {
    if (sizes.end() - at < static_cast<std::ptrdiff_t>(count)) return;
    joined.push_back(std::accumulate(at, at + count, Size{0}));
    at += count;
  }
  if (at == sizes.end()) sizes = std::move(joined);
}

/// Joins the partitions that tasks of the reader read together.
void join_partitions(StageSpec& parent, const StageLog& reader) {
  if (!reader.merged) return;
  std::vector<std::uint32_t> counts;
  for (const LoggedTask& task : reader.tasks) counts.push_back(task.partitions);
  join_partitions(parent.partition_weights, counts);
  for (auto& row : parent.written) join_partitions(row, counts);
}

void add_job(JobLog& log, Recording& recording, RecordingNotes& notes) {
  std::map<std::uint32_t, std::uint32_t>& positions = log.positions;
  std::map<std::uint32_t, std::vector<std::uint32_t>> inherited;  // of stages that did not run: what they waited for
  bool complete = true;
  std::size_t parts = 0;  // that have begun
  for (const auto& [id, stage] : log.stages) {
    std::set<std::uint32_t> parents;
    const auto add = [&](std::uint32_t parent) {
      if (const auto ran = positions.find(parent); ran != positions.end()) {
        parents.insert(ran->second);
      } else {
        parents.insert(inherited[parent].begin(), inherited[parent].end());
      }
    };
    for (const std::uint32_t input : stage.plan.inputs) add(input);
    for (const std::uint32_t input : stage.plan.broadcast)
      if (const auto ran = positions.find(input); ran != positions.end()) log.spec.stages[ran->second].broadcast = 1;
    for (const std::uint32_t barrier : stage.barriers) add(barrier);
    const bool ran = std::any_of(stage.tasks.begin(), stage.tasks.end(), [](const LoggedTask& task) { return task.finished; });
    if (!ran) {
      inherited[id].assign(parents.begin(), parents.end());
      continue;
    }
    complete = complete && stage.complete();
    if (stage.tasks.size() > stage.plan.tasks) ++notes.split;
    if (stage.merged) ++notes.merged;
    positions[id] = static_cast<std::uint32_t>(log.spec.stages.size());
    log.spec.stages.push_back(to_spec(log, stage, notes));
    add_speedups(stage, recording.nodes, log.spec.stages.back(), notes);
    log.spec.stages.back().parents.assign(parents.begin(), parents.end());
    for (; parts <= stage.part; ++parts) {
      std::optional<Time>& planned = log.spec.stages.back().planned;
      planned = planned.value_or(Time{0}) + log.parts[parts];
    }
  }
  if (log.spec.stages.empty()) {
    ++notes.empty;
    return;
  }
  for (const auto& [id, position] : log.positions)
    for (const std::uint32_t parent : log.spec.stages[position].parents)
      join_partitions(log.spec.stages[parent], log.stages.at(id));
  for (const StageSpec& stage : log.spec.stages) {  // weights are of use where the reader has a task for each
    for (const std::uint32_t parent : stage.parents) {
      auto& weights = log.spec.stages[parent].partition_weights;
      if (weights.size() != stage.tasks) weights.clear();
      auto& written = log.spec.stages[parent].written;
      if (!written.empty() && written.front().size() != stage.tasks) written.clear();
    }
  }
  log.position = static_cast<std::uint32_t>(recording.jobs.size());
  recording.jobs.push_back({log.spec.arrival, complete ? std::optional(log.last_end) : std::nullopt});
  recording.workload.jobs.push_back(std::move(log.spec));
}

/// Keeps the absences during the run: when a cluster is taken down after the last task, nodes are lost, too.
void place_absences(Recording& recording, Time origin, Time end) {
  for (RecordedNode& node : recording.nodes) {
    std::erase_if(node.absences,
                  [&](const Absence& absence) { return absence.from >= end || (absence.until && *absence.until <= origin); });
    for (Absence& absence : node.absences) {
      absence.from = std::max(Time{0}, absence.from - origin);
      if (absence.until) *absence.until -= origin;
    }
  }
}

/// Whether the node was lost after the event and before the replay begins: one that came back has nothing of what it was before.
bool is_past(const RecordedNode& node, const RecordedEvent& event, Time origin) {
  return std::any_of(node.absences.begin(), node.absences.end(), [&](const Absence& absence) {
    return absence.from <= origin && (!absence.until || *absence.until > event.at);
  });
}

/// The replay begins with the configuration of then, and with what the nodes that are there had said.
void place_events(Recording& recording, Time origin) {
  for (const RecordedEvent& event : recording.events) {
    const auto* configured = std::get_if<master::SchedulerConfigured>(&event.event);
    if (configured == nullptr || event.at > origin) continue;
    recording.scheduler = configured->spec;
    recording.scheduler_files = configured->files;
    if (configured->speculation) recording.speculation = configured->speculation;
  }
  std::erase_if(recording.events, [&](const RecordedEvent& event) {
    return event.at <= origin && (!event.node || is_past(recording.nodes[*event.node], event, origin));
  });
  for (RecordedEvent& event : recording.events) {
    event.at = std::max(Time{0}, event.at - origin);
    if (auto* change = std::get_if<master::CapacityChanged>(&event.event))
      for (schedulers::CapacityStep& step : change->forecast) step.from = std::max(Time{0}, step.from - origin);
  }
}

/// Adds the launches of those jobs and stages that are replayed.
void place_launches(const JobLogs& jobs, const std::vector<LoggedLaunch>& launches, Recording& recording) {
  for (const LoggedLaunch& launch : launches) {
    const auto job = jobs.find(launch.job);
    if (job == jobs.end() || !job->second.position) continue;
    const auto stage = job->second.positions.find(launch.stage);
    if (stage == job->second.positions.end()) continue;
    recording.launches.push_back({*job->second.position, stage->second, launch.task, launch.node});
  }
}

void add_words(const RecordingNotes& notes, std::vector<std::string>& words) {
  if (notes.earlier > 0) words.push_back(fmt::format("{} jobs of earlier runs of the master are left out", notes.earlier));
  if (notes.idle_since)
    words.push_back(fmt::format("this is the last run of the master in which tasks ended; later ones, with {} jobs, are left out",
                                notes.later));
  if (notes.before > 0)
    words.push_back(fmt::format("{} jobs that were submitted before the last of the log are left out", notes.before));
  if (notes.empty > 0) words.push_back(fmt::format("{} jobs without a finished task are left out", notes.empty));
  if (notes.unknown > 0) words.push_back(fmt::format("{} tasks without a known time take the mean of their stage", notes.unknown));
  if (notes.alike > 0)
    words.push_back(
        fmt::format("{} stages ran on one kind of node and have functions for others: these are taken to be as fast", notes.alike));
  if (notes.split > 0)
    words.push_back(fmt::format("{} stages had hot partitions cut: replayed with as many tasks, cut evenly", notes.split));
  if (notes.merged > 0)
    words.push_back(
        fmt::format("{} stages had small partitions merged: replayed with as many tasks, their input cut evenly", notes.merged));
}

}  // namespace

bool make_recording(JobLogs& jobs, const std::vector<LoggedLaunch>& launches, Recording& recording, RecordingNotes& notes) {
  Time last{0};
  for (const auto& [id, log] : jobs) last = std::max(last, log.last_end);
  for (auto& [id, log] : jobs) add_job(log, recording, notes);
  auto& workload = recording.workload;
  if (workload.jobs.empty()) return false;
  std::vector<std::size_t> order(workload.jobs.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return workload.jobs[a].arrival < workload.jobs[b].arrival; });
  const Time origin = workload.jobs[order.front()].arrival;
  std::vector<std::uint32_t> places(order.size());  // by position among those with tasks, in the workload
  for (std::uint32_t i = 0; i < order.size(); ++i) places[order[i]] = i;
  for (auto& [id, log] : jobs)
    if (log.position) log.position = places[*log.position];
  std::vector<JobSpec> specs;
  std::vector<RecordedJob> outcomes;
  for (const std::size_t i : order) {
    specs.push_back(std::move(workload.jobs[i]));
    specs.back().arrival -= origin;
    if (specs.back().deadline) *specs.back().deadline = std::max(Time{0}, *specs.back().deadline - origin - specs.back().arrival);
    outcomes.push_back(recording.jobs[i]);
    outcomes.back().submitted -= origin;
    if (outcomes.back().ended) *outcomes.back().ended -= origin;
  }
  workload.jobs = std::move(specs);
  recording.jobs = std::move(outcomes);
  place_events(recording, origin);
  place_absences(recording, origin, last);
  place_launches(jobs, launches, recording);
  for (const RecordedNode& node : recording.nodes) workload.hosts.push_back({node.host, node.rack});
  add_words(notes, workload.notes);
  return true;
}

}  // namespace weft::simulator::workloads
