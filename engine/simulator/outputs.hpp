// Map outputs: their places, which of them are gone, and their replicas on other machines.
#pragma once

#include <cstdint>

#include "engine/simulator/master_shell.hpp"
#include "engine/simulator/shuffle_service.hpp"
#include "engine/simulator/transfers.hpp"

namespace weft::simulator {

class Outputs {
 public:
  /// `service`: null where machines have none.
  Outputs(World& world, MasterShell& master, Transfers& transfers, ShuffleService* service)
      : world_(world), master_(master), transfers_(transfers), service_(service) {}

  /// The output of the attempt is the latest of its map. True when readers that wait for the stage can go on at once.
  bool add(StageRun& stage, const Attempt& attempt);
  /// The master regards the output as lost, and runs the map again.
  void lost(JobRun& job, const shuffle::FetchFailure& failure);
  void machine_gone(std::uint32_t machine);

  void replicate(const master::ReplicateOutput& command);
  /// The replica takes the place of the output. True: as for add().
  bool move(StageRun& stage, const master::OutputMoved& command);

 private:
  bool place(StageRun& stage, const Output& output);
  static void remove(StageRun& stage, std::uint32_t position);
  void replicated(const master::OutputReplica& copy, std::uint32_t to, std::uint64_t bytes, bool whole);

  World& world_;
  MasterShell& master_;
  Transfers& transfers_;
  ShuffleService* service_;
};

}  // namespace weft::simulator
