// Whether a job has more bad records than it bears.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "engine/master/core/records.hpp"

namespace weft::master {

/// To be asked when a task of the stage has finished: a number of records is exceeded at once, a part of them is known when the
/// stage is complete. The error names the limit, the stage and the first example.
std::optional<Error> too_many_bad_records(const JobRecord& job, const StageRecord& stage);

}  // namespace weft::master
