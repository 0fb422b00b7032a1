// The life of an attempt on its machine: read input, fetch shuffles, work, write, report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/simulator/attempts.hpp"
#include "engine/simulator/heartbeats.hpp"
#include "engine/simulator/outputs.hpp"
#include "engine/simulator/readers.hpp"

namespace weft::simulator {

class Tasks final : Readers::Next {
 public:
  enum class End : std::uint8_t { useful, failed, lost, preempted, redundant };

  /// `service`: null where machines have none.
  Tasks(World& world, MasterShell& master, Transfers& transfers, Attempts& attempts, Outputs& outputs, Heartbeats& heartbeats,
        ShuffleService* service)
      : world_(world),
        master_(master),
        transfers_(transfers),
        attempts_(attempts),
        outputs_(outputs),
        heartbeats_(heartbeats),
        service_(service),
        readers_(world, attempts, service, *this) {}

  void launch(const master::LaunchTask& command);
  void end(Slot slot, End outcome);
  /// The end of an attempt, to the master.
  void deliver(Slot slot, master::Event event);

  // What happens to attempts.
  void flow_ended(Slot slot);
  void work_done(Slot slot, std::uint32_t generation);
  void worked(Slot slot);
  /// Of a machine whose tasks share what it has.
  void works_done(std::uint32_t machine, std::uint64_t turn);
  Readers& readers() { return readers_; }

  /// The machine is so many times as fast as its group from now on.
  void change_speed(std::uint32_t machine, double speed);
  // A machine dies: its attempts do nothing more; who reads from it reads elsewhere; at last the master knows.
  void stall(std::uint32_t machine);
  void source_gone(std::uint32_t machine);
  void machine_lost(std::uint32_t machine);

 private:
  void work(Slot slot) override;
  void fail(Slot slot, master::FailureKind kind, std::string message, std::optional<shuffle::FetchFailure> fetch = {}) override;

  void join_race(Slot slot);
  void befall(Attempt& attempt);
  void count_locality(const JobRun& job, const Attempt& attempt);
  void read_input(Slot slot);
  const schedulers::Resources& load_of(const Attempt& attempt);
  void write_while_working(Slot slot);
  void write_output(Slot slot);
  void written(Slot slot);
  void keep_output(const Attempt& attempt);
  void drop_prefetched(const Attempt& attempt);
  void report(Slot slot, master::Event event);

  World& world_;
  MasterShell& master_;
  Transfers& transfers_;
  Attempts& attempts_;
  Outputs& outputs_;
  Heartbeats& heartbeats_;
  ShuffleService* service_;
  Readers readers_;
};

}  // namespace weft::simulator
