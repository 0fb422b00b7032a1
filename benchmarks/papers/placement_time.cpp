// How long a control cycle of the Reverse-Adaptive scheduler takes: Polo's thesis, section 5.3.5.1.
#include <chrono>
#include <cmath>
#include <ctime>
#include <utility>

#include <fmt/core.h>

#include "base/random.hpp"
#include "benchmarks/measure.hpp"
#include "benchmarks/papers/experiment.hpp"
#include "schedulers/builtin.hpp"
#include "schedulers/view/state.hpp"

namespace weft::papers {
namespace {

using std::chrono::seconds;

/// Processor time of a control cycle, in milliseconds, in the mean of some.
double cycle_millis(std::uint32_t nodes, std::uint32_t jobs, int cycles) {
  using namespace schedulers;
  struct Nobody final : Decisions {
    Result<void> launch(const TaskId&, NodeId, std::string_view) override { return {}; }
    Result<void> preempt(const AttemptId&, std::string_view) override { return {}; }
    Result<void> preplace(const TaskId&, NodeId, std::string_view) override { return {}; }
    void hold(JobId, std::optional<StageId>, std::string_view) override {}
    void wake_at(Time) override {}
  } nobody;
  Random random(1);
  ClusterState state;
  for (std::uint32_t i = 1; i <= nodes; ++i) {
    NodeInfo node;
    node.id = NodeId(i);
    node.capacity = node.nominal = {.cpu = 4};
    for (int step = 0; step < 96; ++step)
      node.forecast.push_back({std::chrono::minutes(15 * step), {.cpu = std::round(2 + 1.2 * std::sin(step * 0.065))}});
    state.add_node(std::move(node), fmt::format("h{}", i), "r", {});
  }
  for (std::uint32_t i = 1; i <= jobs; ++i) {
    JobInfo info;
    info.id = JobId(i);
    info.deadline = std::chrono::minutes(30 + random.below(20 * 60));
    JobInfo& job = state.add_job(std::move(info));
    StageInfo stage;
    stage.demand = {.cpu = 1};
    stage.estimated_duration = seconds(120 + static_cast<int>(random.below(600)));
    state.set_ready(job, state.add_stage(job, std::move(stage), 30 + static_cast<std::uint32_t>(random.below(60)), {}), true);
  }
  Registry registry;
  bench::need(register_builtin_schedulers(registry));
  Composition parts = bench::need(registry.compose("reverse_adaptive", {}));
  (void)parts.jobs->start(state, nullptr);
  timespec begin{}, end{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  for (int i = 0; i < cycles; ++i) {
    state.set_now(seconds(30 * i));
    parts.jobs->tick(state, nobody);
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return (static_cast<double>(end.tv_sec - begin.tv_sec) * 1e3 + static_cast<double>(end.tv_nsec - begin.tv_nsec) * 1e-6) / cycles;
}

Findings placement_time(const Context& context) {
  const Band band = context.quick ? Band{} : at_most(50);
  return {{{"100 nodes, 1,000 jobs, ms a cycle", "milliseconds", single(cycle_millis(100, 1000, 10)), Unit::number, band},
           {"100 nodes, 3,000 jobs", "milliseconds", single(cycle_millis(100, 3000, 5)), Unit::number, {}},
           {"1,000 nodes, 1,000 jobs", "none", single(cycle_millis(1000, 1000, 5)), Unit::number, band}}};
}

}  // namespace

std::vector<Experiment> placement_time_experiments() {
  return {{"RV-9", "How long a placement takes", "Polo, Multi-constraint scheduling of MapReduce workloads, 2014, section 5.3",
           "nodes of four slots with a forecast of a day; processor time", "times have no bound: other tests run beside",
           placement_time}};
}

}  // namespace weft::papers
