// Jobs as text for people and as JSON for programs.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "engine/client/protocol.hpp"

namespace weft::cli {

std::string jobs_table(const client::JobList& jobs);
std::string jobs_json(const client::JobList& jobs);
std::string job_text(const master::JobStatus& job, Duration now);
std::string job_json(const master::JobStatus& job, Duration now);
std::string counters_table(const master::JobStatus& job);
std::string counters_json(const master::JobStatus& job);
std::string explanation_text(const client::Explanation& explanation);
std::string explanation_json(const client::Explanation& explanation);
std::string logs_text(const std::vector<client::JobLog>& logs);
std::string logs_json(const std::vector<client::JobLog>& logs);
/// As an object.
void add_ahead(JsonWriter& json, const shuffle::PrefetchStats& ahead);

}  // namespace weft::cli
