#include "engine/master/journal/job_recorder.hpp"

#include <utility>

#include "base/unguessable.hpp"
#include "runtime/protocol/worker.hpp"

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

void end_by_restart(JobStatus& job, Time at, const std::string& why) {
  job.state = JobState::failed;
  job.error = why;
  job.ended = at;
  job.tasks.running = 0;
  for (StageStatus& stage : job.stages) {
    stage.running = stage.speculating = 0;
    stage.waiting = false;
    stage.reason.clear();
  }
}

}  // namespace

JobRecorder::JobRecorder(CoreShell& shell, rpc::Reactor& reactor, std::function<Result<JobStatus>(JobId)> status)
    : shell_(shell),
      reactor_(reactor),
      status_(std::move(status)),
      numbering_(unguessable_number() | 2) {}  // unlike 0 and kKeptNumbering

Result<JournalHistory> JobRecorder::open(const std::string& path, const JournalOptions& options,
                                         std::function<void(const Error&)> give_up) {
  WEFT_ASSIGN(JournalFile file, JournalFile::open(path, options));
  WEFT_ASSIGN(JournalHistory history, file.history());
  masters_ = ++history.masters;
  if (history.numbering != 0) {
    numbering_ = history.numbering;
  } else if (history.marks.next_job > 1) {  // an earlier release has begun the series, and named it so to workers
    numbering_ = runtime::protocol::kKeptNumbering;
  }
  JournalRecord another;  // on the disk before anything is decided: numbers of attempts depend on it
  another.marks = history.marks;
  another.masters = masters_;
  another.cluster = options.cluster;
  another.numbering = numbering_;
  WEFT_TRY(file.commit_first(another));
  journal_ = std::make_unique<Journal>(std::move(file), reactor_, std::move(give_up));
  next_job_ = history.marks.next_job;
  next_node_ = history.marks.next_node;
  return history;
}

void JobRecorder::replicate_to(ReplicationLog& log) {
  if (!journal_) return;
  log_ = &log;
  journal_->replicate_to(log);
  log.add([this](auto then) { journal_->snapshot(std::move(then)); });
}

void JobRecorder::fail_orphan(JobStatus& job, Time at, const std::string& why) {
  end_by_restart(job, at, why);
  record_status(job, Journal::Keep::needed);
}

JournalMarks JobRecorder::marks() const { return {shell_.now(), unix_now(), next_job_, next_node_}; }

void JobRecorder::record_status(const JobStatus& status, Journal::Keep keep) {
  JournalRecord record{marks(), status.id, status.state != JobState::running, encode_status(status)};
  progress_bytes_ += record.status.size();
  journal_->append(std::move(record), keep);
}

void JobRecorder::record(JobId id) {
  if (!journal_) return;
  unrecorded_.erase(id);
  if (const auto status = status_(id)) record_status(*status, Journal::Keep::promised);
}

void JobRecorder::record(NodeSetting setting) {
  JournalRecord record;
  record.setting = std::move(setting);
  append(std::move(record), Journal::Keep::promised);
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
    if (const auto status = status_(id)) record_status(*status, Journal::Keep::lazily);
  progress_wait_ = std::max(kProgress, kPerByte * static_cast<std::int64_t>(progress_bytes_));
}

void JobRecorder::end(bool orderly) {
  if (!journal_) return;
  log_ = nullptr;
  if (orderly) record_progress();
  progress_timer_.reset();
  journal_->end();
}

void JobRecorder::close() {
  if (journal_) journal_->close();
}

void JobRecorder::before(const Event& event) {
  if (!journal_) return;
  changed_ = std::visit(ChangedJob{}, event);
  facts_.before(event);
}

void JobRecorder::after(const std::vector<Command>& commands) {
  if (!journal_) return;
  facts_.after(commands);
  if (changed_) record_progress_of(*changed_);
  for (const Command& command : commands) {
    if (const auto* finished = std::get_if<JobFinished>(&command)) record(finished->job);
    if (const auto* failed = std::get_if<JobFailed>(&command)) record(failed->job);
    if (std::holds_alternative<NodeLost>(command))
      for (const auto& [id, job] : shell_.core().view().jobs()) record_progress_of(id);
  }
}

void JobRecorder::append(JournalRecord record, Journal::Keep keep) {
  if (!journal_) return;
  record.marks = marks();
  if (record.fact) date(*record.fact, masters_);
  journal_->append(std::move(record), keep);
}

void JobRecorder::record(JobId job, JobFact fact) {
  JournalRecord record;
  record.job = job;
  record.fact = std::move(fact);
  append(std::move(record), Journal::Keep::promised);
}

void JobRecorder::record(NodeFact node) {
  JournalRecord record;
  record.node = std::move(node);
  append(std::move(record), Journal::Keep::needed);
}

NodeId JobRecorder::new_node() {
  const NodeId id(next_node_++);
  append({}, Journal::Keep::promised);
  return id;
}

void JobRecorder::when_durable(std::function<void(const Result<void>&)> then) {
  if (!journal_) return then({});
  if (log_ == nullptr) return journal_->when_durable(std::move(then));
  // Not only what the journal has: also programs, and what was learned of them.
  journal_->when_durable([this, number = log_->appended(), then = std::move(then)](const Result<void>& written) {
    if (!written || log_ == nullptr) return then(written);
    log_->when_kept(number, then);
  });
}

std::optional<Error> JobRecorder::obstacle() const {
  auto why = full();
  if (!why && journal_ && log_ != nullptr) why = log_->obstacle();
  return why;
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
