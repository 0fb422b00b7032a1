// The core's commands on their way to workers, and what a worker has to have before it can carry them out.
#pragma once

#include <set>
#include <tuple>
#include <vector>

#include "engine/master/server/worker_context.hpp"

namespace weft::master {

/// Reactor thread only.
class WorkerCommands {
 public:
  explicit WorkerCommands(WorkerContext& context) : context_(context) {}

  /// To all workers that know the job.
  void send_value(JobId job, ActionId action, const SharedBytes& value);

  void carry_out(LaunchTask& launch);
  void carry_out(KillTask& kill);
  void carry_out(ShuffleLocations& table);
  void carry_out(ShuffleExtended& more);
  void carry_out(PrefetchShuffle& prefetch);
  void carry_out(ReplicateOutput& replicate);
  void carry_out(ReleaseShuffle& release);
  void carry_out(ReleaseJob& release);

 private:
  /// The worker, after it was sent what it needs to start executors of the job. Null: the worker is gone, or the job over.
  RegisteredWorker* prepared(NodeId id, JobId job_id);
  std::vector<protocol::NodeAddress> holders_of(const std::vector<shuffle::MapOutput>& outputs) const;
  void release_now(NodeId node, JobId job, ShuffleId shuffle);

  WorkerContext& context_;
  std::set<std::tuple<NodeId, JobId, ShuffleId>> releases_;  // that wait for the journal
};

}  // namespace weft::master
