#include "engine/master/journal/journaled_job.hpp"

#include <algorithm>
#include <utility>

namespace weft::master {

namespace {

struct Add {
  JournaledJob& job;
  void operator()(SubmissionFact& fact) const { job.submission = std::move(fact); }
  /// A follower may have been sent it twice.
  void operator()(PartFact& fact) const {
    if (std::find(job.parts.begin(), job.parts.end(), fact.part) == job.parts.end()) job.parts.push_back(std::move(fact.part));
  }
  void operator()(ValueFact& fact) const { job.values[fact.action] = std::move(fact.value); }
  void operator()(ShapeFact& fact) const { job.shapes[fact.stage] = std::move(fact); }
  void operator()(LaunchFact& fact) const { job.launches.push_back(fact); }
  void operator()(FailureFact& fact) const { job.failures.push_back(fact); }
  void operator()(FinishFact& fact) const { job.finishes.push_back(std::move(fact)); }
  void operator()(DriverFact& fact) const { job.driver = std::move(fact); }
};

}  // namespace

void JournaledJob::add(JobFact fact) { std::visit(Add{*this}, fact); }

Result<client::Submit> submit_of(const JournaledJob& job) {
  if (!job.submission) return fail(Code::not_found, "its submission is not recorded");
  rpc::Message message;
  message.header = Buffer::copy_of(as_bytes(job.submission->submit));
  return client::decode<client::Submit>(message);
}

Result<ResumedJob> resume(JournaledJob& job, std::uint32_t masters) {
  ResumedJob resumed;
  WEFT_ASSIGN(resumed.submit, submit_of(job));
  const JobId id = job.status.id;
  RestoredJob& core = resumed.core;
  core.submitted = job.submission->at;
  WEFT_ASSIGN(core.submission, submission(id, resumed.submit.name, resumed.submit.options, core.submitted));
  core.slow_start = job.submission->slow_start;
  const auto since = [masters](std::uint32_t then) { return masters - std::min(masters, then); };
  core.restarts = since(job.submission->masters);
  for (const std::string& part : job.parts) {
    WEFT_ASSIGN(plan::PlanPart decoded, plan::decode_part(as_bytes(part)));
    core.parts.push_back(std::move(decoded));
  }
  for (const auto& [stage, shape] : job.shapes) core.shapes.push_back(shape_of(shape));
  for (FinishFact& fact : job.finishes) {
    WEFT_ASSIGN(RestoredEnd end, end_of(id, std::move(fact)));
    end.restarts = since(fact.masters);
    core.finished.push_back(std::move(end));
  }
  for (const LaunchFact& fact : job.launches)
    core.launched.push_back({{{id, fact.stage, fact.task}, fact.attempt}, fact.node, fact.at, since(fact.masters), fact.next});
  for (const FailureFact& fact : job.failures)
    core.failures[{id, fact.stage, fact.task}] = {fact.attempt, fact.count, since(fact.masters), fact.next};
  core.last = job.status;
  return resumed;
}

}  // namespace weft::master
