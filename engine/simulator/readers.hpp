// How attempts get at map outputs: all at once when the inputs are complete, or in batches while maps still run (slow start).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/simulator/attempts.hpp"
#include "engine/simulator/shuffle_service.hpp"

namespace weft::simulator {

class Readers {
 public:
  /// What comes after.
  class Next {
   public:
    virtual ~Next() = default;
    /// It has all that it reads.
    virtual void work(Slot slot) = 0;
    virtual void fail(Slot slot, master::FailureKind kind, std::string message, std::optional<shuffle::FetchFailure> fetch) = 0;
  };

  /// `service`: null where machines have none.
  Readers(World& world, Attempts& attempts, ShuffleService* service, Next& next)
      : world_(world), attempts_(attempts), service_(service), next_(next), from_(world.machines.count()) {}

  void begin(Slot slot);
  /// Everything that is there by now, or nothing when it is to wait.
  void fetch_more(Slot slot);
  /// Its move has ended.
  void fetched(Slot slot);
  void stop_waiting(Slot slot);
  /// The outputs of the stage are complete, and its readers need not ask.
  void go_on(const JobRun& job, const StageRun& stage);
  /// All waiting readers ask which further maps have ended, at the same times: a moment in which many flows start costs little
  /// more than one.
  void poll();
  /// The machine is gone: who fetched from it waits for the maps to be done again, or fails.
  void refetch(Slot slot, std::uint32_t machine);

 private:
  void take_prefetched(Slot slot);
  bool gather(Slot slot, std::vector<Source>& sources);
  bool one_by_one() const { return world_.model.shuffle.mode.has_value(); }
  bool start_fetch(Slot slot);
  bool start_last(Slot slot);
  static void itemize(Fetch::Input& input, const StageRun& stage);
  void wait(Slot slot);
  void poll_later();
  double bytes_of(const JobRun& job, const Attempt& attempt, const StageRun& input) const;

  World& world_;
  Attempts& attempts_;
  ShuffleService* service_;
  Next& next_;
  std::uint64_t waiting_ = 0;
  bool polling_ = false;
  std::vector<Source> sources_;  // scratch
  std::vector<double> from_;     // scratch: bytes by machine
};

}  // namespace weft::simulator
