// Drivers that wait for an action of their job: each poll is answered when the action or the job has ended, or its wait is over.
// Results and ends are sent when they are on the disk. While the journal's disk is full, a poll whose wait is over is answered
// without the results that wait for room, so that a driver whose job runs never takes its master for dead.
#pragma once

#include <cstdint>
#include <optional>

#include "base/log.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/core/core_shell.hpp"
#include "engine/master/core/expectations.hpp"
#include "engine/master/journal/job_recorder.hpp"
#include "engine/master/server/running_jobs.hpp"

namespace weft::master {

/// Reactor thread only. What it is made of outlives it.
class JobPolls {
 public:
  JobPolls(CoreShell& shell, JobRecorder& recorder, RunningJobs& jobs, rpc::Reactor& reactor, Expectations& expectations)
      : shell_(shell), recorder_(recorder), jobs_(jobs), reactor_(reactor), expectations_(expectations) {}

  void on_poll(const rpc::Message& message, rpc::Responder responder);
  /// Answers the polls of the job that have something to report; all of them when `final`.
  void answer(JobId id, bool final);
  /// The master ends: all polls fail with this.
  void give_up(const Error& why);

 private:
  struct Answer {
    Result<rpc::Payload> reply;
    bool is_promise = true;  // it has results or an end, or says that there is no such job: it has to be on the disk
  };
  std::optional<Answer> answer_to(const client::Poll& poll, bool final);
  void send(std::shared_ptr<rpc::Responder> to, Answer answer);
  void end(JobId job, std::uint64_t poll);

  CoreShell& shell_;
  JobRecorder& recorder_;
  RunningJobs& jobs_;
  rpc::Reactor& reactor_;
  Expectations& expectations_;
  std::uint64_t next_poll_ = 1;
  Log log_{"master"};
};

}  // namespace weft::master
