// Jobs and workers of an event log in the structures of a master's answers, and a job as one file.
#pragma once

#include <string>
#include <vector>

#include "engine/master/protocol/protocol.hpp"
#include "engine/tools/history/history.hpp"
#include "engine/tools/history/past_jobs.hpp"

namespace weft::web {

/// Without stages; "now" is the log's last line.
client::JobList jobs_of(const history::LoggedJobs& past);
client::JobList job_of(const history::EventHistory& history, const history::LoggedJob& job);
/// The workers of the last master; lost ones are marked dead.
std::vector<client::NodeStatus> nodes_of(const history::LoggedJobs& past);

/// A page that shows one job, with everything inside that it needs: it opens without a server.
std::string report_html(const history::EventHistory& history, const history::LoggedJob& job);

}  // namespace weft::web
