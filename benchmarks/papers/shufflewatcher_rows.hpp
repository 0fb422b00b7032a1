// What the rows of ShuffleWatcher share: the schedulers that are compared, the reasons of what misses its band, and gains of one
// scheduler over another.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "benchmarks/papers/experiment.hpp"
#include "benchmarks/papers/shuffle_mix.hpp"

namespace weft::papers {

// Among the jobs of a user the one submitted first goes first, under the baselines (section 2.2) and inside each kind of NASS
// (3.1).
inline const std::string kFair = "fair(pools=pools)", kDelay = "delay(inner=" + kFair + ",node_wait=5s,rack_wait=5s)",
                         kDrf = "drf(by=user)";
inline const std::string kWatcher = "shufflewatcher(mode=paper,users=" + kFair + ",jobs=arrival,samp_wait=0)";
inline const std::string kRelaxed = "shufflewatcher(mode=paper,users=" + kDelay + ",jobs=arrival,samp_wait=0)";
inline const std::string kWatcherDrf = "shufflewatcher(mode=paper,users=drf,jobs=arrival,samp_wait=0)";
inline const std::string kNassOnly = "shufflewatcher(mode=paper,users=" + kFair + ",jobs=arrival,samp_wait=0,sarp=false)";
inline const std::string kNassSarp = "shufflewatcher(mode=paper,users=" + kFair + ",jobs=arrival,samp=false)";

/// The reason stands where a figure misses its band.
Findings explained(Findings found, const char* reason);

/// What one is more than the other, as a part of the other.
inline double more(double value, double than) { return value / than - 1; }

/// Jobs finished in an hour, mean turn-around, bytes between racks for each task, and tasks finished in a second, of one scheduler
/// against another, over seeds; then which part of the jobs takes no longer.
std::vector<Estimate> gains(const Context& context, MixRuns& runs, const MixSetting& setting, const std::string& better,
                            const std::string& than);

/// That of the paper; with --quick fewer jobs.
MixSetting usual(const Context& context);

/// What is measured of the runs; each run is made once for all experiments.
using OfRuns = std::function<Findings(const Context& context, MixRuns& runs)>;
/// An experiment on the cluster of the paper. `reason`: why figures miss their bands.
Experiment on_hundred_nodes(const std::shared_ptr<MixRuns>& runs, const char* id, const char* title, OfRuns measure,
                            const char* reason);
/// The same, that takes minutes: without --long it says so and measures nothing.
Experiment long_experiment(const std::shared_ptr<MixRuns>& runs, const char* id, const char* title, OfRuns measure,
                           const char* reason);

// One source file each.
std::vector<Experiment> shufflewatcher_steps(const std::shared_ptr<MixRuns>& runs);
std::vector<Experiment> shufflewatcher_sweeps(const std::shared_ptr<MixRuns>& runs);
std::vector<Experiment> shufflewatcher_examples();

}  // namespace weft::papers
