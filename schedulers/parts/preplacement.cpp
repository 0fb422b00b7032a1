#include "schedulers/parts/preplacement.hpp"

#include <algorithm>
#include <cmath>

#include "schedulers/parts/reduce_mapping.hpp"
#include "schedulers/prediction/size_prediction.hpp"

namespace weft::schedulers {

namespace {

using RackShares = std::map<RackId, double>;

/// Nodes by position. Where racks have parts, the slots of each rack's nodes are scaled to its part, so that even bytes per slot
/// keep the parts; `scale`: how many of these slots a real one is.
struct Nodes {
  std::vector<NodeId> ids;
  std::vector<double> slots, scale;

  Nodes(const ClusterView& view, const Resources& demand, const RackShares& racks) {
    RackShares slots_in;
    double all = 0;
    for (const auto& [id, node] : view.nodes()) {
      const double fit = node.usable() ? slots_of(node.capacity, demand) : 0;
      const auto part = racks.find(node.rack);
      if (fit < 1 || (!racks.empty() && (part == racks.end() || part->second <= 0))) continue;
      ids.push_back(id);
      slots.push_back(fit);
      slots_in[node.rack] += fit;
      all += fit;
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const RackId rack = view.node(ids[i])->rack;
      scale.push_back(racks.empty() ? 1 : racks.at(rack) * all / slots_in.at(rack));
      slots[i] *= scale[i];
    }
  }
  std::optional<std::size_t> position(NodeId id) const {
    const auto found = std::lower_bound(ids.begin(), ids.end(), id);
    if (found == ids.end() || *found != id) return std::nullopt;
    return static_cast<std::size_t>(found - ids.begin());
  }
};

/// The node that holds most of a task's input.
struct Most {
  double bytes = 0;
  std::optional<std::size_t> node;
};

/// For each task, over all inputs.
std::vector<Most> most_of(const JobInfo& job, const std::vector<Preplaceable::Input>& inputs, const Nodes& nodes,
                          std::size_t tasks) {
  std::vector<Most> most(tasks);
  std::vector<double> here;
  for (std::size_t node = 0; node < nodes.ids.size(); ++node) {
    here.clear();
    for (const Preplaceable::Input& input : inputs) {
      const auto& by_node = job.stage(input.stage)->output.by_node();
      const auto there = by_node.find(nodes.ids[node]);
      if (there == by_node.end()) continue;
      here.resize(tasks);
      const std::vector<std::uint64_t> bytes = there->second.partitions();
      for (std::size_t i = 0; i < bytes.size() && input.first_task + i < tasks; ++i)
        here[input.first_task + i] += static_cast<double>(bytes[i]);
    }
    for (std::size_t i = 0; i < here.size(); ++i) {
      if (here[i] > most[i].bytes) most[i] = {here[i], node};
    }
  }
  return most;
}

void add_sizes(const StageInfo& input, std::uint32_t first_task, std::vector<double>& sizes) {
  const auto predicted = predict_partitions(input);
  if (!predicted) return;
  for (std::size_t i = 0; i < predicted->size() && first_task + i < sizes.size(); ++i) sizes[first_task + i] += (*predicted)[i];
}

/// Input bytes of other work on each node: of running tasks, except those that write the shuffle in question, and of readers of
/// shuffles that were placed there.
std::vector<double> loads_of(const ClusterView& view, const Preplaceable& what, const StageInfo& reader, const Nodes& nodes) {
  std::vector<double> loads(nodes.ids.size());
  for (const auto& [job_id, job] : view.jobs()) {
    for (const auto& [stage_id, stage] : job.stages) {
      if (stage.preplaced.empty() || (job_id == what.job && stage_id == what.reader)) continue;
      const double bytes = mean_shuffle_input(job, stage);
      for (const auto& [node, tasks] : stage.preplaced) {
        if (const auto at = nodes.position(node)) loads[*at] += bytes * static_cast<double>(tasks.size());
      }
    }
  }
  for (std::size_t i = 0; i < nodes.ids.size(); ++i) {
    for (const AttemptId& attempt : view.node(nodes.ids[i])->running) {
      const TaskId& task = attempt.task;
      const JobInfo& job = *view.job(task.job);
      const StageInfo& stage = *job.stage(task.stage);
      if (task.job == what.job && std::ranges::find(reader.parents, task.stage) != reader.parents.end()) continue;
      loads[i] += stage.reads_shuffle ? mean_shuffle_input(job, stage) : static_cast<double>(stage.tasks[task.index].input_bytes);
    }
    loads[i] *= nodes.scale[i];
  }
  return loads;
}

constexpr std::string_view kReason = "by its predicted size";

// How much fuller than the fullest node another may become by reduces that move to their producers. While maps run, the gain is a
// guess, and moved input is prefetched. Once all maps have ended, fetching is not hidden behind them any more, so a node may become
// fuller.
constexpr double kMostWorseAhead = 0.1, kMostWorseAfter = 0.5;

/// Neither launched nor to avoid a node.
bool placeable(const TaskInfo& task) { return task.state < TaskState::running && !task.avoid; }

/// Places the tasks whose node has left, the largest first, each on the node with the least; the others stay where their blocks
/// are.
void place_the_rest(const Preplaceable& what, const StageInfo& reader, const Nodes& nodes, const std::vector<double>& sizes,
                    std::vector<double> bytes, Decisions& decisions) {
  std::vector<std::uint32_t> rest;
  for (std::uint32_t i = 0; i < reader.tasks.size(); ++i) {
    const TaskInfo& task = reader.tasks[i];
    if (!placeable(task)) continue;
    const auto node = task.preplaced ? nodes.position(*task.preplaced) : std::nullopt;
    if (node) {
      bytes[*node] += sizes[i];
    } else {
      rest.push_back(i);
    }
  }
  std::stable_sort(rest.begin(), rest.end(), [&](std::uint32_t a, std::uint32_t b) { return sizes[a] > sizes[b]; });
  for (std::uint32_t task : rest) {
    std::size_t least = 0;
    for (std::size_t i = 1; i < bytes.size(); ++i) {
      if (bytes[i] / nodes.slots[i] < bytes[least] / nodes.slots[least]) least = i;
    }
    bytes[least] += sizes[task];
    (void)decisions.preplace({what.job, what.reader, task}, nodes.ids[least], kReason);
  }
}

}  // namespace

double mean_shuffle_input(const JobInfo& job, const StageInfo& reader) {
  double bytes = 0;
  for (const StageId id : reader.parents) {
    const StageInfo* parent = job.stage(id);
    if (parent == nullptr || parent->output.finished_maps() == 0) continue;
    bytes += static_cast<double>(parent->output.total_bytes()) * static_cast<double>(parent->output.maps()) /
             static_cast<double>(parent->output.finished_maps());
  }
  return bytes / static_cast<double>(std::max<std::size_t>(1, reader.tasks.size()));
}

double slots_of(const Resources& capacity, const Resources& demand) {
  double slots = 1e9;
  for (const ResourceKind& kind : kResourceKinds) {
    const double want = demand.*kind.amount;
    if (want > 0 && accounted(kind, capacity)) slots = std::min(slots, std::floor(capacity.*kind.amount / want + 1e-9));
  }
  return slots;
}

void preplace_by_size(const ClusterView& view, const Preplaceable& what, Decisions& decisions, const RackShares& racks) {
  const JobInfo* job = view.job(what.job);
  const StageInfo* reader = view.stage(what.job, what.reader);
  if (reader == nullptr) return;
  const Nodes nodes(view, reader->demand, racks);
  if (nodes.ids.size() < 2) return;
  const std::size_t tasks = reader->tasks.size();
  std::vector<double> sizes(tasks), earlier_sizes(tasks), observed(tasks);
  double maps = 0;
  bool ended = true;
  for (const Preplaceable::Input& input : what.fresh) {
    const StageInfo& stage = *job->stage(input.stage);
    add_sizes(stage, input.first_task, sizes);
    for (std::uint32_t i = 0; i < stage.output.partitions() && input.first_task + i < tasks; ++i)
      observed[input.first_task + i] += static_cast<double>(stage.output.partition_bytes(i));
    maps += stage.output.maps();
    ended = ended && stage.complete();
  }
  for (const Preplaceable::Input& input : what.known) add_sizes(*job->stage(input.stage), input.first_task, earlier_sizes);
  const std::vector<double> loads = loads_of(view, what, *reader, nodes);
  if (what.fresh.empty()) return place_the_rest(what, *reader, nodes, earlier_sizes, loads, decisions);

  const std::vector<Most> most = most_of(*job, what.fresh, nodes, tasks);
  std::vector<std::uint32_t> open;  // tasks
  std::vector<SizedReduce> reduces;
  std::vector<EarlierPlace> earlier;
  for (std::uint32_t i = 0; i < tasks; ++i) {
    const TaskInfo& task = reader->tasks[i];
    if (!placeable(task)) continue;
    open.push_back(i);
    reduces.push_back({sizes[i], observed[i] > 0 ? most[i].bytes / observed[i] : 0, most[i].node});
    earlier.push_back({earlier_sizes[i], task.preplaced ? nodes.position(*task.preplaced) : std::nullopt});
  }
  const ReduceMapping mapping =
      map_reduces(nodes.slots, reduces, earlier, maps > 0 ? 1 / maps : 0, ended ? kMostWorseAfter : kMostWorseAhead, loads);
  for (std::size_t i = 0; i < open.size(); ++i) {
    const NodeId node = nodes.ids[mapping.node[i]];
    if (reader->tasks[open[i]].preplaced != node) (void)decisions.preplace({what.job, what.reader, open[i]}, node, kReason);
  }
}

}  // namespace weft::schedulers
