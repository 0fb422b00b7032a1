// How attempts fetch map outputs: all at once when the inputs are complete, or in batches while maps still run (slow start).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/simulator/attempts.hpp"
#include "engine/simulator/shuffle_service.hpp"

namespace weft::simulator {

/// Adds up what a fetch draws from each machine. To be used again: emptying it costs only the machines that were added.
class SourceSums {
 public:
  explicit SourceSums(std::uint32_t machines) : bytes_(machines) {}
  void add(std::uint32_t machine, double bytes);
  void clear();
  /// The sources, by machine; it is empty afterwards.
  std::vector<Source> take();

 private:
  std::vector<double> bytes_;  // by machine
  std::vector<std::uint32_t> machines_;
};

class Readers {
 public:
  /// What comes after reading.
  class Next {
   public:
    virtual ~Next() = default;
    /// The attempt has all that it reads.
    virtual void work(Slot slot) = 0;
    virtual void fail(Slot slot, master::FailureKind kind, std::string message, std::optional<shuffle::FetchFailure> fetch) = 0;
  };

  /// `service`: null where machines have none.
  Readers(World& world, Attempts& attempts, ShuffleService* service, Next& next)
      : world_(world), attempts_(attempts), service_(service), next_(next), drawn_(world.machines.count()) {}

  void begin(Slot slot);
  /// The prefetcher has answered for all inputs.
  void taken(Slot slot, std::uint32_t generation) {
    if (attempts_.find(slot, generation) != nullptr) fetch_more(slot);
  }
  /// Fetches every output that is there, or lets the attempt wait.
  void fetch_more(Slot slot);
  /// Its move has ended.
  void fetched(Slot slot);
  void stop_waiting(Slot slot);
  /// The outputs of the stage are complete: its waiting readers fetch them without a poll.
  void go_on(const JobRun& job, const StageRun& stage);
  /// All waiting readers ask which further maps have ended. They do so at the same times, because many flows that start together
  /// cost little more than one.
  void poll();
  /// The machine is dead: an attempt that fetches from it waits until the maps have run again, or fails.
  void refetch(Slot slot, std::uint32_t machine);

 private:
  void take_prefetched(Slot slot);
  bool gather(Slot slot);
  std::optional<shuffle::FetchFailure> gather(Attempt& attempt, Fetch::Input& input, const StageRun& stage, double bytes);
  void gather_whole(Fetch::Input& input, const StageRun& stage, double bytes);
  std::optional<shuffle::FetchFailure> under_way_from(Attempt& attempt, std::uint32_t machine);
  void give_up(Attempt& attempt, std::uint32_t machine);
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
  SourceSums drawn_;             // scratch
};

}  // namespace weft::simulator
