// Machines as nodes of the master's cluster: how they join, die and come back, and their capacity over time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/simulator/tasks.hpp"

namespace weft::simulator {

class Nodes {
 public:
  /// `service`: null where machines have none.
  Nodes(World& world, MasterShell& master, Transfers& transfers, Attempts& attempts, Outputs& outputs, Heartbeats& heartbeats,
        Tasks& tasks, ShuffleService* service)
      : world_(world),
        master_(master),
        transfers_(transfers),
        attempts_(attempts),
        outputs_(outputs),
        heartbeats_(heartbeats),
        tasks_(tasks),
        service_(service),
        deaths_(world.model.seed, 1) {}

  /// All join, and the faults and changes of the model are put on the agenda.
  void start();
  void fault(const NodeFault& fault);
  void next_death();
  void repair(std::uint32_t machine);
  /// The machine that had that node has been silent for too long.
  void silence(std::uint32_t machine, NodeId node);
  void set_availability(std::size_t step);
  std::uint64_t deaths() const { return count_; }

 private:
  void join(std::uint32_t machine);
  void die(std::uint32_t machine, bool silent, Time repair);
  void lose(std::uint32_t machine, std::string reason);
  void report_capacity(std::uint32_t machine);
  std::vector<schedulers::CapacityStep> forecast(std::uint32_t machine) const;
  schedulers::Resources capacity_of(std::uint32_t machine) const;
  void update_capacity();

  World& world_;
  MasterShell& master_;
  Transfers& transfers_;
  Attempts& attempts_;
  Outputs& outputs_;
  Heartbeats& heartbeats_;
  Tasks& tasks_;
  ShuffleService* service_;
  Random deaths_;
  std::uint64_t count_ = 0;
};

}  // namespace weft::simulator
