#include "schedulers/parts/reduce_racks.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft::schedulers {

namespace {

/// One partition that each of several tasks reads whole, wherever they are.
bool read_by_all(const StageInfo& input, const StageInfo& reader) {
  return input.output.partitions() == 1 && reader.tasks.size() > 1;
}

/// Inputs of which each task reads only a part.
std::vector<const StageInfo*> parted_inputs(const JobInfo& job, const StageInfo& stage) {
  std::vector<const StageInfo*> inputs;
  for (const StageId parent : stage.parents) {
    const StageInfo& input = *job.stage(parent);
    if (!read_by_all(input, stage)) inputs.push_back(&input);
  }
  return inputs;
}

bool placed_in(const ClusterView& view, const StageInfo& stage, RackId rack) {
  return std::ranges::any_of(stage.preplaced, [&](const auto& there) {
    const NodeInfo* node = view.node(there.first);
    return node != nullptr && node->rack == rack;
  });
}

/// The parts of maps by rack: of those that have begun, and of the others as they are taken to run, the part `kept` of them in the
/// racks of the guess, the rest where maps have begun. Empty: none has begun, and there is no guess.
RackParts expected_by_rack(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const MapRacks* guess,
                           double kept) {
  std::map<RackId, double> tasks;
  double begun = 0, waiting = 0;
  for (const StageInfo* input : parted_inputs(job, stage)) {
    for (const TaskInfo& task : input->tasks) {
      const NodeInfo* node = task.state < TaskState::running ? nullptr : view.node(task.node);
      ++(node == nullptr ? waiting : begun);
      if (node != nullptr) ++tasks[node->rack];
    }
  }
  if (begun == 0) return guess == nullptr ? RackParts() : guess->parts;
  const double all = begun + waiting, by_guess = guess == nullptr ? 0 : waiting * kept;
  for (auto& [rack, count] : tasks) count += (waiting - by_guess) * count / begun;
  if (by_guess > 0) {
    for (const auto& [rack, part] : guess->parts) tasks[rack] += by_guess * part;
  }
  RackParts parts;
  for (const auto& [rack, count] : tasks) parts.emplace_back(rack, count / all);
  return parts;
}

}  // namespace

std::vector<std::uint32_t> largest_remainders(std::uint32_t count, const std::vector<double>& weights) {
  std::vector<std::uint32_t> parts(weights.size());
  if (weights.empty()) return parts;
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<std::pair<double, std::size_t>> remainders;  // negative: the largest first
  std::uint32_t given = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double exact = sum > 0 ? count * (weights[i] / sum) : count / static_cast<double>(weights.size());
    parts[i] = std::min(count - given, static_cast<std::uint32_t>(std::floor(exact + 1e-9)));
    given += parts[i];
    remainders.emplace_back(-std::max(0.0, exact - parts[i]), i);
  }
  std::stable_sort(remainders.begin(), remainders.end(), [](const auto& a, const auto& b) { return a.first < b.first - 1e-12; });
  for (std::size_t i = 0; given < count; i = (i + 1) % remainders.size(), ++given) ++parts[remainders[i].second];
  return parts;
}

RackParts shuffle_by_rack(const ClusterView& view, const JobInfo& job, const StageInfo& stage) {
  std::map<RackId, double> bytes;
  double sum = 0;
  for (const StageInfo* input : parted_inputs(job, stage)) {
    for (const auto& [id, there] : input->output.by_node()) {
      const NodeInfo* node = view.node(id);
      if (node == nullptr) continue;
      bytes[node->rack] += static_cast<double>(there.total());
      sum += static_cast<double>(there.total());
    }
  }
  RackParts parts;
  if (!(sum > 0)) return parts;
  for (const auto& [rack, amount] : bytes) parts.emplace_back(rack, amount / sum);
  return parts;
}

double maps_ended(const JobInfo& job, const StageInfo& stage) {
  double ended = 0, all = 0;
  for (const StageId parent : stage.parents) {
    ended += job.stage(parent)->finished;
    all += static_cast<double>(job.stage(parent)->tasks.size());
  }
  return all > 0 ? ended / all : 1;
}

void ReduceRacks::on_event(const ClusterView& view, const Notice& notice) {
  using Kind = Notice::Kind;
  if (notice.kind == Kind::job_ended) {
    erase_job(plans_, notice.job);
  } else if (notice.kind == Kind::node_left) {  // with tasks, and perhaps with their input
    for (auto& [key, plan] : plans_) plan = Plan{};
  } else if (notice.kind == Kind::stage_ready) {
    if (const auto plan = plans_.find({notice.job, notice.stage}); plan != plans_.end()) plan->second = Plan{};
  } else if (notice.kind == Kind::task_launched || notice.kind == Kind::task_failed || notice.kind == Kind::task_preempted) {
    const auto plan = plans_.find({notice.job, notice.stage});
    if (plan == plans_.end() || plan->second.stale) return;
    const NodeInfo* node = view.node(notice.node);
    if (node == nullptr) {
      plan->second.stale = true;
      return;
    }
    std::uint32_t& launched = plan->second.racks[node->rack].launched;
    if (notice.kind == Kind::task_launched) {
      ++launched;
    } else if (launched > 0) {
      --launched;
    }
  }
}

ReduceRacks::Basis ReduceRacks::basis_now(const JobInfo& job, const StageInfo& stage, const MapRacks* guess) const {
  const double ended = maps_ended(job, stage);
  if (ended >= 1) return Basis::all_maps;
  if (ended > 0 && ended >= map_completion_) return Basis::some_maps;
  return guess == nullptr ? Basis::nothing : Basis::guess;
}

RackParts ReduceRacks::parts(const ClusterView& view, const JobInfo& job, const StageInfo& stage, const MapRacks* guess,
                             double kept) const {
  return basis_now(job, stage, guess) == Basis::all_maps ? shuffle_by_rack(view, job, stage)
                                                         : expected_by_rack(view, job, stage, guess, kept);
}

void ReduceRacks::recount(const ClusterView& view, const StageInfo& stage, Plan& plan) const {
  plan.stale = false;
  for (auto& [rack, count] : plan.racks) count.launched = 0;
  for (const TaskInfo& task : stage.tasks) {
    if (task.state < TaskState::running) continue;
    if (const NodeInfo* node = view.node(task.node)) ++plan.racks[node->rack].launched;
  }
}

double ReduceRacks::share(std::pair<JobId, StageId> stage, RackId rack) const {
  const auto plan = plans_.find(stage);
  if (plan == plans_.end()) return 0;
  const auto count = plan->second.racks.find(rack);
  return count == plan->second.racks.end() ? 0 : count->second.part;
}

bool ReduceRacks::wants(const ClusterView& view, const JobInfo& job, const StageInfo& stage, RackId rack, const MapRacks* guess) {
  Plan& plan = plans_[{job.id, stage.id}];
  if (plan.basis != Basis::all_maps) {
    const Basis basis = basis_now(job, stage, guess);
    if (basis == Basis::nothing) return stage.preplaced.empty() || placed_in(view, stage, rack);
    if (std::exchange(plan.basis, basis) != basis) {
      const RackParts parts = basis == Basis::guess ? guess->parts : shuffle_by_rack(view, job, stage);
      std::vector<double> weights;
      for (const auto& part : parts) weights.push_back(part.second);
      const auto counts = largest_remainders(static_cast<std::uint32_t>(stage.tasks.size()), weights);
      plan.racks.clear();
      plan.stale = true;
      plan.anywhere = parts.empty();
      for (std::size_t i = 0; i < parts.size(); ++i) plan.racks[parts[i].first] = {counts[i], 0, parts[i].second};
    }
  }
  if (!stage.preplaced.empty()) return placed_in(view, stage, rack);
  if (plan.anywhere) return true;
  if (plan.stale) recount(view, stage, plan);
  const auto count = plan.racks.find(rack);
  return count != plan.racks.end() && count->second.launched < count->second.preferred;
}

}  // namespace weft::schedulers
