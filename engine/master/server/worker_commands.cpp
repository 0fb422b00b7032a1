#include "engine/master/server/worker_commands.hpp"

#include <set>
#include <utility>

namespace weft::master {

RegisteredWorker* WorkerCommands::prepared(NodeId id, JobId job_id) {
  RegisteredWorker* const worker = context_.table.find(id);
  const auto job = context_.jobs.find(job_id);
  if (worker == nullptr || job == context_.jobs.end()) return nullptr;
  if (!worker->prepared.insert(job_id).second) return worker;
  const client::Submit& submit = job->second.submit;
  context_.table.send(
      id, protocol::JobSetup{job_id, submit.name, submit.program, submit.arguments, submit.directory, submit.memory_bytes,
                             submit.same_binary, submit.binary, submit.options.demand.cpu > 0 ? submit.options.demand.cpu : 1,
                             submit.options.user, submit.options.shuffle_mode.value_or(shuffle::Mode::memory)});
  context_.table.send_key(id, job_id, job->second.block_key);
  for (const auto& [action, value] : job->second.values) context_.table.send(id, protocol::ActionValue{job_id, action, value});
  return worker;
}

void WorkerCommands::send_value(JobId job, ActionId action, const SharedBytes& value) {
  for (const auto& [id, worker] : context_.table.all())
    if (worker.prepared.contains(job)) context_.table.send(id, protocol::ActionValue{job, action, value});
}

std::vector<protocol::NodeAddress> WorkerCommands::holders_of(const std::vector<shuffle::MapOutput>& outputs) const {
  std::set<NodeId> ids;
  for (const shuffle::MapOutput& output : outputs) ids.insert(output.node);
  std::vector<protocol::NodeAddress> holders;
  for (NodeId id : ids)
    if (auto address = context_.address_of(id)) holders.push_back(std::move(*address));
  return holders;
}

void WorkerCommands::carry_out(LaunchTask& launch) {
  const TaskId& task = launch.attempt.task;
  if (prepared(launch.node, task.job) == nullptr) return;
  release_now(launch.node, task.job, ShuffleId(task.stage.value()));
  context_.table.send(launch.node, protocol::Launch{.attempt = launch.attempt,
                                                    .spec = std::move(launch.spec),
                                                    .timeout = launch.timeout,
                                                    .stage_name = std::move(launch.stage_name),
                                                    .device = launch.device,
                                                    .needs_device = launch.needs_device});
}

void WorkerCommands::carry_out(KillTask& kill) { context_.table.send(kill.node, std::move(kill)); }

void WorkerCommands::carry_out(ShuffleLocations& table) {
  if (prepared(table.node, table.job) == nullptr) return;
  release_now(table.node, table.job, table.shuffle);
  table.holders = holders_of(*table.outputs);
  context_.table.send(table.node, std::move(table));
}

void WorkerCommands::carry_out(ShuffleExtended& more) {
  release_now(more.node, more.job, more.shuffle);
  more.holders = holders_of({more.output});
  context_.table.send(more.node, std::move(more));
}

void WorkerCommands::carry_out(PrefetchShuffle& prefetch) {
  if (prepared(prefetch.node, prefetch.job) == nullptr) return;
  release_now(prefetch.node, prefetch.job, prefetch.shuffle);
  prefetch.holders = holders_of(prefetch.outputs);
  context_.table.send(prefetch.node, std::move(prefetch));
}

void WorkerCommands::carry_out(ReplicateOutput& replicate) {
  const RegisteredWorker* const worker = prepared(replicate.node, replicate.job);
  auto source = context_.address_of(replicate.output.node);
  if (worker == nullptr || !source) return;  // the core is about to know
  release_now(replicate.node, replicate.job, replicate.shuffle);
  replicate.source = std::move(*source);
  context_.table.send(replicate.node, std::move(replicate));
}

/// A worker keeps what it has until the ends of tasks that made it superfluous are on the disk: the next master may know of none of
/// them, and nothing that was acknowledged is to be made again.
void WorkerCommands::carry_out(ReleaseShuffle& release) {
  releases_.emplace(release.node, release.job, release.shuffle);
  context_.recorder.when_durable_or_full([this, release](const Result<void>& kept) {
    if (kept) release_now(release.node, release.job, release.shuffle);
  });
}

/// If it is to be released. No command about the shuffle may overtake that: it may be about one that is made again.
void WorkerCommands::release_now(NodeId node, JobId job, ShuffleId shuffle) {
  if (releases_.erase({node, job, shuffle}) != 0) context_.table.send(node, protocol::ReleaseShuffle{node, job, shuffle});
}

/// So it is with all that it has of a job.
void WorkerCommands::carry_out(ReleaseJob& release) {
  RegisteredWorker* const worker = context_.table.find(release.node);
  if (worker == nullptr || worker->prepared.erase(release.job) == 0) return;
  context_.recorder.when_durable_or_full([this, release](const Result<void>& kept) {
    if (kept) context_.table.send(release.node, release);
  });
}

}  // namespace weft::master
