// Connects a core with the history of its jobs: plans get profiles before the core sees them, and the history learns from every
// finished task. A shell of the core calls it around each event. The core knows only what its events hold, so that its log replays
// without a history.
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

  /// To be called before the core applies the event. Fills in PlanExtended::profiles, and takes a sample of TaskFinished. Returns a
  /// line for the log if there are profiles of another version.
  std::optional<std::string> before(master::Time now, const schedulers::ClusterView& view, master::Event& event);
  /// To be called after the core accepted the event, with its commands. `unix_seconds`: the time of the sample.
  void after(const schedulers::ClusterView& view, const std::vector<master::Command>& commands, std::int64_t unix_seconds);

 private:
  struct Running {
    std::map<StageId, StageIdentity> stages;
    std::map<AttemptId, double> reading;  // bytes of shuffles, by attempt
    bool warned = false;                  // of profiles of another version
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
