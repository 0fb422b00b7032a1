// Drives a core. Server, embedded engine and simulator give it events; it is the one place that knows what happens around each:
// what is observed, recorded and logged, and in which order.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/master/core/core.hpp"
#include "engine/master/core/core_shell.hpp"
#include "engine/master/journal/job_recorder.hpp"
#include "engine/master/log/event_recorder.hpp"
#include "engine/master/profiles/observer.hpp"
#include "engine/master/scheduling/guarded_core.hpp"

namespace weft::master {

/// One thread. The order for each event: the observer fills in what history says of it, the log notes it, the core applies it; when
/// it was accepted the observer learns from it, the journal records it, the log notes its commands, and these are carried out. So
/// nothing is carried out that the journal did not record. The log is written before that, or after it when all lines that wait are
/// of single attempts. A command may lead to further events at once.
class CoreDriver final : public CoreShell {
 public:
  /// What differs between the places where a core runs.
  class BackEnd {
   public:
    virtual ~BackEnd() = default;
    /// The core's clock.
    virtual Time now() const = 0;
    /// Of the calendar, for what is learned from finished tasks; 0: they are not dated.
    virtual std::int64_t unix_seconds() const { return 0; }
    virtual void carry_out(Command& command) = 0;
    /// The event goes to the core next.
    virtual void before(const Event&) {}
    /// The event was accepted and recorded; its commands are carried out next.
    virtual void accepted(const std::vector<Command>&) {}
    /// The scheduler threw, or was cut off. Once for each event in which it did; all that was decided before stands.
    virtual void scheduler_failed(const SchedulerFaults&) {}
    /// The scheduler does not return. The driver has ended with this error, and core() must not be used.
    virtual void stuck(const Error&) {}
    /// Something that the log of the process should have: stored profiles that are of no use.
    virtual void inform(const std::string&) {}
    /// Lines of single attempts wait to be written to the event log; others were written before the commands were carried out.
    /// True: they will be soon. Otherwise they are written now.
    virtual bool flush_log_later() { return false; }
    /// The event log cannot be written, for a while or for good. Events are applied all the same.
    virtual void log_failed(const Error&) {}
  };

  /// `back_end` must outlive the driver.
  explicit CoreDriver(BackEnd& back_end) : back_end_(back_end) {}

  // Before the first event. Each is optional, and must outlive the driver.
  void observe_with(profiles::Observer& observer) { observer_ = &observer; }
  void journal_to(JobRecorder& journal) { journal_ = &journal; }
  /// `heartbeat`: how often workers report.
  void log_to(EventLog log, Time heartbeat = Time(0)) { log_.emplace(std::move(log)), heartbeat_ = heartbeat; }
  /// The log is to have a node that was restored, and joined at that time.
  void log_restored(Time joined, const WorkerJoined& node) {
    if (log_) check_log(log_->restored(now(), joined, node));
  }
  /// Writes what waits for the event log.
  void flush_log() {
    if (log_) check_log(log_->flush(now()));
  }
  /// Null: there is none.
  EventRecorder* event_log() { return log_ ? &*log_ : nullptr; }
  /// The error of something that was written to it.
  void check_log(const Result<void>& written);
  /// Before the first event. `timeout`: of a call of the scheduler, which is then on a thread of its own; nothing: it is trusted.
  void begin(std::unique_ptr<Core> core, std::optional<Duration> timeout) { core_.emplace(std::move(core), timeout); }
  /// Refuses every later event with this error.
  void end(const Error& why) { ended_ = why; }

  Time now() const override { return back_end_.now(); }
  Result<void> apply(Event event) override;
  const Core& core() const override { return **core_; }
  void note(JobId job, NodeId node, const shuffle::PrefetchStats& prefetched) override;

  /// Nothing: events are applied.
  const std::optional<Error>& ended() const { return ended_; }
  LogPlace log_began() const { return log_ ? log_->began() : LogPlace(); }

 private:
  void report_faults();

  BackEnd& back_end_;
  std::optional<scheduling::GuardedCore> core_;
  std::optional<Error> ended_;
  profiles::Observer* observer_ = nullptr;
  JobRecorder* journal_ = nullptr;
  std::optional<EventRecorder> log_;
  Time heartbeat_{0};
  std::vector<Command> spare_;  // empty, with the memory of earlier commands
  std::uint64_t faults_ = 0;    // of the scheduler, that the back end knows
};

}  // namespace weft::master
