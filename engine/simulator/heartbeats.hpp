// When machines report to the master and ask for tasks, and what they say they use.
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

  /// The machine's next heartbeat is put down, where there are heartbeats and it lives.
  void wake(std::uint32_t machine);
  /// All machines with room, when there is work.
  void wake_free();
  void report(std::uint32_t machine, Report report);
  void clear(std::uint32_t machine) { outbox_[machine].clear(); }
  /// A heartbeat begins: what has ended since the last one, to be delivered before beat(), which asks for tasks.
  std::vector<Report> begin(std::uint32_t machine);
  void beat(std::uint32_t machine);
  /// Without heartbeats, a node of each rack tells the rate of all of it when it has changed.
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
