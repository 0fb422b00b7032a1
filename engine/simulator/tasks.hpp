// The life of an attempt on its machine: read input, fetch shuffles, work, write, report.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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
  /// Gives the end of an attempt to the master.
  void deliver(Slot slot, master::Event event);

  // What happens to attempts.
  void flow_ended(Slot slot);
  void work_done(Slot slot, std::uint32_t generation);
  void worked(Slot slot);
  /// The same for a machine with contention: the attempts that have done their work by now, if it is still that turn.
  void works_done(std::uint32_t machine, std::uint64_t turn);
  Readers& readers() { return readers_; }

  /// `speed`: that of the machine from now on, as a multiple of its group's.
  void change_speed(std::uint32_t machine, double speed);

  // When a machine dies, in this order.
  /// Its attempts do nothing more.
  void stall(std::uint32_t machine);
  /// Attempts that read their input there read it elsewhere. Those that fetch from there wait until the maps have run again, or
  /// fail.
  void source_gone(std::uint32_t machine);
  /// The master knows: its attempts end.
  void machine_lost(std::uint32_t machine);

 private:
  void work(Slot slot) override;
  void fail(Slot slot, master::FailureKind kind, std::string message, std::optional<shuffle::FetchFailure> fetch = {}) override;

  void note_speculating(Slot slot);
  void draw_faults(Attempt& attempt);
  void count_locality(const JobRun& job, const Attempt& attempt);
  std::uint32_t nearest_replica(const Attempt& attempt, std::span<const std::uint32_t> replicas) const;
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
