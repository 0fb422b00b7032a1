// One simulated run: a workload on a cluster under a scheduler, through the master core of real clusters.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "base/result.hpp"
#include "engine/master/core/core.hpp"
#include "engine/master/profiles/history.hpp"
#include "engine/simulator/cluster_model.hpp"
#include "engine/simulator/result.hpp"
#include "engine/simulator/workload.hpp"
#include "schedulers/view/scheduler.hpp"

namespace weft::simulator {

/// An event that does not come from the simulated world, such as a measurement of a recorded run.
struct InjectedEvent {
  Time at{0};
  std::optional<std::uint32_t> machine;  // that it is from; the event is dropped while the master does not know that machine
  master::Event event;
};

struct RunOptions {
  /// Learns from the tasks of the run, and gives profiles to the jobs that arrive. It must outlive the call.
  profiles::History* history = nullptr;
  Time series_step{0};  // 0: no series
  Time fairness_window = std::chrono::seconds(60);
  std::optional<Time> until;  // the run ends here at the latest; unset: when all jobs have ended
  /// Called for each event that the master accepted, in order (event_log.hpp makes log lines of them).
  std::function<void(Time, const master::Event&)> on_event;
  /// Called for each command of the master, after the event that caused it.
  std::function<void(Time, const master::Command&)> on_command;
  std::vector<InjectedEvent> injected;  // ascending
  master::SchedulerFactory factory{};   // for the configurations of the scheduler among them
};

/// Deterministic: equal arguments give equal events, decisions and results, except the real times. The workload must outlive the
/// call. Jobs that cannot run on this cluster are refused in the result. invalid_argument: the model or the workload is impossible.
Result<RunResult> simulate(const Workload& workload, const ClusterModel& model, std::unique_ptr<schedulers::Scheduler> scheduler,
                           const RunOptions& options = {});

}  // namespace weft::simulator
