// What the master takes of a job, beside the bounds of its plan (plan::validate()), and says of all jobs: no record of its journal
// may be longer than the next master reads, and no list of jobs longer than a message, whatever one of them contains.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/master/server/running_jobs.hpp"

namespace weft::master {

/// invalid_argument says what is too long.
Result<void> check_submission(const client::Submit& submit);
/// Of one more part of its plan, encoded. invalid_argument, too.
Result<void> check_part(std::size_t bytes, const RunningJob& job);

inline constexpr std::size_t kMostListBytes = 32u << 20;

/// Of a list that would be longer, jobs that take more than their share lose their counters, their options and most of their texts.
/// Whoever asks for such a job alone has all of it.
void shorten(std::vector<JobStatus>& jobs, std::size_t most = kMostListBytes);

}  // namespace weft::master
