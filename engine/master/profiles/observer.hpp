// Connects a core with the history of its jobs: plans are given what history says before the core sees them, and history learns
// from every task that finishes. A shell of the core calls it around each event; the core itself knows only what its events hold,
// so that its log replays without a history.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/master/core/events.hpp"
#include "engine/master/profiles/history.hpp"

namespace weft::profiles {

/// One thread, that of the core.
class Observer {
 public:
  explicit Observer(History& history) : history_(history) {}

  /// Before the core applies the event: fills in what PlanExtended::profiles lacks, and takes a sample of TaskFinished. The text,
  /// if there is one, is for the log: profiles that are of no use.
  std::optional<std::string> before(master::Time now, const schedulers::ClusterView& view, master::Event& event);
  /// After it: what came of the event, which was not refused. `unix_seconds` dates what is learned.
  void after(const schedulers::ClusterView& view, const std::vector<master::Command>& commands, std::int64_t unix_seconds);

 private:
  struct Running {
    std::map<StageId, StageIdentity> stages;
    std::map<AttemptId, double> reading;  // bytes of shuffles, by attempt
    bool told = false;                    // of profiles of another version
  };
  struct Finished {
    AttemptId attempt;
    TaskSample sample;
    std::optional<Duration> predicted;
  };

  std::optional<std::string> plan(const schedulers::ClusterView& view, master::PlanExtended& event);
  void sample(master::Time now, const schedulers::ClusterView& view, const master::TaskFinished& event);

  History& history_;
  std::map<JobId, Running> jobs_;
  std::optional<Finished> finished_;  // between before() and after()
};

}  // namespace weft::profiles
