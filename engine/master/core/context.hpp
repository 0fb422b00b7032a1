// What the parts of the core share: the view they keep right, the jobs, and the ways out to the scheduler and to the shell.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "engine/master/core/command_sink.hpp"
#include "engine/master/core/job_table.hpp"
#include "engine/master/core/scheduler_port.hpp"
#include "engine/master/core/scheduling_triggers.hpp"
#include "engine/master/core/timers.hpp"

namespace weft::master {

struct CoreContext {
  CoreContext(std::unique_ptr<schedulers::Scheduler> own_scheduler, const CoreOptions& core_options, SchedulerFactory factory);
  CoreContext(const CoreContext&) = delete;
  CoreContext& operator=(const CoreContext&) = delete;

  template <class C>
  void emit(C command) {
    commands.emit(std::move(command));
  }
  Time now() const { return view.now(); }
  /// "worker-3", or "node 3" for one that has no name or is gone.
  std::string node_name(NodeId node) const;
  /// See JobTable::record_reason.
  void record_reason(JobId job, std::optional<StageId> stage, std::string_view reason) {
    jobs.record_reason(job, stage, reason, view.now());
  }

  const CoreOptions options;
  schedulers::ClusterState view;
  CommandSink commands;
  Timers timers;
  SchedulingTriggers triggers;
  SchedulerPort scheduler;
  JobTable jobs;
};

}  // namespace weft::master
