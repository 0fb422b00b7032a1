// The server's journal: what is recorded and when, what waits for it, and what a restarted master makes of it.
#include <fmt/core.h>

#include "engine/master/server_impl.hpp"

namespace weft::master {

namespace {

/// How late the progress of a job may be recorded: that, and so much that a second's progress of all jobs is 256 KiB.
constexpr Duration kProgress = std::chrono::milliseconds(250);
constexpr Duration kPerByte = std::chrono::nanoseconds(std::chrono::seconds(1)) / (256 << 10);

Time unix_now() { return std::chrono::system_clock::now().time_since_epoch(); }

/// The job that the event is about and whose status it may change.
struct ChangedJob {
  using Job = std::optional<JobId>;
  Job operator()(const PlanExtended& event) const { return event.job; }
  Job operator()(const TaskFinished& event) const { return event.attempt.task.job; }
  Job operator()(const TaskFailed& event) const { return event.attempt.task.job; }
  Job operator()(const OutputReplicated& event) const { return event.copy.job; }
  Job operator()(const CopyFailed& event) const { return event.copy.job; }
  template <class Other>
  Job operator()(const Other&) const {
    return std::nullopt;
  }
};

void end_by_restart(JobStatus& job, Time at) {
  job.state = JobState::failed;
  job.error = "the master was restarted";
  job.ended = at;
  for (StageStatus& stage : job.stages) {
    stage.running = stage.speculating = 0;
    stage.waiting = false;
    stage.reason.clear();
  }
}

}  // namespace

/// A restarted master keeps the history; what ran when the last one ended has lost its driver and its workers.
Result<void> ServerImpl::recover(Core& core) {
  WEFT_ASSIGN(JournalFile file,
              JournalFile::open(options_.journal, {options_.core.finished_jobs_kept, options_.journal_checkpoint_bytes}));
  JournalHistory history = file.history();
  journal_ = std::make_unique<Journal>(std::move(file), *reactor_, [this](const Error& why) { give_up(why); });
  next_job_ = history.marks.next_job;
  next_node_ = history.marks.next_node;
  // The clock goes on, over the time without a master too.
  const Time away = history.marks.at == Time(0) ? Time(0) : std::max(Time(0), unix_now() - history.marks.unix_time);
  started_ -= history.marks.at + away;
  for (JobStatus& job : history.running) {
    end_by_restart(job, history.marks.at);
    record_status(job, false);
  }
  if (!history.running.empty()) log_.warn("{} jobs ran when the last master ended; they failed with it", history.running.size());
  std::move(history.running.begin(), history.running.end(), std::back_inserter(history.ended));
  core.restore(now(), std::move(history.ended));
  return {};
}

JournalMarks ServerImpl::marks() const { return {now(), unix_now(), next_job_, next_node_}; }

void ServerImpl::record_status(const JobStatus& status, bool promised) {
  JournalRecord record{marks(), status.id, status.state != JobState::running, encode_status(status), false};
  progress_bytes_ += record.status.size();
  journal_->append(std::move(record), promised);
}

/// Of a job that the core knows. A promise: nobody hears of it before it is on the disk.
void ServerImpl::record_job(JobId id) {
  if (!journal_) return;
  unrecorded_.erase(id);
  if (const auto status = status_of(id, false)) record_status(*status, true);
}

void ServerImpl::record_progress_of(JobId id) {
  if (!journal_) return;
  unrecorded_.insert(id);
  if (!progress_timer_) progress_timer_ = reactor_->after(progress_wait_, [this] { record_progress(); });
}

void ServerImpl::record_progress() {
  progress_timer_.reset();
  progress_bytes_ = 0;
  for (const JobId id : std::exchange(unrecorded_, {}))
    if (const auto status = status_of(id, false)) record_status(*status, false);
  progress_wait_ = std::max(kProgress, kPerByte * static_cast<std::int64_t>(progress_bytes_));
}

void ServerImpl::end_journal() {
  if (!failed_) record_progress();
  progress_timer_.reset();
  journal_->end();
}

/// What an event that was accepted, and what came of it, leave in the journal.
void ServerImpl::record_outcome(std::optional<JobId> changed, const std::vector<Command>& commands) {
  if (!journal_) return;
  if (changed) record_progress_of(*changed);
  for (const Command& command : commands) {
    if (const auto* finished = std::get_if<JobFinished>(&command)) record_job(finished->job);
    if (const auto* failed = std::get_if<JobFailed>(&command)) record_job(failed->job);
    if (std::holds_alternative<NodeLost>(command))
      for (const auto& [id, job] : (*core_)->view().jobs()) record_progress_of(id);
  }
}

std::optional<JobId> ServerImpl::changed_job(const Event& event) { return std::visit(ChangedJob{}, event); }

/// A worker hears its id when no later master can give it to another.
NodeId ServerImpl::new_node() {
  const NodeId id(next_node_++);
  if (journal_) journal_->append({marks(), std::nullopt, false, {}, false}, true);
  return id;
}

void ServerImpl::when_durable(std::function<void(const Result<void>&)> then) {
  if (journal_) return journal_->when_durable(std::move(then));
  then({});
}

/// Clients are told what they can rely on, whatever becomes of this master.
void ServerImpl::answer(std::shared_ptr<rpc::Responder> to, Result<rpc::Payload> what) {
  when_durable([to = std::move(to), what = std::make_shared<Result<rpc::Payload>>(std::move(what))](const Result<void>& kept) {
    if (!kept) return to->fail(kept.error());
    *what ? to->reply(std::move(**what)) : to->fail(what->error());
  });
}

}  // namespace weft::master
