// Makes facts for the journal out of the events of a core and the commands that they lead to.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "engine/master/core/core_shell.hpp"
#include "engine/master/journal/job_facts.hpp"
#include "engine/master/journal/journal.hpp"

namespace weft::master {

/// Reactor thread only. before() and after() bracket each event; after() is for events that the core accepted.
class FactRecorder {
 public:
  using Record = std::function<void(JournalRecord record, Journal::Keep keep)>;
  FactRecorder(CoreShell& shell, Record record) : shell_(shell), record_(std::move(record)) {}

  void before(const Event& event);
  void after(const std::vector<Command>& commands);

 private:
  struct Finishing {
    JobId job;
    FinishFact fact;
  };
  struct Failing {
    AttemptId attempt;
    std::uint32_t counted = 0;
  };
  void record(JobId job, JobFact fact, Journal::Keep keep);
  void record_finish(Finishing& finishing);
  void record_failure(const Failing& failing);
  void record_shape(JobId job, StageId stage);
  void record_launch(const LaunchTask& launch);

  CoreShell& shell_;
  Record record_;
  std::variant<std::monostate, Finishing, Failing> event_;
  std::set<std::pair<JobId, StageId>> shaped_;  // stages whose shape is recorded
};

}  // namespace weft::master
