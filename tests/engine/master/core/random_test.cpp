// Properties over many seeds: any faults leave a correct run, any order of events leaves a consistent core, the same events give
// the same commands.
#include <algorithm>

#include <fmt/format.h>

#include "base/sanitized.hpp"
#include "schedulers/builtin.hpp"
#include "tests/engine/master/core/core_driver.hpp"
#include "tests/engine/master/core/simulated.hpp"

namespace weft::master {
namespace {

using namespace test;

/// A random DAG: sources, then readers of earlier shuffles, then result stages of the last ones.
plan::PlanPart random_part(Random& random, std::uint32_t action, std::uint32_t& next_stage, std::vector<plan::Stage>& shuffles) {
  std::vector<plan::Stage> stages;
  const auto small = [&random](std::uint64_t most) { return static_cast<std::uint32_t>(random.below(most)); };
  const std::uint32_t count = 1 + small(4);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t partitions = 1 + small(4);
    plan::Stage stage;
    if (shuffles.empty() || random.chance(0.3)) {
      stage = source(next_stage++, small(6), partitions);
    } else {
      const plan::Stage& input = shuffles[random.below(shuffles.size())];
      stage = reader(next_stage++, {input.id.value()}, input.partitions, partitions);
      for (const auto& other : shuffles) {
        if (other.id != input.id && other.partitions == input.partitions && random.chance(0.5))
          stage.branches[0].partitioned.emplace_back(other.id.value());
        if (other.partitions == 1 && random.chance(0.3)) stage.branches[0].broadcast.emplace_back(other.id.value());
      }
      for (std::uint32_t position = 0; position < stage.branches[0].partitioned.size(); ++position) {
        if (random.chance(0.4)) stage.branches[0].splittable.push_back(position);
      }
      stage.branches[0].mergeable = random.chance(0.3);
      if (random.chance(0.2)) stage.branches.push_back({plan::BranchKind::splits, small(3), {}, {}, {}});  // a union
    }
    shuffles.push_back(stage);
    stages.push_back(std::move(stage));
  }
  const plan::Stage& last = shuffles.back();
  stages.push_back(result(reader(next_stage++, {last.id.value()}, last.partitions, 0)));
  if (random.chance(0.5)) stages.back().branches[0].splittable.push_back(0);
  plan::PlanPart made = part(action, std::move(stages));
  if (random.chance(0.5) && shuffles.size() > 1) {
    const std::size_t gone = random.below(shuffles.size());
    made.released.emplace_back(shuffles[gone].id.value());
    shuffles.erase(shuffles.begin() + static_cast<std::ptrdiff_t>(gone));
  }
  return made;
}

SimulatedOptions faulty(std::uint64_t seed) {
  Random random(seed);
  SimulatedOptions options;
  options.seed = seed;
  options.nodes = 1 + static_cast<std::uint32_t>(random.below(5));
  options.slots = 1 + static_cast<std::uint32_t>(random.below(3));
  options.racks = 1 + static_cast<std::uint32_t>(random.below(3));
  options.failure_rate = random.chance(0.5) ? 0.05 : 0;
  options.loss_rate = random.chance(0.5) ? 0.05 : 0;
  if (random.chance(0.7)) options.between_deaths = std::chrono::milliseconds(random.between(1000, 6000));
  options.core.heartbeat_timeout = std::chrono::seconds(2);
  options.hot_bytes = random.chance(0.5) ? 1u << 20 : 0;
  options.core.split_bytes = 1u << 20;
  if (random.chance(0.5)) options.core.slow_start = random.uniform() * random.uniform();
  if (random.chance(0.5)) options.core.preplace_at = random.uniform();
  if (seed % 3 > 0) options.prefetch_bytes = 1 + 7 * seed % 500;
  if (options.failure_rate == 0 && random.chance(0.5)) {
    options.core.speculation.on = true;
    options.core.speculation.shortest = std::chrono::milliseconds(100);
    options.core.speculation.every = std::chrono::milliseconds(50);
    options.straggler_rate = 0.1;
  }
  if (random.chance(0.2)) options.core.decide_every = std::chrono::milliseconds(random.between(1, 100));
  options.core.on_heartbeats = random.chance(0.2);
  return options;
}

/// Several jobs with several actions each, on a cluster with faults. Returns the cluster for what is to be looked at.
std::unique_ptr<SimulatedCluster> run_jobs(std::uint64_t seed) {
  auto cluster = std::make_unique<SimulatedCluster>(faulty(seed));
  Random random(seed + 1);
  struct Job {
    JobId id;
    std::uint32_t next_stage = 0;
    std::vector<plan::Stage> shuffles;
  };
  std::vector<Job> jobs(1 + random.below(3));
  for (auto& job : jobs) {
    JobSubmitted event;
    event.options.priority = static_cast<int>(random.below(2));
    event.options.max_attempts = 8;
    event.options.shuffle_replicas = random.chance(0.4) ? 2 : 1;
    job.id = cluster->submit(std::move(event));
  }
  for (std::uint32_t action = 0; action < 3; ++action) {
    for (auto& job : jobs) cluster->extend(job.id, random_part(random, action, job.next_stage, job.shuffles));
    EXPECT_TRUE(cluster->run(std::chrono::hours(1))) << "seed " << seed << ": stuck in action " << action;
    if (::testing::Test::HasFailure()) return cluster;
    cluster->settle();
  }
  for (auto& job : jobs) cluster->close(job.id);
  return cluster;
}

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

constexpr std::uint64_t kShare = kSanitized ? 15 : 1;  // of the seeds: sanitizers take so many times as long

TEST(SimulatedRuns, EveryActionEndsWithEveryResultWhateverFails) {
  std::uint64_t zombies = 0, finished = 0, failed = 0, moved = 0;
  for (std::uint64_t seed = 1; seed <= 1500 / kShare; ++seed) {
    auto cluster = run_jobs(seed);
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
    ASSERT_EQ(cluster->core().view().used(), schedulers::Resources()) << "seed " << seed;
    for (const auto& [id, node] : cluster->core().view().nodes()) ASSERT_TRUE(node.running.empty()) << "seed " << seed;
    ASSERT_TRUE(cluster->core().view().runnable_jobs().empty()) << "seed " << seed;
  }
  EXPECT_GT(zombies, 0u);
  EXPECT_GT(moved, 100 / kShare);
  EXPECT_GT(finished, 1000 / kShare);
  EXPECT_LT(failed, finished / 50);
}

TEST(SimulatedRuns, TheSameSeedGivesTheSameEventsAndCommands) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    auto first = run_jobs(seed);
    auto second = run_jobs(seed);
    ASSERT_EQ(first->event_lines(), second->event_lines()) << "seed " << seed;
    ASSERT_EQ(first->command_log(), second->command_log()) << "seed " << seed;
  }
}

TEST(SimulatedRuns, TheSameEventsGiveAnotherCoreTheSameCommands) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    auto cluster = run_jobs(seed);
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
