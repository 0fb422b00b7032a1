// Why tasks do not run: what was recorded (holds, refusals, avoidances, exclusions), and what the cluster has now.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.hpp"
#include "engine/master/core_impl.hpp"

namespace weft::master {

namespace {

std::string count_of(std::uint64_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

/// What is known of second attempts, in brackets.
std::string twice(const JobExplanation& job) {
  std::vector<std::string> parts;
  if (job.speculating > 0) parts.push_back(fmt::format("{} in two attempts", job.speculating));
  if (job.straggling > 0)
    parts.push_back(
        fmt::format("{} much slower than others of the stage, until another worker has room for a second attempt", job.straggling));
  return parts.empty() ? std::string() : fmt::format(" ({})", fmt::join(parts, "; "));
}

}  // namespace

/// Whether there is room for one more task of this demand, in words.
std::string Core::Impl::room_for(const schedulers::Resources& demand) const {
  if (state_.nodes().empty()) return "there is no worker";
  std::size_t large = 0, usable = 0, free = 0;
  Time soonest = Time::max();
  for (const auto& [id, node] : state_.nodes()) {
    if (!schedulers::fits(demand, {}, node.capacity)) continue;
    ++large;
    if (node.excluded_until) soonest = std::min(soonest, *node.excluded_until);
    if (!node.usable()) continue;
    ++usable;
    if (schedulers::fits(demand, node.used, node.capacity)) ++free;
  }
  const std::string nodes = count_of(state_.nodes().size(), "worker");
  const std::string wanted = to_string(demand);
  if (large == 0) return fmt::format("no worker is large enough for {}", wanted);
  if (usable == 0)
    return fmt::format("every worker large enough for {} is excluded after repeated failures, the first for {} more", wanted,
                       human_duration(std::max(soonest - state_.now(), Time(0))));
  std::string text = free == 0 ? fmt::format("no worker has {} free", wanted)
                               : fmt::format("{} of {} {} free", free, nodes, free == 1 ? "has " + wanted : "have " + wanted);
  if (usable < large) text += fmt::format("; {} excluded after repeated failures", large - usable);
  return text;
}

/// What was said last, of the stage or of the whole job.
const std::optional<schedulers::Reason>& Core::Impl::why_held(const JobRecord& job, const StageRecord& stage) {
  const std::optional<schedulers::Reason>& of_stage = stage.info->held;
  const std::optional<schedulers::Reason>& of_job = job.info->held;
  return of_stage && (!of_job || of_stage->at >= of_job->at) ? of_stage : of_job;
}

WaitingTasks Core::Impl::explain_held(const JobRecord& job, const StageRecord& stage, std::uint32_t tasks) const {
  WaitingTasks group{stage.plan.id, stage.plan.name, tasks, WaitingTasks::Why::held, room_for(stage.info->demand), std::nullopt};
  const std::optional<schedulers::Reason>& held = why_held(job, stage);
  if (!held) return group;
  group.reason = fmt::format("{} ({})", held->text, group.reason);
  group.since = held->at;
  return group;
}

void Core::Impl::explain_stage(const JobRecord& job, const StageRecord& stage, std::vector<WaitingTasks>& out) const {
  using Why = WaitingTasks::Why;
  const schedulers::StageInfo& info = *stage.info;
  const auto tasks = static_cast<std::uint32_t>(info.tasks.size());
  const std::uint32_t pending = info.pending.count();
  if (const std::uint32_t blocked = tasks - info.finished - info.running - pending; blocked > 0 && stage.active) {
    std::vector<std::string> parents;
    for (StageId id : stage.inputs) {
      const StageRecord& input = job.stages.at(id);
      if (!input.info->complete())
        parents.push_back(fmt::format("{}, {} of {} tasks done", input.title(), input.info->finished, input.info->tasks.size()));
    }
    out.push_back({stage.plan.id, stage.plan.name, blocked, Why::parents,
                   parents.empty() ? std::string("waits for its inputs") : fmt::format("waits for {}", fmt::join(parents, "; ")),
                   std::nullopt});
  }
  std::uint32_t rest = pending;
  for (const auto& [node, avoiding] : info.pending.avoiding()) {
    rest -= static_cast<std::uint32_t>(avoiding.size());
    out.push_back({stage.plan.id, stage.plan.name, static_cast<std::uint32_t>(avoiding.size()), Why::avoiding,
                   fmt::format("failed on {} and must go to another worker ({})", node_name(node), room_for(info.demand)),
                   std::nullopt});
  }
  for (const auto& [node, promised] : info.preplaced) {
    const auto waiting = static_cast<std::uint32_t>(std::count_if(
        promised.begin(), promised.end(), [&](std::uint32_t task) { return info.pending.unconstrained().contains(task); }));
    if (waiting == 0) continue;
    rest -= waiting;
    out.push_back({stage.plan.id, stage.plan.name, waiting, Why::placed,
                   fmt::format("placed on {} by what it will read ({})", node_name(node), room_for(info.demand)), std::nullopt});
  }
  if (rest > 0) out.push_back(explain_held(job, stage, rest));
}

Result<JobExplanation> Core::Impl::explain(JobId id) const {
  JobExplanation out;
  out.id = id;
  if (auto ended = ended_.find(id); ended != ended_.end()) {
    out.name = ended->second.name;
    out.state = ended->second.state;
    out.summary = ended->second.error.empty() ? "it is over; nothing waits" : ended->second.error;
    return out;
  }
  auto found = jobs_.find(id);
  if (found == jobs_.end()) return fail(Code::not_found, fmt::format("there is no job {}", id.value()));
  const JobRecord& job = found->second;
  out.name = job.spec.name;
  out.running = job.info->running;
  out.finished = job.info->finished;
  for (StageId stage : job.open) out.speculating += job.stages.at(stage).info->speculative.size();
  const std::set<TaskId>& slow = state_.stragglers();
  out.straggling = static_cast<std::uint64_t>(
      std::distance(slow.lower_bound({id, StageId(0), 0}), slow.lower_bound({JobId(id.value() + 1), StageId(0), 0})));
  std::uint64_t waiting = 0;
  for (StageId stage : job.open) explain_stage(job, job.stages.at(stage), out.waiting);
  for (const WaitingTasks& group : out.waiting) waiting += group.tasks;
  if (waiting > 0) {
    out.summary = fmt::format("{} running{}, {} waiting", count_of(out.running, "task"), twice(out), waiting);
  } else if (out.running > 0) {
    out.summary = fmt::format("{} running{}, none waiting", count_of(out.running, "task"), twice(out));
  } else {
    out.summary = job.stages.empty() ? "its driver has not submitted a stage yet"
                                     : "all that its driver asked for is done; it waits for the driver";
  }
  if (trouble_.faults > 0)
    out.summary += fmt::format("; {} ({}, {} ago)", trouble_.fault, count_of(trouble_.faults, "time"),
                               human_duration(state_.now() - trouble_.at));
  return out;
}

}  // namespace weft::master
