#include "engine/master/core/bad_record_check.hpp"

#include <fmt/format.h>

namespace weft::master {
namespace {

/// What a stage read: of files and ranges, and of shuffles.
std::uint64_t records_of(const JobRecord& job, const StageRecord& stage) {
  std::uint64_t records = stage.records_read;
  for (StageId input : stage.inputs) records += job.stages.at(input).records_written;
  return records;
}

Error too_many(const StageRecord& stage, const std::string& how_many, const std::string& limit) {
  const auto& examples = stage.usage.bad_records.examples;
  return {Code::user_code, fmt::format("{}, more than --max-bad-records {} allows; one of {}: {}", how_many, limit, stage.title(),
                                       examples.empty() ? "without a reason" : examples.front())};
}

}  // namespace

std::optional<Error> too_many_bad_records(const JobRecord& job, const StageRecord& stage) {
  const auto& limit = job.spec.max_bad_records;
  const std::uint64_t of_stage = stage.usage.bad_records.count;
  if (!limit || of_stage == 0) return std::nullopt;
  if (limit->percent == 0) {
    std::uint64_t all = 0;
    for (const auto& [id, each] : job.stages) all += each.usage.bad_records.count;
    if (all <= limit->count) return std::nullopt;
    return too_many(stage, fmt::format("{} bad {} so far", all, all == 1 ? "record" : "records"), std::to_string(limit->count));
  }
  const std::uint64_t read = records_of(job, stage);
  if (!stage.info->complete() || static_cast<double>(of_stage) * 100 <= limit->percent * static_cast<double>(read))
    return std::nullopt;
  return too_many(stage, fmt::format("{} of {} records of a stage are bad", of_stage, read), fmt::format("{}%", limit->percent));
}

}  // namespace weft::master
