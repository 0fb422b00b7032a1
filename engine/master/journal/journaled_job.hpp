// A job that ran when the last master ended, as its journal has it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/master/journal/journal_record.hpp"
#include "engine/master/protocol/protocol.hpp"

namespace weft::master {

struct JournaledJob {
  JobStatus status;  // as it was recorded last
  std::optional<SubmissionFact> submission;
  std::vector<std::string> parts;  // plan::encode()
  std::map<ActionId, std::string> values;
  std::map<StageId, ShapeFact> shapes;
  std::vector<LaunchFact> launches;
  std::vector<FailureFact> failures;
  std::vector<FinishFact> finishes;
  std::optional<DriverFact> driver;

  void add(JobFact fact);
};

/// What goes on: the job for the core, and what its driver said.
struct ResumedJob {
  RestoredJob core;
  client::Submit submit;
};

/// Errors as of resume().
Result<client::Submit> submit_of(const JournaledJob& job);
/// `masters`: that the journal has had, with this one. Takes what it needs of the job. Errors: what of its record is missing, or
/// cannot be read by this release.
Result<ResumedJob> resume(JournaledJob& job, std::uint32_t masters);

}  // namespace weft::master
