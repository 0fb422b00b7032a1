// The journal of a simulated master: the records of the real one, in memory, and how many of them its disk has.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/master/core/core_shell.hpp"
#include "engine/master/journal/fact_recorder.hpp"
#include "engine/master/journal/journal_fold.hpp"

namespace weft::master {

class SimulatedCluster;

class SimulatedJournal {
 public:
  explicit SimulatedJournal(SimulatedCluster& cluster) : shell_(cluster) { facts_ = recorder(); }

  // Bracket each event, which `event` is a copy of.
  void before(const Event& event) { facts_->before(event); }
  void after(const Event& event, const std::vector<Command>& commands);

  /// While its jobs were restored.
  void decided(const std::vector<Command>& commands) { facts_->after(commands); }

  std::uint64_t records() const { return frames_.size(); }
  std::uint64_t kept() const { return kept_; }
  /// All records are on the disk, and with the master that stands by.
  void keep_all() { kept_ = records(); }
  /// The master dies: its successor has that many records, those that were kept at least.
  void cut(std::uint64_t records);
  /// What its successor restores.
  Restored restored();
  /// Of everything that is kept, and of all records: a journal that is made short keeps as much of a job as it needs.
  std::uint64_t live_bytes() const { return fold_.bytes(); }

 private:
  class Shell final : public CoreShell {
   public:
    explicit Shell(SimulatedCluster& cluster) : cluster_(cluster) {}
    Time now() const override;
    Result<void> apply(Event) override { return {}; }
    const Core& core() const override;
    void note(JobId, NodeId, const shuffle::PrefetchStats&) override {}

   private:
    SimulatedCluster& cluster_;
  };

  std::unique_ptr<FactRecorder> recorder();
  void add(JournalRecord record);
  void record(JobId job, JobFact fact);

  Shell shell_;
  std::unique_ptr<FactRecorder> facts_;  // of the master that runs
  std::vector<std::string> frames_;      // by Extent::offset
  JournalFold fold_{1000};
  std::uint64_t kept_ = 0;
  std::uint32_t masters_ = 1;
};

}  // namespace weft::master
