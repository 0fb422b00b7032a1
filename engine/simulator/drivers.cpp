#include "engine/simulator/drivers.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "base/clock.hpp"

namespace weft::simulator {

Drivers::Drivers(World& world, MasterShell& master, Transfers& transfers)
    : world_(world), master_(master), transfers_(transfers), order_(world.jobs.size()) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  std::stable_sort(order_.begin(), order_.end(),
                   [&](std::size_t a, std::size_t b) { return world.workload.jobs[a].arrival < world.workload.jobs[b].arrival; });
}

void Drivers::start() {
  next_arrives();
  inject_later(0);
}

void Drivers::next_arrives() {
  if (!all_arrived()) world_.agenda.add(world_.workload.jobs[order_[arrived_]].arrival, {What::arrival});
}

void Drivers::arrive() {
  submit(order_[arrived_++]);
  next_arrives();
}

void Drivers::submit(std::size_t index) {
  JobRun& job = world_.jobs[index];
  job.spec = &world_.workload.jobs[index];
  job.running = true;
  const Random random(world_.model.seed * 0x9e3779b97f4a7c15ULL + index, 3);
  auto placement = std::make_unique<Placement>(world_.machines, world_.model.storage, random);
  std::vector<StagePlan> plans =
      lay_out(*job.spec, world_.model, world_.machines, *placement, Random(world_.model.seed * 0x9e3779b97f4a7c15ULL + index, 4));
  if (world_.model.storage.output_replicas > 1) job.placement = std::move(placement);
  std::vector<plan::PlanPart> parts = plan_of(*job.spec, plans, world_.machines);
  for (std::uint32_t i = 0; i < plans.size(); ++i) {
    StageRun& stage = job.stages.emplace_back();
    stage.spec = &job.spec->stages[i];
    stage.plan = std::move(plans[i]);
    stage.bytes_per_task = static_cast<double>(stage.spec->shuffle_bytes) / stage.spec->tasks;
    if (stage.plan.partitions == 0) continue;
    stage.latest.resize(stage.spec->tasks);
  }
  world_.accounts.job_arrived(index, world_.accounts.job(index).tasks);
  world_.last_progress = world_.now;
  if (auto why = never_fits(job)) return job_over(index, Outcome::refused, std::move(*why));
  const JobId id(index + 1);
  master_.apply(submission(*job.spec, id, world_.model));
  std::move(parts.begin(), parts.end(), std::back_inserter(job.parts));
  plan_later(index);
}

/// Why the availability of the cluster lets some task of the job fit no node any more. Nothing: all fit, or would not fit a whole
/// node either, which the master finds out.
std::optional<std::string> Drivers::never_fits(const JobRun& job) const {
  const std::vector<Availability>& steps = world_.model.availability;
  if (steps.empty() || steps.front().from > world_.now) return std::nullopt;
  for (const StageRun& stage : job.stages) {
    std::uint32_t first = 0;  // of the group
    bool whole = false, fits = false;
    for (const NodeGroup& group : world_.model.groups) {
      double most = 0;
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (i + 1 == steps.size() || steps[i + 1].from > world_.now) most = std::max(most, steps[i].part_of(first));
      }
      whole = whole || schedulers::fits(stage.plan.demand, {}, group.capacity);
      fits = fits || (most > 0 && schedulers::fits(stage.plan.demand, {}, group.capacity * most));
      first += group.count;
    }
    if (whole && !fits)
      return fmt::format("stage {}: from {:.0f} s on no node has so much available for a task: {}", stage.spec->name,
                         in_seconds(world_.now), schedulers::to_string(stage.plan.demand));
  }
  return std::nullopt;
}

/// The next part of the job's plan comes when its driver has worked on the results of the part before.
void Drivers::plan_later(std::size_t index) {
  const JobRun& job = world_.jobs[index];
  const std::uint32_t first = job.parts.front().stages.front().id.value();
  const Time after = job.spec->stages[first].planned.value_or(Time{0});
  if (after <= Time{0}) return plan_next(index);
  world_.agenda.add(world_.now + after, {What::plan, 0, 0, index});
}

void Drivers::action_finished(std::size_t index) {
  world_.jobs[index].parts.empty() ? master_.apply(master::JobClosed{JobId(index + 1)}) : plan_later(index);
}

void Drivers::plan_next(std::size_t index) {
  JobRun& job = world_.jobs[index];
  if (!job.running) return;
  master::PlanExtended extended{JobId(index + 1), std::move(job.parts.front())};
  job.parts.pop_front();
  for (const plan::Stage& stage : extended.part.stages) extended.profiles.push_back(job.spec->stages[stage.id.value()].profile);
  master_.apply(std::move(extended));
}

void Drivers::inject_later(std::size_t place) {
  const auto& events = world_.options.injected;
  if (place < events.size()) world_.agenda.add(events[place].at, {What::injected, 0, 0, place});
}

void Drivers::inject(std::size_t place) {
  inject_later(place + 1);
  const InjectedEvent& injected = world_.options.injected[place];
  master::Event event = master::copy_of(injected.event);
  if (injected.machine) {
    if (*injected.machine >= world_.machines.count() || !world_.machines[*injected.machine].known) return;
    const NodeId node = world_.machines[*injected.machine].id;
    if (auto* beat = std::get_if<master::WorkerHeartbeat>(&event)) beat->node = node;
    if (auto* change = std::get_if<master::CapacityChanged>(&event)) change->node = node;
    if (auto* leaving = std::get_if<master::WorkerLeaving>(&event)) leaving->node = node;
  }
  master_.apply(std::move(event));
}

void Drivers::job_over(std::size_t index, Outcome outcome, std::string error) {
  world_.accounts.job_ended(index, world_.now, outcome, std::move(error));
  JobRun& job = world_.jobs[index];
  job.running = false;
  transfers_.job_over(index);
  job.stages = {};
  job.parts = {};
  job.placement.reset();
  ++over_;
  world_.last_progress = world_.now;
}

}  // namespace weft::simulator
