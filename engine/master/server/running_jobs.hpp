// What the server knows of jobs beyond the core: their drivers, the values of their actions, results that may be asked for, and how
// blocks that were prefetched for them were used.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/ids.hpp"
#include "base/rpc/rpc.hpp"
#include "engine/master/protocol/protocol.hpp"
#include "engine/master/server/binary_store.hpp"
#include "shuffle/prefetch/prefetch_stats.hpp"

namespace weft::master {

/// A client's poll that waits for something to tell.
struct WaitingPoll {
  std::uint64_t id = 0;
  client::Poll poll;
  std::shared_ptr<rpc::Responder> responder;
  std::unique_ptr<rpc::Timer> timer;
};

struct RunningJob {
  client::Submit submit;
  rpc::ConnectionPtr driver;    // null: it is away, or was not started yet
  std::uint64_t key = 0;        // with which a driver attaches; 0: none may
  std::uint64_t block_key = 0;  // with which workers ask each other for its map outputs
  std::map<ActionId, SharedBytes> values;
  std::uint64_t value_bytes = 0;
  std::map<ActionId, Buffer> parts;  // of its plan, encoded; of jobs that another driver may attach to
  /// Until the driver has them; of jobs that another one may attach to, until it has recorded the action's value.
  std::map<ActionId, std::vector<std::vector<Buffer>>> finished;
  std::vector<WaitingPoll> waiting;
  std::uint32_t slots = 0;            // of the cluster, as its driver heard
  std::unique_ptr<rpc::Timer> alone;  // how long it may yet be without a driver
  bool had_program = false;           // when a part of its plan came: workers may have it, also when the master lost it since
};
using RunningJobs = std::map<JobId, RunningJob>;
/// That the jobs need.
std::set<ProgramId> programs_of(const RunningJobs& jobs);

struct JournaledJob;
struct ResumedJob;
/// As the master before has recorded it; nobody is connected. Takes what the driver said from `resumed`.
RunningJob running_job(const JournaledJob& job, ResumedJob& resumed);

/// What workers report of prefetched blocks, by job: a later report of a worker replaces the earlier one.
class PrefetchReports {
 public:
  void add(JobId job, NodeId node, const shuffle::PrefetchStats& bytes) { jobs_[job][node] = bytes; }
  /// Keeps the newest `jobs` jobs, forgets the others.
  void keep(std::size_t jobs) {
    while (jobs_.size() > jobs) jobs_.erase(jobs_.begin());
  }
  /// Of all workers together; nothing of a job that nobody reported.
  shuffle::PrefetchStats of(JobId job) const {
    shuffle::PrefetchStats sum;
    if (const auto found = jobs_.find(job); found != jobs_.end())
      for (const auto& [node, bytes] : found->second) sum += bytes;
    return sum;
  }

 private:
  std::map<JobId, std::map<NodeId, shuffle::PrefetchStats>> jobs_;
};

}  // namespace weft::master
