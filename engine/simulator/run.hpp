// A simulated run: its clock. It passes what happens, and what the master commands, to the part concerned.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "engine/simulator/drivers.hpp"
#include "engine/simulator/nodes.hpp"
#include "engine/simulator/services.hpp"
#include "engine/simulator/tasks.hpp"

namespace weft::simulator {

class Run final : MasterShell::Hands {
 public:
  Run(const Workload& workload, const ClusterModel& model, std::unique_ptr<schedulers::Scheduler> scheduler,
      const RunOptions& options);
  RunResult run();

 private:
  bool step();
  void flows_end();
  void happen(const AgendaEvent& event);
  void heartbeat(std::uint32_t machine);
  void pass_to(Time now);

  void carry_out(const master::Command& command) override;
  template <class Command>
  void obey(const Command& command);
  void kill(const master::KillTask& command);
  void job_refused(JobId job, std::string error) override;
  void output_lost(JobId job, const shuffle::FetchFailure& failure) override;
  void work_waits() override { heartbeats_.wake_free(); }

  World world_;
  Services services_;  // outlives what holds its rooms
  Transfers transfers_;
  MasterShell master_;
  Drivers drivers_;
  Heartbeats heartbeats_;
  Attempts attempts_;
  Outputs outputs_;
  Tasks tasks_;
  Nodes nodes_;
  std::vector<FlowNetwork::Flow> ended_;
  std::vector<std::pair<Slot, std::uint32_t>> ended_slots_;
};

}  // namespace weft::simulator
