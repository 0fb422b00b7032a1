// What drivers and the command line ask of the server: jobs that are submitted and run, how they stand, what the workers are. Each
// request is answered once what the answer promises is on the disk; a poll when there is something to tell, or its wait is over.
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
#include "engine/master/server/running_jobs.hpp"
#include "engine/master/server/server.hpp"
#include "engine/master/server/worker_connections.hpp"

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
    WorkerConnections& workers;
    BinaryStore& binaries;
    rpc::Reactor& reactor;
    const ServerOptions& options;
  };
  explicit ClientRequests(Parts parts) : parts_(parts) {}

  /// Polls and requests for logs, which are answered later: true when it was one.
  bool answer_later(const rpc::Message& message, rpc::Responder& responder);
  /// The answer to any other request.
  Result<rpc::Payload> answer(const rpc::ConnectionPtr& connection, const rpc::Message& message);
  /// Kills the jobs of a client that is gone.
  void on_close(const rpc::ConnectionPtr& connection);

  void carry_out(ActionFinished& action);
  void carry_out(JobFailed& failure);
  void carry_out(JobFinished& finished) { end_job(finished.job); }
  /// Nobody is kept waiting for what will not come.
  void give_up(const Error& why);

  /// What the core and the workers say of the job.
  Result<JobStatus> status_of(JobId id, bool predict) const;

 private:
  Result<rpc::Payload> on_submit(const rpc::ConnectionPtr& connection, const rpc::Message& message);
  Result<rpc::Payload> on_upload(const rpc::Message& message);
  Result<rpc::Payload> on_run_part(const rpc::Message& message);
  Result<rpc::Payload> on_record_value(const rpc::Message& message);
  rpc::Payload on_list_jobs();
  Result<rpc::Payload> on_job_status(const rpc::Message& message);
  Result<rpc::Payload> on_explain(const rpc::Message& message);
  Result<rpc::Payload> on_list_nodes();
  void on_poll(const rpc::Message& message, rpc::Responder responder);
  void on_job_logs(const rpc::Message& message, rpc::Responder responder);
  std::optional<Result<rpc::Payload>> poll_answer(const client::Poll& poll, bool final);
  void answer_polls(JobId id, bool final);
  void end_poll(JobId job, std::uint64_t poll);
  void end_job(JobId id);
  void place_splits(plan::PlanPart& part) const;
  Result<RunningJob*> running_job(JobId id);

  Parts parts_;
  Expectations expectations_;
  std::uint64_t next_poll_ = 1;
  Log log_{"master"};
};

}  // namespace weft::master
