// What the server promises and remembers across restarts: which ids were given, how jobs stand, and what they need to go on. With a
// journal all of it is recorded, and nobody hears of it before it is on the disk; without one, ids begin at 1 and nothing waits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "engine/master/core/core_shell.hpp"
#include "engine/master/journal/fact_recorder.hpp"
#include "engine/master/journal/journal.hpp"

namespace weft::master {

/// Reactor thread only, but for close().
class JobRecorder {
 public:
  /// `status` tells how a job that the core knows stands.
  JobRecorder(CoreShell& shell, rpc::Reactor& reactor, std::function<Result<JobStatus>(JobId)> status);
  JobRecorder(const JobRecorder&) = delete;
  JobRecorder& operator=(const JobRecorder&) = delete;

  /// Continues the journal, or begins one; `give_up` is called when it cannot be written any more. What it says of jobs and of the
  /// last master's clock is for the caller to restore; ids go on by themselves.
  Result<JournalHistory> open(const std::string& path, const JournalOptions& options, std::function<void(const Error&)> give_up);
  /// Followers get what is recorded, and answers wait until they keep all that the log has. Nothing is done without a journal. The
  /// log is not used after end().
  void replicate_to(ReplicationLog& log);
  /// A job that ran when the last master ended, at that time, and cannot go on: changes and records its status.
  void fail_orphan(JobStatus& job, Time at, const std::string& why);
  /// Whether jobs, and what workers do for them, go on after a restart of the master.
  bool keeps_jobs() const { return journal_ != nullptr; }
  /// Which series of job ids these are (runtime::protocol::Registered): that of the journal, or of this master alone.
  std::uint64_t numbering() const { return numbering_; }

  /// Ids that were never given before. A worker hears its id when no later master can give it to another (when_durable).
  JobId new_job() { return JobId(next_job_++); }
  NodeId new_node();
  bool given(JobId job) const { return job.value() < next_job_; }
  /// Nodes below that id existed once.
  void skip_nodes(NodeId first) { next_node_ = std::max(next_node_, first.value()); }

  /// Of a job that the core knows. A promise: nobody hears of it before it is on the disk.
  void record(JobId id);
  /// The same, at leisure.
  void record_progress_of(JobId id);
  /// A promise, too.
  void record(NodeSetting setting);
  /// Of a running job; a promise.
  void record(JobId job, JobFact fact);
  /// A node that has joined.
  void record(NodeFact node);
  // Bracket each event: before the core has it, and when it was accepted.
  void before(const Event& event);
  void after(const std::vector<Command>& commands);

  /// Calls `then` when all that was recorded so far is on the disk, or cannot be; at once without a journal.
  void when_durable(std::function<void(const Result<void>&)> then);
  /// For a worker's id: on a full disk it is given all the same, so that what the worker has is read. No job can begin then.
  void when_durable_or_full(std::function<void(const Result<void>&)> then);
  /// Answers when all that was recorded before is on the disk, so that a client can rely on the answer.
  void answer(std::shared_ptr<rpc::Responder> to, Result<rpc::Payload> what);
  /// The journal's disk is full, in one line: nothing that has to be promised is begun.
  std::optional<Error> full() const { return journal_ ? journal_->full() : std::nullopt; }
  /// Why nothing that is recorded now can be promised soon: full(), or what followers do not keep (ReplicationLog::obstacle).
  /// Then promises are refused with it, and questions are answered at once.
  std::optional<Error> obstacle() const;

  /// Records what is outstanding when `orderly`, and nothing after that.
  void end(bool orderly);
  /// Waits until the journal is written. Any thread but the reactor's, after that has stopped.
  void close();

 private:
  JournalMarks marks() const;
  void append(JournalRecord record, Journal::Keep keep);
  void record_status(const JobStatus& status, Journal::Keep keep);
  void record_progress();

  CoreShell& shell_;
  rpc::Reactor& reactor_;
  std::function<Result<JobStatus>(JobId)> status_;
  std::unique_ptr<Journal> journal_;  // null: none is kept
  ReplicationLog* log_ = nullptr;     // null: nobody follows
  FactRecorder facts_{shell_, [this](JournalRecord record, Journal::Keep keep) { append(std::move(record), keep); }};
  std::optional<JobId> changed_;                // whose status the present event may change
  std::uint64_t numbering_;                     // of the series of job ids
  std::uint32_t masters_ = 0;                   // that have had the journal, with this one
  std::set<JobId> unrecorded_;                  // jobs that went on since the journal heard of them
  std::unique_ptr<rpc::Timer> progress_timer_;  // until it hears of those
  Duration progress_wait_ = Duration(0);        // of the next such timer
  std::uint64_t progress_bytes_ = 0;            // of statuses recorded since it fired last
  std::uint64_t next_job_ = 1;
  std::uint32_t next_node_ = 1;
};

}  // namespace weft::master
