// What the commands about one job share that runs.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "engine/tools/cli/options.hpp"

namespace weft::tools {

/// Prints what the job's driver and tasks print until it has ended, beginning with at most `bytes` of each log so far. A master
/// that is away is waited for. cancelled when a signal ends it, or nobody reads.
Result<void> follow_logs(const MasterOption& master, std::uint64_t job, std::uint64_t bytes);

}  // namespace weft::tools
