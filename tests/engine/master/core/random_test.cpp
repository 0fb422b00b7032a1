// Properties over many seeds: any faults leave a correct run, any order of events leaves a consistent core, the same events give
// the same commands.
#include <algorithm>

#include <fmt/format.h>

#include "schedulers/builtin.hpp"
#include "tests/engine/master/core/core_driver.hpp"
#include "tests/engine/master/core/random_jobs.hpp"

namespace weft::master {
namespace {

using namespace test;

/// Every attempt that was launched runs or has ended in one way, and each finished task counts once in the figures.
void expect_counted(SimulatedCluster& cluster) {
  for (const JobStatus& job : cluster.core().jobs()) {
    const auto status = cluster.core().job(job.id);
    for (const StageStatus& stage : status->stages) {
      const StageAttempts& attempts = stage.usage.attempts;
      ASSERT_EQ(attempts.first + attempts.retried + stage.speculative,
                attempts.finished + attempts.failed + attempts.killed + attempts.lost + stage.running + stage.speculating)
          << stage.name;
      ASSERT_LE(attempts.first, stage.tasks);
      ASSERT_GE(attempts.finished, stage.finished);
      ASSERT_EQ(stage.usage.figures.shuffle_bytes.total, stage.shuffle_bytes);
    }
  }
}

TEST(SimulatedRuns, EveryActionEndsWithEveryResultWhateverFails) {
  std::uint64_t zombies = 0, finished = 0, failed = 0, moved = 0, rolled_back = 0;
  for (std::uint64_t seed = 1; seed <= 1500 / kShare; ++seed) {
    auto cluster = run_jobs(faulty(seed));
    ASSERT_TRUE(cluster->violations().empty()) << "seed " << seed << ": " << cluster->violations().front();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    for (const auto& [job, error] : cluster->failures()) {
      ++failed;
      const bool lost_often = error.code() == Code::unavailable, failed_often = error.code() == Code::user_code;
      ASSERT_TRUE(lost_often || failed_often) << "seed " << seed << ": " << error.to_string();
    }
    for (const auto& [key, results] : cluster->results()) {
      for (const auto& target : results) {
        for (const auto& result : target) ASSERT_FALSE(result.empty()) << "seed " << seed;
      }
    }
    expect_counted(*cluster);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    finished += cluster->results().size();
    zombies += cluster->zombies_refused();
    moved += cluster->outputs_moved();
    rolled_back += cluster->rolled_back();
    ASSERT_EQ(cluster->core().view().used(), schedulers::Resources()) << "seed " << seed;
    for (const auto& [id, node] : cluster->core().view().nodes()) ASSERT_TRUE(node.running.empty()) << "seed " << seed;
    ASSERT_TRUE(cluster->core().view().runnable_jobs().empty()) << "seed " << seed;
  }
  EXPECT_GT(zombies, 0u);
  EXPECT_GT(moved, 100 / kShare);
  EXPECT_GT(rolled_back, 100 / kShare);
  EXPECT_GT(finished, 1000 / kShare);
  EXPECT_LT(failed, finished / 50);
}

TEST(SimulatedRuns, TheSameSeedGivesTheSameEventsAndCommands) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    auto first = run_jobs(faulty(seed));
    auto second = run_jobs(faulty(seed));
    ASSERT_EQ(first->event_lines(), second->event_lines()) << "seed " << seed;
    ASSERT_EQ(first->command_log(), second->command_log()) << "seed " << seed;
  }
}

TEST(SimulatedRuns, TheSameEventsGiveAnotherCoreTheSameCommands) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    auto cluster = run_jobs(faulty(seed));
    Core core(schedulers::make_scheduler("fifo").value(), faulty(seed).core);
    std::vector<Command> commands;
    auto replayed = replay(cluster->events(), core, commands);
    ASSERT_TRUE(replayed) << "seed " << seed << ": " << replayed.error().to_string();
    std::string log;
    for (const auto& command : commands) log += to_text(command) + '\n';
    ASSERT_EQ(log, cluster->command_log()) << "seed " << seed;
  }
}

/// Events of any kind with small random ids: most are nonsense.
Event random_event(Random& random, std::uint32_t& action, std::uint32_t& node, std::uint64_t& job) {
  const auto small = [&random](std::uint64_t most) { return static_cast<std::uint32_t>(random.below(most)); };
  const AttemptId attempt{TaskId{JobId(random.below(job + 1)), StageId(small(6)), small(5)}, small(4)};
  const NodeId where(small(node + 2));
  switch (random.below(14)) {
    case 0: {
      JobSubmitted event;
      event.job = JobId(random.chance(0.5) ? ++job : random.below(job + 1));
      event.options.max_attempts = small(5);
      event.options.priority = static_cast<int>(random.between(-1, 1));
      if (random.chance(0.1)) event.options.demand.cpu = -1;
      if (random.chance(0.1)) event.options.demand.memory = 1e9;
      event.options.shuffle_replicas = 1 + small(3);  // three are refused
      return event;
    }
    case 1: {
      std::vector<plan::Stage> stages;
      for (std::uint32_t i = 0, count = small(4); i < count; ++i) {
        auto stage =
            random.chance(0.5) ? source(small(6), small(4), small(3)) : reader(small(6), {small(6)}, 1 + small(2), 1 + small(2));
        stages.push_back(random.chance(0.4) ? result(std::move(stage)) : std::move(stage));
      }
      auto made = part(random.chance(0.8) ? action++ : small(action + 1), std::move(stages));
      if (random.chance(0.3)) made.released.emplace_back(small(6));
      return PlanExtended{JobId(random.below(job + 1)), std::move(made)};
    }
    case 2:
      return random.chance(0.1) ? Event(JobClosed{JobId(random.below(job + 1))}) : Event(WorkerHeartbeat{where});
    case 3:
      return random.chance(0.1) ? Event(JobKilled{JobId(random.below(job + 1)), "x"}) : Event(WorkerHeartbeat{where});
    case 4: {
      WorkerJoined event;
      event.node = random.chance(0.5) ? NodeId(++node) : where;
      event.host = fmt::format("h{}", small(3));
      event.rack = fmt::format("r{}", small(2));
      event.capacity.cpu = static_cast<double>(small(4));
      event.prefetch_bytes = 7 * event.node.value() % 100;
      return event;
    }
    case 5:
      if (random.chance(0.3)) return WorkerLost{where, ""};
      if (random.chance(0.2)) return WorkerLeaving{where};
      return CapacityChanged{where, schedulers::Resources{.cpu = static_cast<double>(small(4))}};
    case 6:
      return TimerFired{random.below(20)};
    case 7: {
      TaskFailed event;
      event.attempt = attempt;
      event.node = where;
      event.kind = static_cast<FailureKind>(small(8));
      if (random.chance(0.5)) event.fetch = shuffle::FetchFailure{ShuffleId(small(6)), small(5), small(4), NodeId(small(node + 2))};
      return event;
    }
    case 8: {
      const OutputReplica copy{where, JobId(random.below(job + 1)), ShuffleId(small(6)), small(5), small(4)};
      return random.chance(0.5) ? Event(OutputReplicated{copy}) : Event(ReplicaFailed{copy, "x"});
    }
    default: {
      TaskFinished event;
      event.attempt = attempt;
      event.node = where;
      event.output.resize(small(4));
      return event;
    }
  }
}

/// The core's indexes against a recount from scratch.
void check_view(const schedulers::ClusterView& view, std::uint64_t seed) {
  std::size_t running = 0;
  for (const auto& [id, node] : view.nodes()) {
    running += node.running.size();
    ASSERT_LE(node.used.cpu, node.nominal.cpu + 1e-6) << "seed " << seed;
    ASSERT_EQ(view.free_nodes().contains(id), node.usable() && node.used.cpu < node.capacity.cpu - 1e-9) << "seed " << seed;
  }
  std::size_t attempts = 0;
  for (const auto& [id, job] : view.jobs()) {
    std::uint64_t pending = 0;
    for (const auto& [stage_id, stage] : job.stages) {
      std::uint32_t counts[4] = {0, 0, 0, 0};
      for (std::uint32_t i = 0; i < stage.tasks.size(); ++i) {
        ++counts[static_cast<std::size_t>(stage.tasks[i].state)];
        ASSERT_EQ(stage.pending.contains(i), stage.tasks[i].state == schedulers::TaskState::pending) << "seed " << seed;
      }
      ASSERT_EQ(counts[1], stage.pending.count()) << "seed " << seed;
      ASSERT_EQ(counts[2], stage.running) << "seed " << seed;
      ASSERT_EQ(counts[3], stage.finished) << "seed " << seed;
      ASSERT_TRUE(stage.ready || counts[1] == 0) << "seed " << seed;
      ASSERT_EQ(job.runnable.contains(stage_id), counts[1] > 0) << "seed " << seed;
      pending += counts[1];
      attempts += counts[2] + stage.speculative.size();
    }
    ASSERT_EQ(job.pending, pending) << "seed " << seed;
    ASSERT_EQ(view.runnable_jobs().contains({job.priority, job.submitted, id}), pending > 0) << "seed " << seed;
  }
  ASSERT_EQ(running, attempts) << "seed " << seed;
}

/// What may be asked of a core in any state, and what its answers have to agree on.
void check_jobs(const Core& core, std::uint64_t seed) {
  for (const auto& [id, info] : core.view().jobs()) {
    const auto status = core.job(id, true);
    ASSERT_TRUE(status && core.explain(id)) << "seed " << seed;
    for (const StageStatus& stage : status->stages) {
      const schedulers::StageInfo& of = info.stages.at(stage.id);
      ASSERT_LE(stage.replicas, stage.finished) << "seed " << seed;
      ASSERT_EQ(of.bounds.empty() ? of.tasks.size() : of.bounds.size() - 1, of.tasks.size()) << "seed " << seed;
      std::size_t placed = 0;
      for (const auto& [node, tasks] : of.preplaced) {
        ASSERT_NE(core.view().node(node), nullptr) << "seed " << seed;
        for (const std::uint32_t task : tasks) ASSERT_EQ(of.tasks[task].preplaced, node) << "seed " << seed;
        placed += tasks.size();
      }
      const auto is_placed = [](const schedulers::TaskInfo& task) { return task.preplaced.has_value(); };
      ASSERT_EQ(placed, std::count_if(of.tasks.begin(), of.tasks.end(), is_placed)) << "seed " << seed;
      if (of.output.finished_maps() == 0) continue;
      std::uint64_t bytes = 0;
      for (const auto& [node, there] : of.output.by_node()) {
        ASSERT_TRUE(there.total() == 0 || core.view().node(node) != nullptr) << "seed " << seed;
        bytes += there.total();
      }
      ASSERT_EQ(bytes, of.output.total_bytes()) << "seed " << seed;
      ASSERT_EQ(of.output.finished_maps(), of.finished) << "seed " << seed;
    }
  }
}

CoreOptions random_options(Random& random) {
  CoreOptions options;
  options.finished_jobs_kept = 2;
  options.max_failures_per_node = 2;
  if (random.chance(0.5)) options.preplace_at = random.uniform();
  if (random.chance(0.2)) options.slow_start = random.uniform();
  if (random.chance(0.5)) options.split_bytes = 100;
  if (random.chance(0.5)) options.merge_bytes = random.below(300);
  options.speculation.on = random.chance(0.3);
  options.speculation.shortest = Time(0);
  options.speculation.every = std::chrono::seconds(1);
  return options;
}

/// Something that may happen in that state: the end of a running attempt or of a copy that was told to be made.
std::optional<Event> likely_event(Random& random, const Core& core, const std::vector<Command>& commands) {
  if (random.chance(0.3)) {
    std::vector<const ReplicateOutput*> copies;
    for (const auto& command : commands) {
      if (const auto* copy = std::get_if<ReplicateOutput>(&command)) copies.push_back(copy);
    }
    if (copies.empty()) return std::nullopt;
    const ReplicateOutput& copy = *copies[copies.size() - 1 - random.below(std::min<std::size_t>(copies.size(), 8))];
    const OutputReplica what{copy.node, copy.job, copy.shuffle, copy.output.map, copy.output.attempt};
    return random.chance(0.8) ? Event(OutputReplicated{what}) : Event(ReplicaFailed{what, "x"});
  }
  for (const auto& [id, info] : core.view().nodes()) {
    if (info.running.empty() || random.chance(0.5)) continue;
    const AttemptId attempt = *info.running.begin();
    const schedulers::JobInfo& job = *core.view().job(attempt.task.job);
    const schedulers::StageInfo& stage = job.stages.at(attempt.task.stage);
    if (random.chance(0.2) && !stage.parents.empty()) {
      const schedulers::StageInfo& input = job.stages.at(stage.parents[random.below(stage.parents.size())]);
      if (input.tasks.empty()) continue;
      const auto map = static_cast<std::uint32_t>(random.below(input.tasks.size()));
      TaskFailed failed{attempt, id, FailureKind::fetch_failed, "gone", {}};
      failed.fetch = shuffle::FetchFailure{ShuffleId(input.id.value()), map, input.tasks[map].attempt(), input.tasks[map].node};
      return failed;
    }
    TaskFinished finished;
    finished.attempt = attempt;
    finished.node = id;
    for (std::uint32_t i = 0; i < stage.output.partitions(); ++i) finished.output.push_back({random.below(1000), 1});
    finished.input_bytes = random.below(1000);
    if (random.chance(0.3)) finished.sample_histogram.assign(finished.output.size(), 1);
    return finished;
  }
  return std::nullopt;
}

TEST(RandomEvents, AnyOrderIsAppliedOrRefusedAndDeterministic) {
  std::size_t accepted = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 3000 / kShare; ++seed) {
    Random random(seed);
    const CoreOptions options = random_options(random);
    Core first(schedulers::make_scheduler("fifo").value(), options);
    Core second(schedulers::make_scheduler("fifo").value(), options);
    std::uint32_t action = 0, node = 0;
    std::uint64_t job = 0;
    std::vector<Command> first_commands, second_commands;
    for (int i = 0; i < 150; ++i) {
      // Half of the time something true: the end of a running attempt.
      Event event = random_event(random, action, node, job);
      if (random.chance(0.4)) {
        if (auto likely = likely_event(random, first, first_commands)) event = std::move(*likely);
      }
      const Time now(i * 1'000'000'000LL);
      Event copy = copy_of(event);
      const std::size_t before = first_commands.size();
      auto one = first.apply(now, std::move(event), first_commands);
      auto two = second.apply(now, std::move(copy), second_commands);
      ASSERT_EQ(one.has_value(), two.has_value()) << "seed " << seed;
      (one ? accepted : refused) += 1;
      if (!one) {
        ASSERT_EQ(first_commands.size(), before) << "seed " << seed;
        ASSERT_FALSE(one.error().message().empty());
        ASSERT_EQ(one.error().to_string(), two.error().to_string()) << "seed " << seed;
      }
      check_view(first.view(), seed);
      check_jobs(first, seed);
      if (HasFatalFailure()) return;
    }
    ASSERT_EQ(first_commands.size(), second_commands.size());
    for (std::size_t i = 0; i < first_commands.size(); ++i)
      ASSERT_EQ(to_text(first_commands[i]), to_text(second_commands[i])) << "seed " << seed;
  }
  std::printf("%zu events accepted, %zu refused\n", accepted, refused);
  EXPECT_GT(accepted, 40000 / kShare);
  EXPECT_GT(refused, 40000 / kShare);
}

}  // namespace
}  // namespace weft::master
