#include "engine/master/journal/job_recorder.hpp"

#include <utility>

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
  Job operator()(const OutputReplicated& event) const { return event.replica.job; }
  Job operator()(const ReplicaFailed& event) const { return event.replica.job; }
  template <class Other>
  Job operator()(const Other&) const {
    return std::nullopt;
  }
};

void end_by_restart(JobStatus& job, Time at) {
  job.state = JobState::failed;
  job.error = "the master was restarted";
  job.ended = at;
  job.running_tasks = 0;
  for (StageStatus& stage : job.stages) {
    stage.running = stage.speculating = 0;
    stage.waiting = false;
    stage.reason.clear();
  }
}

}  // namespace

Result<JournalHistory> JobRecorder::open(const std::string& path, const JournalOptions& options,
                                         std::function<void(const Error&)> give_up) {
  WEFT_ASSIGN(JournalFile file, JournalFile::open(path, options));
  JournalHistory history = file.history();
  journal_ = std::make_unique<Journal>(std::move(file), reactor_, std::move(give_up));
  next_job_ = history.marks.next_job;
  next_node_ = history.marks.next_node;
  return history;
}

void JobRecorder::fail_orphans(std::vector<JobStatus>& jobs, Time at) {
  for (JobStatus& job : jobs) {
    end_by_restart(job, at);
    record_status(job, false);
  }
}

JournalMarks JobRecorder::marks() const { return {shell_.now(), unix_now(), next_job_, next_node_}; }

void JobRecorder::record_status(const JobStatus& status, bool promised) {
  JournalRecord record{marks(), status.id, status.state != JobState::running, encode_status(status)};
  progress_bytes_ += record.status.size();
  journal_->append(std::move(record), promised);
}

void JobRecorder::record(JobId id) {
  if (!journal_) return;
  unrecorded_.erase(id);
  if (const auto status = status_(id)) record_status(*status, true);
}

void JobRecorder::record(NodeSetting setting) {
  if (journal_) journal_->append({.marks = marks(), .setting = std::move(setting)}, true);
}

void JobRecorder::record_progress_of(JobId id) {
  if (!journal_) return;
  unrecorded_.insert(id);
  if (!progress_timer_) progress_timer_ = reactor_.after(progress_wait_, [this] { record_progress(); });
}

void JobRecorder::record_progress() {
  progress_timer_.reset();
  progress_bytes_ = 0;
  for (const JobId id : std::exchange(unrecorded_, {}))
    if (const auto status = status_(id)) record_status(*status, false);
  progress_wait_ = std::max(kProgress, kPerByte * static_cast<std::int64_t>(progress_bytes_));
}

void JobRecorder::end(bool orderly) {
  if (!journal_) return;
  if (orderly) record_progress();
  progress_timer_.reset();
  journal_->end();
}

void JobRecorder::close() {
  if (journal_) journal_->close();
}

void JobRecorder::record_outcome(std::optional<JobId> changed, const std::vector<Command>& commands) {
  if (!journal_) return;
  if (changed) record_progress_of(*changed);
  for (const Command& command : commands) {
    if (const auto* finished = std::get_if<JobFinished>(&command)) record(finished->job);
    if (const auto* failed = std::get_if<JobFailed>(&command)) record(failed->job);
    if (std::holds_alternative<NodeLost>(command))
      for (const auto& [id, job] : shell_.core().view().jobs()) record_progress_of(id);
  }
}

std::optional<JobId> JobRecorder::changed_job(const Event& event) { return std::visit(ChangedJob{}, event); }

NodeId JobRecorder::new_node() {
  const NodeId id(next_node_++);
  if (journal_) journal_->append({.marks = marks()}, true);
  return id;
}

void JobRecorder::when_durable(std::function<void(const Result<void>&)> then) {
  if (journal_) return journal_->when_durable(std::move(then));
  then({});
}

void JobRecorder::when_durable_or_full(std::function<void(const Result<void>&)> then) {
  if (journal_) return journal_->when_durable_or_full(std::move(then));
  then({});
}

void JobRecorder::answer(std::shared_ptr<rpc::Responder> to, Result<rpc::Payload> what) {
  when_durable([to = std::move(to), what = std::make_shared<Result<rpc::Payload>>(std::move(what))](const Result<void>& kept) {
    if (!kept) return to->fail(kept.error());
    *what ? to->reply(std::move(**what)) : to->fail(what->error());
  });
}

}  // namespace weft::master
