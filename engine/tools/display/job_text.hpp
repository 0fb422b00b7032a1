// Jobs as text for people and as JSON for programs. All functions are pure; times are those of the master's clock.
#pragma once

#include <string>
#include <vector>

#include "engine/master/protocol/protocol.hpp"

namespace weft::tools {

// Text, ready to be printed (job_text.cpp).
std::string jobs_table(const client::JobList& jobs);
std::string job_text(const master::JobStatus& job, Duration now);
std::string counters_table(const master::JobStatus& job);
std::string explanation_text(const master::JobExplanation& job);
/// Whose log it is: "w1", "driver on w1".
std::string title_of(const client::JobLog& log);
std::string logs_text(const std::vector<client::JobLog>& logs);

// JSON with a line end (job_json.cpp).
std::string jobs_json(const client::JobList& jobs);
std::string job_json(const master::JobStatus& job, Duration now);
std::string counters_json(const master::JobStatus& job);
std::string explanation_json(const master::JobExplanation& job);
std::string logs_json(const std::vector<client::JobLog>& logs);
/// Of a job that was killed on request.
std::string submitted_json(std::uint64_t job);
std::string killed_json(std::uint64_t job);

// Words and times that both use.
/// "done", "running", "pending" or "waiting for its input". Of a job that is over, what was not done is "failed" where attempts
/// failed and the job did, "cancelled" where others had begun, and "not run".
std::string stage_state(const master::JobStatus& job, const master::StageStatus& stage);
/// How long the job has run, or ran.
Duration age(const master::JobStatus& job, Duration now);
/// How long the stage has run since its first task was launched, or ran; 0: none was.
Duration stage_age(const master::JobStatus& job, const master::StageStatus& stage, Duration now);
/// From now, or from the job's end, to its deadline; negative when it is missed. The job must have one.
Duration time_to_deadline(const master::JobStatus& job, Duration now);

}  // namespace weft::tools
