// Statuses of jobs for tests of the journal.
#pragma once

#include <string>
#include <vector>

#include "engine/master/journal/journal_record.hpp"

namespace weft::master::test {

/// With every kind of member set. `state` other than running: it ended.
inline JobStatus job_status(std::uint64_t id, JobState state, std::uint32_t finished = 3) {
  JobStatus status;
  status.id = JobId(id);
  status.name = "job " + std::to_string(id);
  status.user = "alice";
  status.pool = "etl";
  status.state = state;
  status.submitted = Time(1000 + id);
  status.priority = -2;
  status.deadline = Time(77);
  status.counters = {{"records", static_cast<std::int64_t>(id)}, {"words", -1}};
  status.shuffle_bytes = 11;
  status.input_bytes = 12;
  status.input_records = 13;
  StageStatus& stage = status.stages.emplace_back();
  stage.id = StageId(4);
  stage.name = "reduce_by_key (a.cpp:14)";
  stage.tasks = 9;
  stage.finished = finished;
  stage.failed_attempts = 1;
  status.prefetch.read_bytes = 5;
  if (state == JobState::running) return status;
  status.ended = Time(2000 + id);
  if (state != JobState::finished) status.error = "why";
  return status;
}

inline std::string text_of(const JobStatus& status) { return encode_status(status); }

inline JournalRecord record_of(const JobStatus& status) {
  JournalMarks marks;
  marks.at = Time(3000 + status.id.value());
  marks.next_job = status.id.value() + 1;
  marks.next_node = 7;
  return {marks, status.id, status.state != JobState::running, encode_status(status), false};
}

inline std::vector<JournalRecord> records_of(const std::vector<JobStatus>& jobs) {
  std::vector<JournalRecord> records;
  for (const JobStatus& job : jobs) records.push_back(record_of(job));
  return records;
}

}  // namespace weft::master::test
