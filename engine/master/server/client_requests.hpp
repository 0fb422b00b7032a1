// Requests of drivers and of the command line: jobs that are submitted and run, their statuses, the workers.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/core/core_shell.hpp"
#include "engine/master/core/expectations.hpp"
#include "engine/master/journal/job_recorder.hpp"
#include "engine/master/server/binary_store.hpp"
#include "engine/master/server/callers.hpp"
#include "engine/master/server/drivers.hpp"
#include "engine/master/server/job_polls.hpp"
#include "engine/master/server/request_table.hpp"
#include "engine/master/server/running_jobs.hpp"
#include "engine/master/server/server.hpp"
#include "engine/master/server/workers.hpp"

namespace weft::master {

/// Reactor thread only.
class ClientRequests {
 public:
  /// What it works with; all of it outlives the requests.
  struct Parts {
    CoreShell& shell;
    JobRecorder& recorder;
    RunningJobs& jobs;
    const PrefetchReports& prefetched;
    Workers& workers;
    BinaryStore& binaries;
    Drivers& drivers;
    rpc::Reactor& reactor;
    const ServerOptions& options;
    const Callers& callers;
  };
  explicit ClientRequests(Parts parts) : parts_(parts) {}

  /// Adds the requests that it answers.
  void add_to(RequestTable& table);
  /// Ends the jobs of a client that is gone, but for those that are to go on without it.
  void on_close(const rpc::ConnectionPtr& connection, const Error& why);
  /// A job of the master before goes on. Its driver is waited for, or started in the cluster.
  void restore(JobId id, RunningJob job, std::optional<DriverState> driver);

  void carry_out(ActionFinished& action);
  void carry_out(JobFailed& failure);
  void carry_out(JobFinished& finished) { end_job(finished.job, false); }
  /// The master ends: what waits for an answer fails with this.
  void give_up(const Error& why) { polls_.give_up(why); }

  /// What the core and the workers say of the job.
  Result<JobStatus> status_of(JobId id, bool predict) const;

 private:
  void becomes_driver(const rpc::ConnectionPtr& connection, JobId id, RunningJob& job);
  Result<rpc::Payload> on_submit(const rpc::ConnectionPtr& connection, client::Submit submit);
  Result<JobId> begin_job(const rpc::ConnectionPtr& connection, client::Submit submit);
  /// The job of the same user with the same request id, running or ended; a submission without an id has none.
  std::optional<JobStatus> known_job(const JobOptions& options) const;
  RunningJobs::iterator job_of_submitter(const JobOptions& options);
  client::Submitted submitted(JobId id);
  Result<rpc::Payload> on_detach(const rpc::ConnectionPtr& connection, client::Detach detach);
  void on_start_driver(const rpc::ConnectionPtr& connection, const rpc::Message& message, rpc::Responder responder);
  Result<rpc::Payload> on_attach(const rpc::ConnectionPtr& connection, const client::Attach& attach);
  Result<rpc::Payload> on_run_part(JobId id, ByteView encoded);
  Result<rpc::Payload> on_record_value(const client::ValueRecord& record, ByteView bytes);
  rpc::Payload on_list_jobs(const rpc::Connection& connection);
  Result<rpc::Payload> on_job_status(JobId id);
  Result<rpc::Payload> on_explain(JobId id);
  Result<rpc::Payload> on_set_node(const client::NodeCapacity& wanted);
  void on_job_logs(const rpc::Message& message, rpc::Responder responder);
  Result<rpc::Payload> on_recorded(const client::ValueRecord& wanted);
  Result<rpc::Payload> on_close_job(JobId id);
  std::string user_of_upload(const rpc::Connection& connection, const Hash128& binary) const;
  bool may_be_taken_over(const RunningJob& job) const;
  bool has_program(const RunningJob& job) const;
  bool may_be_completed(const RunningJob& job) const;
  void await_driver(JobId id, Duration longest);
  void end_job(JobId id, bool failed);
  void place_splits(plan::PlanPart& part) const;
  Result<RunningJob*> running_job(JobId id);

  Parts parts_;
  Expectations expectations_;
  JobPolls polls_{parts_.shell, parts_.recorder, parts_.jobs, parts_.reactor, expectations_};
  Log log_{"master"};
};

}  // namespace weft::master
