#include "engine/simulator/plans.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

namespace weft::simulator {

namespace {

bool typed_slots(const ClusterModel& model) {
  return std::any_of(model.groups.begin(), model.groups.end(),
                     [](const NodeGroup& group) { return group.capacity.map_slots > 0 || group.capacity.reduce_slots > 0; });
}

schedulers::Resources true_demand(const StageSpec& stage, bool typed) {
  schedulers::Resources demand = stage.demand;
  if (demand == schedulers::Resources()) demand.cpu = 1;
  if (!typed) return demand;
  (stage.parents.empty() ? demand.map_slots : demand.reduce_slots) = 1;
  return demand;
}

/// Errs by the factor, but a task that fits a node still does.
schedulers::Resources planned_demand(const schedulers::Resources& demand, double factor, const ClusterModel& model) {
  if (factor == 1) return demand;
  schedulers::Resources planned = demand * factor;
  planned.map_slots = demand.map_slots;
  planned.reduce_slots = demand.reduce_slots;
  for (const NodeGroup& group : model.groups) {
    if (!schedulers::fits(demand, {}, group.capacity)) continue;
    for (const auto& kind : schedulers::kResourceKinds) {
      if (schedulers::accounted(kind, group.capacity))
        planned.*kind.amount = std::min(planned.*kind.amount, group.capacity.*kind.amount);
    }
    return planned;
  }
  return planned;
}

std::vector<double> partition_weights(const StageSpec& stage, std::uint32_t partitions) {
  std::vector<double> weights;
  if (stage.partition_weights.size() == partitions) {
    weights = stage.partition_weights;
  } else if (stage.partition_skew > 0) {
    for (std::uint32_t i = 0; i < partitions; ++i) weights.push_back(std::pow(i + 1, -stage.partition_skew));
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (sum <= 0) return {};
  for (double& weight : weights) weight /= sum;
  return weights;
}

void place_inputs(const StageSpec& stage, StagePlan& plan, const ClusterModel& model, const Machines& machines,
                  Placement& placement) {
  if (!stage.hosts.empty()) {
    std::vector<std::uint32_t> replicas;
    for (const auto& hosts : stage.hosts) {
      replicas.clear();
      for (const std::string& host : hosts) replicas.push_back(machines.named(host).value_or(Machines::kOutside));
      plan.replicas.add(replicas);
    }
  } else if (stage.input_bytes > 0 && model.storage.replicas > 0) {
    plan.replicas.reserve(std::size_t{stage.tasks} * std::min(model.storage.replicas, machines.count()));
    for (std::uint32_t i = 0; i < stage.tasks; ++i) plan.replicas.add(placement.block());
  }
}

}  // namespace

Result<void> validate(const JobSpec& job, std::size_t index) {
  const auto wrong = [&](std::size_t stage, const char* what) {
    return fail(Code::invalid_argument, fmt::format("job {} ({}), stage {}: {}", index, job.name, stage, what));
  };
  if (job.stages.empty()) return fail(Code::invalid_argument, fmt::format("job {} ({}) has no stages", index, job.name));
  if (job.options.max_attempts == 0)
    return fail(Code::invalid_argument, fmt::format("job {} ({}) has no attempts", index, job.name));
  if (job.options.shuffle_replicas.value_or(1) > 2)
    return fail(Code::invalid_argument, fmt::format("job {} ({}) keeps map outputs in {} copies; there are 1 or 2", index, job.name,
                                                    *job.options.shuffle_replicas));
  if (job.arrival < Time(0)) return fail(Code::invalid_argument, fmt::format("job {} ({}) arrives before 0", index, job.name));
  for (std::size_t i = 0; i < job.stages.size(); ++i) {
    const StageSpec& stage = job.stages[i];
    if (stage.tasks == 0) return wrong(i, "it has no tasks");
    if (stage.duration < Time(0) || std::any_of(stage.durations.begin(), stage.durations.end(), [](Time t) { return t < Time(0); }))
      return wrong(i, "a duration is negative");
    if (!stage.durations.empty() && stage.durations.size() != stage.tasks) return wrong(i, "the durations are not one per task");
    if (!stage.hosts.empty() && stage.hosts.size() != stage.tasks) return wrong(i, "the hosts are not one list per task");
    for (const auto& [task, failures] : stage.failures) {
      if (task >= stage.tasks) return wrong(i, "a task that is to fail is not there");
      for (const StageSpec::Failure& failure : failures) {
        if (failure.after < Time(0)) return wrong(i, "the time until a failure is negative");
      }
    }
    if (std::any_of(stage.speedups.begin(), stage.speedups.end(), [](const Speedup& one) { return !(one.factor > 0); }))
      return wrong(i, "a speed-up is not positive");
    if (!schedulers::valid(stage.load)) return wrong(i, "the load must be finite and not negative");
    if (!schedulers::valid(stage.demand)) return wrong(i, "the demand must be finite and not negative");
    for (std::uint32_t parent : stage.parents) {
      if (parent >= i) return wrong(i, "a parent is not an earlier stage");
    }
  }
  return {};
}

std::vector<StagePlan> lay_out(const JobSpec& job, const ClusterModel& model, const Machines& machines, Placement& placement,
                               Random random) {
  std::vector<StagePlan> plans(job.stages.size());
  const bool typed = typed_slots(model);
  const EstimateError& error = model.estimates;
  const auto factor = [&random](double bias, double spread) { return 1 + bias + spread * (2 * random.uniform() - 1); };
  for (std::uint32_t i = 0; i < plans.size(); ++i) {
    const StageSpec& stage = job.stages[i];
    StagePlan& plan = plans[i];
    plan.demand = true_demand(stage, typed);
    const double duration_error = factor(error.duration_bias, error.duration_spread);
    const double demand_error = factor(error.demand_bias, error.demand_spread);
    plan.planned = planned_demand(plan.demand, demand_error, model);
    const double estimate = static_cast<double>(stage.estimate.value_or(stage.mean_duration()).count()) * duration_error;
    plan.estimate = Time(std::llround(estimate));
    for (std::uint32_t parent : stage.parents) {
      auto& siblings = plans[parent].children;
      if (siblings.empty() || siblings.back() != i) siblings.push_back(i);
    }
    place_inputs(stage, plan, model, machines, placement);
  }
  for (std::uint32_t i = 0; i < plans.size(); ++i) {
    StagePlan& plan = plans[i];
    if (plan.children.empty()) continue;
    const std::uint32_t readers = job.stages[plan.children.front()].tasks;
    plan.shared =
        job.stages[i].broadcast != 0 || job.stages[i].shuffle_bytes == 0 ||
        std::any_of(plan.children.begin(), plan.children.end(), [&](std::uint32_t c) { return job.stages[c].tasks != readers; });
    plan.partitions = plan.shared ? 1 : readers;
    if (!plan.shared) plan.weights = partition_weights(job.stages[i], plan.partitions);
  }
  return plans;
}

master::JobSubmitted submission(const JobSpec& job, JobId id, const ClusterModel& model) {
  master::JobSubmitted event{id, job.name, job.options, {}, job.hints};
  if (job.deadline) event.deadline = job.arrival + *job.deadline;
  master::JobOptions& options = event.options;
  options.demand.cpu = 1;
  if (!options.shuffle_replicas) options.shuffle_replicas = model.shuffle_replicas;
  if (model.shuffle.mode) options.shuffle_mode = model.shuffle.mode;
  if (!options.slow_start) options.slow_start = model.slow_start;
  return event;
}

std::vector<plan::PlanPart> plan_of(const JobSpec& job, const std::vector<StagePlan>& plans, const Machines& machines) {
  std::vector<plan::PlanPart> parts(1);
  for (std::uint32_t i = 0; i < plans.size(); ++i) {
    const StageSpec& spec = job.stages[i];
    const StagePlan& layout = plans[i];
    if (spec.planned && !parts.back().targets.empty())
      parts.emplace_back().action = ActionId(static_cast<std::uint32_t>(parts.size()));
    plan::PlanPart& part = parts.back();
    plan::Stage stage;
    stage.id = StageId(i);
    stage.name = spec.name;
    stage.demand = layout.planned;
    stage.estimated_task_duration = layout.estimate;
    for (const Speedup& speedup : spec.speedups) stage.variants.push_back(speedup.attribute + "=" + speedup.value);
    stage.partitions = layout.partitions;
    if (layout.children.empty()) {
      stage.output = plan::OutputKind::result;
      part.targets.push_back(stage.id);
    }
    plan::Branch branch;
    branch.tasks = spec.tasks;
    for (std::uint32_t parent : spec.parents) {
      const ShuffleId shuffle(parent);
      auto& list = plans[parent].shared ? branch.broadcast : branch.partitioned;
      if (std::find(list.begin(), list.end(), shuffle) == list.end()) list.push_back(shuffle);
    }
    branch.kind = branch.partitioned.empty() ? plan::BranchKind::splits : plan::BranchKind::shuffles;
    if (branch.kind == plan::BranchKind::splits && !layout.replicas.empty()) {
      branch.splits.reserve(spec.tasks);
      for (std::uint32_t task = 0; task < spec.tasks; ++task) {
        storage::Split& split = branch.splits.emplace_back(1).front();
        split.length = spec.input_bytes / spec.tasks;
        const auto replicas = layout.replicas.of(task);
        for (std::size_t k = 0; k < replicas.size(); ++k)
          split.hosts.push_back(replicas[k] == Machines::kOutside ? spec.hosts[task][k] : machines[replicas[k]].name);
      }
    }
    stage.branches.push_back(std::move(branch));
    part.stages.push_back(std::move(stage));
  }
  return parts;
}

}  // namespace weft::simulator
