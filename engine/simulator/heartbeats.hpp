// When machines report to the master and ask for tasks, and what they measure of themselves.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/simulator/master_shell.hpp"

namespace weft::simulator {

class Heartbeats {
 public:
  /// An end of an attempt that waits for the heartbeat of its machine.
  struct Report {
    Slot slot;
    std::uint32_t generation;
    master::Event event;
  };

  Heartbeats(World& world, MasterShell& master)
      : world_(world), master_(master), outbox_(world.machines.count()), uplinks_(world.machines.racks().size()) {}

  /// Puts the machine's next heartbeat on the agenda, if there are heartbeats and it lives.
  void wake(std::uint32_t machine);
  /// Wakes all machines with free capacity, when there is work.
  void wake_free();
  void report(std::uint32_t machine, Report report);
  void clear(std::uint32_t machine) { outbox_[machine].clear(); }
  /// Begins a heartbeat. Returns the ends since the last one; the caller delivers them and then calls beat(), which asks for tasks.
  std::vector<Report> begin(std::uint32_t machine);
  void beat(std::uint32_t machine);
  /// Without heartbeats: one node of each rack reports the rate of the rack's uplink when that has changed.
  void report_rates();

 private:
  Time next_beat(const Machine& machine) const;
  schedulers::Resources measured(std::uint32_t machine);
  schedulers::UplinkRate rate_of(std::uint32_t machine);

  World& world_;
  MasterShell& master_;
  std::vector<std::vector<Report>> outbox_;  // by machine
  std::vector<UplinkMeter> uplinks_;         // by rack; without heartbeats
};

}  // namespace weft::simulator
