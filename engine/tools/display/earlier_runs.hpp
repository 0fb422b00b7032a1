// A job beside those of the same program that ran before it.
#pragma once

#include <string>

#include "base/ids.hpp"
#include "engine/client/admin.hpp"

namespace weft::tools {

/// Jobs of the same name and user that were submitted before it, at most the last 20, the newest last; none when the list lacks the
/// job.
client::JobList earlier_runs(const client::JobList& jobs, JobId job);

/// "earlier runs of wordcount: 12.1 s (job 3), failed after 2.0 s (job 5); …" with the last five and the median of those that
/// finished. Empty when there is none.
std::string earlier_runs_text(const client::JobList& runs);

}  // namespace weft::tools
