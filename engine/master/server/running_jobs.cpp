#include "engine/master/server/running_jobs.hpp"

#include <cstddef>
#include <utility>

#include "engine/master/journal/journaled_job.hpp"

namespace weft::master {

RunningJob running_job(const JournaledJob& job, ResumedJob& resumed) {
  RunningJob running;
  running.submit = std::move(resumed.submit);
  running.key = job.submission->key;
  running.block_key = job.submission->block_key;
  running.slots = job.submission->slots;
  for (std::size_t i = 0; i < job.parts.size(); ++i)
    running.parts[resumed.core.parts[i].action] = Buffer::copy_of(as_bytes(job.parts[i]));
  for (const auto& [action, value] : job.values) {
    running.values[action] = SharedBytes(Buffer::copy_of(as_bytes(value)));
    running.value_bytes += value.size();
  }
  return running;
}

std::set<ProgramId> programs_of(const RunningJobs& jobs) {
  std::set<ProgramId> programs;
  for (const auto& [id, job] : jobs) programs.insert(program_of(job.submit));
  return programs;
}

}  // namespace weft::master
