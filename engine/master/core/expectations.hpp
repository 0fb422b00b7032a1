// How running jobs do against their deadlines: for status requests, progress of drivers, and the master's log.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "engine/master/core/core.hpp"

namespace weft::master {

/// Of one shell and its thread. What is expected of all jobs is worked out at most once a second, however often it is asked for;
/// ten times a second at most where a job is asked for that is expected to end within ten seconds.
class Expectations {
 public:
  /// Fills in status.expected where the job runs and has a deadline. Returns a line to log when it is first expected to miss that,
  /// and when this changes.
  std::optional<std::string> add(const Core& core, Time now, JobStatus& status);
  /// The same, and logs the line.
  void add(const Core& core, Time now, JobStatus& status, const Log& log);

 private:
  bool due(Time now, JobId job) const;

  std::map<JobId, schedulers::ExpectedEnd> ends_;
  std::optional<Time> made_;
  std::map<JobId, bool> misses_;  // as was said
};

/// Of a job with a deadline that runs.
enum class Outlook : std::uint8_t { unknown, meets, misses };
Outlook outlook(const JobStatus& status);

/// One line on that, without its name: whether the deadline is expected to be met, by how much, and where it is not, what would
/// help.
std::string outlook_text(const JobStatus& status);

}  // namespace weft::master
