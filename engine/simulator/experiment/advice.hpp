// What `weft advise` does: a workload under all schedulers, and which of them to use.
#pragma once

#include <optional>
#include <string>

#include "engine/simulator/experiment/experiment.hpp"
#include "engine/simulator/report/advice.hpp"

namespace weft::simulator::experiment {

struct AdviceOptions {
  /// The workload or log, and the cluster. `schedulers` are considered beside the usual ones; `seeds` are of those that may be
  /// recommended.
  Options what;
  std::string present;                        // empty: that of the log, or the default of masters
  std::optional<report::Goal> goal;           // unset: deadlines where jobs have some, otherwise the mean
  Duration budget = std::chrono::minutes(5);  // of real time: later no run begins
};

/// Simulates all schedulers once, and the present one, the default and the best of the others with the further seeds. A random
/// workload is drawn again for each seed, of any other the jobs arrive in another order. Errors are those of run().
Result<report::Advice> advise(const AdviceOptions& options, const Clock& clock, const Progress& progress);

}  // namespace weft::simulator::experiment
