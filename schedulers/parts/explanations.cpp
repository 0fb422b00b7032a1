#include "schedulers/parts/explanations.hpp"

namespace weft::schedulers {

namespace {

constexpr std::string_view kNoCapacity = "no free node has room for its tasks";

}  // namespace

void Explanations::on_event(const Notice& notice) {
  if (notice.kind == Notice::Kind::job_ended || notice.kind == Notice::Kind::job_changed) without_capacity_.erase(notice.job);
}

void Explanations::begin_call() {
  muted_ = false;  // the call before may have been cut off
  skipped_.clear();
}

void Explanations::hold(JobId job, std::optional<StageId> stage, std::string_view reason) {
  if (muted_) return;
  without_capacity_.erase(job);  // this reason is newer
  call_.decisions->hold(job, stage, reason);
}

void Explanations::hold_by_policy(JobId job, std::string_view reason) {
  if (!skipped_.contains(job)) hold(job, std::nullopt, reason);
}

void Explanations::no_capacity(JobId job) {
  if (!muted_ && without_capacity_.insert(job).second) call_.decisions->hold(job, std::nullopt, kNoCapacity);
}

void Explanations::at_limit(JobId job, std::optional<StageId> stage) {
  if (call_.last_pass) hold(job, stage, "the job keeps to its share");
}

void Explanations::skipped(JobId job) {
  if (!muted_) skipped_.insert(job);
}

void Explanations::not_launched(const JobInfo& job, const StageInfo& stage, Locality allowed) {
  const bool placed = finder_.placed_by_part(job, stage);
  if (finder_.kept_reservations() && !stage.preplaced.empty()) {
    hold(job.id, stage.id, "waits for room on the nodes that its input is brought to");
  } else if (finder_.fits_nowhere(stage.demand) || (allowed == Locality::any && !placed)) {
    hold(job.id, stage.id, kNoCapacity);
  } else if (placed) {
    hold(job.id, stage.id, "waits for a node nearer to what it reads");
    parts_.placement->waiting(*call_.view, job, stage, *call_.decisions);
  } else {
    hold(job.id, stage.id,
         allowed == Locality::node ? "waits for room on a node that holds its input"
                                   : "waits for room in a rack that holds its input");
  }
}

}  // namespace weft::schedulers
