// How fast the core is. Printed, not asserted: speed is no property of a test.
#include <chrono>
#include <utility>

#include "base/sanitized.hpp"
#include "schedulers/builtin.hpp"
#include "tests/engine/master/core/core_driver.hpp"

namespace weft::master {
namespace {

using namespace test;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Joins nodes, runs the part in waves without the driver's bookkeeping, returns the number of events.
std::size_t run_all(Core& core, std::vector<Command>& commands, std::size_t next) {
  std::size_t events = 0;
  for (; next < commands.size(); ++next) {
    const auto* launch = std::get_if<LaunchTask>(&commands[next]);
    if (launch == nullptr) continue;
    const AttemptId attempt = launch->attempt;
    const NodeId node = launch->node;
    const std::uint32_t partitions = launch->spec.output_partitions;
    TaskFinished finished;
    finished.attempt = attempt;
    finished.node = node;
    finished.output.assign(partitions, {1000, 10});
    finished.counters["records"] = 10;
    EXPECT_TRUE(core.apply(Time(static_cast<std::int64_t>(next)), std::move(finished), commands));
    ++events;
  }
  return events;
}

void measure(const char* what, std::uint32_t nodes, double slots, plan::PlanPart plan_part, bool with_hosts) {
  Core core(schedulers::make_scheduler("fifo").value(), {});
  std::vector<Command> commands;
  for (std::uint32_t i = 1; i <= nodes; ++i) {
    WorkerJoined event;
    event.node = NodeId(i);
    event.host = fmt::format("host-{}", i);
    event.rack = fmt::format("rack-{}", i % 10);
    event.capacity.cpu = slots;
    ASSERT_TRUE(core.apply(Time(0), std::move(event), commands));
  }
  if (with_hosts) {
    auto& branch = plan_part.stages[0].branches[0];
    for (std::uint32_t i = 0; i < branch.tasks; ++i) {
      storage::Split split{"f", i, 1, {}};
      for (std::uint32_t r = 0; r < 3; ++r) split.hosts.push_back(fmt::format("host-{}", 1 + (i * 7 + r * 13) % nodes));
      branch.splits.push_back({std::move(split)});
    }
  }
  JobSubmitted job;
  job.job = JobId(1);
  ASSERT_TRUE(core.apply(Time(0), std::move(job), commands));
  const auto start = std::chrono::steady_clock::now();
  const std::size_t from = commands.size();
  ASSERT_TRUE(core.apply(Time(0), PlanExtended{JobId(1), std::move(plan_part)}, commands));
  const std::size_t events = run_all(core, commands, from);
  const double elapsed = seconds_since(start);
  std::printf("%s: %zu events in %.3f s, %.0f events/s\n", what, events, elapsed, static_cast<double>(events) / elapsed);
  ASSERT_FALSE(core.jobs().empty());
  ASSERT_TRUE(
      std::any_of(commands.begin(), commands.end(), [](const Command& c) { return std::holds_alternative<ActionFinished>(c); }));
}

TEST(CoreThroughput, IsPrinted) {
  measure("20,000 no-op tasks on 2 nodes", 2, 2, part(0, {result(source(0, 20000, 0))}), false);
  if (kSanitized) return;  // the code is the same, and nobody wants the figures
  measure("20,000 tasks with replicas on 100 nodes", 100, 8, part(0, {result(source(0, 20000, 0))}), true);
  measure("20,000 maps of 20 partitions, 20 reduces", 20, 8, part(0, {source(0, 20000, 20), result(reader(1, {0}, 20, 0))}), true);
  measure("200,000 no-op tasks on 1000 nodes", 1000, 4, part(0, {result(source(0, 200000, 0))}), false);
}

TEST(CoreThroughput, LossOfANodeIsPrinted) {
  constexpr std::uint32_t kMaps = kSanitized ? 20'000 : 200'000;
  Core core(schedulers::make_scheduler("fifo").value(), {});
  std::vector<Command> commands;
  for (std::uint32_t i = 1; i <= 2; ++i) {
    WorkerJoined event;
    event.node = NodeId(i);
    event.host = fmt::format("host-{}", i);
    event.capacity.cpu = kMaps;
    ASSERT_TRUE(core.apply(Time(0), std::move(event), commands));
  }
  JobSubmitted job;
  job.job = JobId(1);
  ASSERT_TRUE(core.apply(Time(0), std::move(job), commands));
  ASSERT_TRUE(core.apply(Time(0), PlanExtended{JobId(1), part(0, {source(0, kMaps, 1), result(reader(1, {0}, 1, 0))})}, commands));
  for (const Command& command : std::exchange(commands, {})) {
    const auto* launch = std::get_if<LaunchTask>(&command);
    if (launch == nullptr || launch->attempt.task.index == 0) continue;  // the last one is not waited for
    TaskFinished finished;
    finished.attempt = launch->attempt;
    finished.node = launch->node;
    finished.output.push_back({launch->attempt.task.index % 1000, 1});
    ASSERT_TRUE(core.apply(Time(0), std::move(finished), commands));
  }
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(core.apply(Time(0), WorkerLost{NodeId(2), "test"}, commands));
  std::printf("%u maps, half of them on a node that is lost: %.3f s\n", kMaps, seconds_since(start));
}

}  // namespace
}  // namespace weft::master
