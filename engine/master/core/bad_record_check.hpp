// Whether a job has more bad records than it bears.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "engine/master/core/records.hpp"

namespace weft::master {

/// As --max-bad-records takes it: "1000", "0.1%".
std::string limit_text(const runtime::BadRecordLimit& limit);

/// Adds what a task, whose counters count, reported of the records of its source.
void count_source(StageRecord& stage, std::uint32_t task, const TaskFinished& event);

/// To be asked when a task of the stage has finished: a number of records is exceeded at once, a part of them is known when the
/// stage is complete. The error names the limit, the stage and an example. Of a job that says nothing of the limit, a source more
/// than half of whose records are bad is too much: all tasks of the stage are counted before that is judged, so that it depends on
/// the input alone. The error names the first bad record of the input.
std::optional<Error> too_many_bad_records(const JobRecord& job, const StageRecord& stage);

}  // namespace weft::master
