// One simulated run: a workload on a cluster under a scheduler, through the very master core of real clusters.
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

/// What the master is told beside what the run makes.
struct ToldEvent {
  Time at{0};
  std::optional<std::uint32_t> machine;  // whose heartbeat it is; left out while the machine is not there
  master::Event event;
};

struct RunOptions {
  /// Learns from the tasks of the run, and says what it knows of each job that arrives. It must outlive the call.
  profiles::History* history = nullptr;
  Time series_step{0};  // 0: no series
  Time fairness_window = std::chrono::seconds(60);
  std::optional<Time> until;  // the run ends here at the latest; else when all jobs have ended
  /// Called for each event the master accepted, in order (event_log.hpp makes log lines of them).
  std::function<void(Time, const master::Event&)> on_event;
  /// Called for each command the master gave, after the event it came of.
  std::function<void(Time, const master::Command&)> on_command;
  std::vector<ToldEvent> told;         // ascending
  master::SchedulerFactory factory{};  // for the configurations of the scheduler among them
};

/// Deterministic: equal arguments give equal events, decisions and results (but for the real times). The workload must outlive the
/// call. Jobs that cannot run on this cluster are refused in the result. invalid_argument: the model or the workload makes no
/// sense.
Result<RunResult> simulate(const Workload& workload, const ClusterModel& model, std::unique_ptr<schedulers::Scheduler> scheduler,
                           const RunOptions& options = {});

}  // namespace weft::simulator
