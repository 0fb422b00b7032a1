#include "engine/master/core/bad_record_check.hpp"

#include <algorithm>

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

/// A source of which more than half makes no sense is not what the program takes it for, and its output would be nearly nothing.
std::optional<Error> mostly_bad(const StageRecord& stage) {
  if (!stage.info->complete()) return std::nullopt;
  for (const SourceRecords& source : stage.sources) {
    if (source.bad <= source.read / 2) continue;
    std::string so_many = fmt::format("{} of {} records of a source are bad, more than half", source.bad, source.read);
    if (source.bad >= source.read) so_many = fmt::format("all {} records of a source are bad", source.read);
    if (source.read == 1) so_many = "the only record of a source is bad";
    return Error(Code::user_code,
                 fmt::format("{}; the first, in {}: {}; correct the input or how it is read, or say with --max-bad-records how "
                             "many may be (100% for all)",
                             so_many, stage.title(), source.first.empty() ? "without a reason" : source.first));
  }
  return std::nullopt;
}

std::uint32_t branch_of(const plan::Stage& stage, std::uint32_t task) {
  std::uint32_t branch = 0;
  while (branch + 1 < stage.branches.size() && task >= stage.branches[branch].tasks) task -= stage.branches[branch++].tasks;
  return branch;
}

}  // namespace

std::string limit_text(const runtime::BadRecordLimit& limit) {
  return limit.percent > 0 ? fmt::format("{}%", limit.percent) : std::to_string(limit.count);
}

void count_source(StageRecord& stage, std::uint32_t task, const TaskFinished& event) {
  stage.sources.resize(std::max<std::size_t>(stage.plan.branches.size(), 1));
  SourceRecords& source = stage.sources[branch_of(stage.plan, task)];
  source.read += event.input_records;
  const runtime::BadRecords& bad = event.usage.bad_records;
  if (bad.inputs == 0) return;
  if (source.bad == 0 || task < source.first_task) {
    source.first_task = task;
    source.first = bad.examples.empty() ? std::string() : bad.examples.front();
  }
  source.bad += bad.inputs;
}

std::optional<Error> too_many_bad_records(const JobRecord& job, const StageRecord& stage) {
  const auto& limit = job.spec.options.max_bad_records;
  const std::uint64_t of_stage = stage.usage.bad_records.count;
  if (of_stage == 0) return std::nullopt;
  if (!limit) return mostly_bad(stage);
  if (limit->percent >= 100) return std::nullopt;  // one record may be bad for several reasons
  if (limit->percent == 0) {
    std::uint64_t all = 0;
    for (const auto& [id, each] : job.stages) all += each.usage.bad_records.count;
    if (all <= limit->count) return std::nullopt;
    return too_many(stage, fmt::format("{} bad {} so far", all, all == 1 ? "record" : "records"), limit_text(*limit));
  }
  const std::uint64_t read = records_of(job, stage);
  if (!stage.info->complete() || static_cast<double>(of_stage) * 100 <= limit->percent * static_cast<double>(read))
    return std::nullopt;
  return too_many(stage, fmt::format("{} of {} records of a stage are bad", of_stage, read), limit_text(*limit));
}

}  // namespace weft::master
