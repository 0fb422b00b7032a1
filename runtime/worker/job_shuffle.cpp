// What a job's executor requests of the shuffle.
#include <algorithm>

#include <fmt/core.h>

#include "base/rpc/descriptors.hpp"
#include "runtime/worker/job.hpp"

namespace weft::runtime {

void WorkerJob::on_request(rpc::Message message, rpc::Responder responder) {
  switch (message.type) {
    case protocol::kCommit:
      return commit(std::move(message), std::move(responder));
    case protocol::kRead:
      return read(message, std::move(responder));
    default:
      return responder.fail(Error(Code::invalid_argument, fmt::format("unknown request {}", message.type)));
  }
}

void WorkerJob::commit(rpc::Message message, rpc::Responder responder) {
  auto commit = protocol::decode<protocol::Commit>(message);
  if (!commit) return responder.fail(commit.error());
  if (message.fds.size() != 1 || commit->attempt.task.job != setup_.job || ended_)
    return responder.fail(Error(Code::invalid_argument, "a commit carries one descriptor, of a segment of its own running job"));
  const TaskId& task = commit->attempt.task;
  const shuffle::SegmentKey key{task.job, ShuffleId(task.stage.value()), task.index, commit->attempt.attempt};
  auto put = [store = worker_.store, key,
              segment = std::make_shared<shuffle::SealedSegment>(
                  shuffle::SealedSegment{std::move(message.fds.front()), commit->size, std::move(commit->partitions), {}})] {
    return store->put(key, std::move(*segment));
  };
  if (!worker_.store->prefers_disk()) {
    auto done = put();
    return done ? responder.reply({}) : responder.fail(done.error());
  }
  // Short of memory: putting one segment may mean writing others to disk.
  worker_.background.post(
      [put, &reactor = worker_.reactor, shared = std::make_shared<rpc::Responder>(std::move(responder))]() mutable {
        auto done = put();
        reactor.post([done, shared = std::move(shared)] { done ? shared->reply({}) : shared->fail(done.error()); });
      });
}

void WorkerJob::read(const rpc::Message& message, rpc::Responder responder) {
  const auto request = protocol::decode<protocol::ReadRequest>(message);
  if (!request) return responder.fail(request.error());
  const auto reader = reader_of(*request);
  if (!reader) return responder.fail(Error(Code::invalid_argument, "a part of a read that is not under way"));
  auto shared = std::make_shared<rpc::Responder>(std::move(responder));
  reader->next(request->known,
               [self = weak_from_this(), key = std::pair(request->attempt, request->read), shared](Result<shuffle::ReadPart> part) {
                 const auto job = self.lock();
                 if (job && part)
                   if (const auto running = job->running_.find(key.first); running != job->running_.end())
                     running->second.waited += part->waited;
                 if (job && (!part || part->end || part->lost)) job->readers_.erase(key);
                 part ? shared->reply(protocol::encode_part(std::move(*part))) : shared->fail(part.error());
               });
  if (const auto running = running_.find(request->attempt); running != running_.end() && running->second.stopped)
    reader->interrupt();
}

/// Null when the read is not under way. The first request begins it.
std::shared_ptr<shuffle::PartitionReader> WorkerJob::reader_of(const protocol::ReadRequest& request) {
  const auto found = readers_.find({request.attempt, request.read});
  if (found != readers_.end()) return request.part == 0 ? nullptr : found->second;
  if (request.part != 0 || !running_.contains(request.attempt)) return nullptr;
  DataPlane& data = *worker_.data;
  const shuffle::ReadSources sources{worker_.reactor, *worker_.store,  data.same_host(), data.prefetcher(),
                                     data.fetcher(),  worker_.outputs, tables_};
  auto reader = std::make_shared<shuffle::PartitionReader>(sources, wanted_of(request));
  return readers_[{request.attempt, request.read}] = std::move(reader);
}

shuffle::PartitionRead WorkerJob::wanted_of(const protocol::ReadRequest& request) const {
  shuffle::PartitionRead wanted{setup_.job, request.shuffle, request.partitions, request.maps, request.fetch_bytes};
  const auto running = running_.find(request.attempt);
  const auto table = tables_.find(request.shuffle);
  const bool complete = table != tables_.end() && table->second.maps == 0;  // otherwise it will be more
  if (running != running_.end() && complete)
    if (const auto bytes = running->second.input_bytes.find(request.shuffle); bytes != running->second.input_bytes.end())
      wanted.bytes = bytes->second;
  // All tasks of a job together have an eighth of what the worker, and the executor, may open on its way to them.
  const std::uint32_t slots = std::max<std::uint32_t>(task_slots(), 1);
  wanted.descriptors = std::clamp<std::size_t>(rpc::descriptor_limit() / 8 / slots, 2, shuffle::kDescriptorsPerPart);
  return wanted;
}

void WorkerJob::replicate(const protocol::ReplicateOutput& command) {
  if (ended_) return;
  shuffle::ReplicaRequest request{command.source.address,
                                  {command.job, command.shuffle, command.output.map, command.output.attempt},
                                  setup_.shuffle_mode == shuffle::Mode::pull};
  protocol::ReplicaEnded ended{{command.node, command.job, command.shuffle, command.output.map, command.output.attempt}, {}};
  worker_.data->replicator().replicate(std::move(request),
                                       [&worker = worker_, ended = std::move(ended)](const Result<void>& done) mutable {
                                         if (!done) ended.error = done.error().to_string();
                                         worker.report_replica(ended);
                                       });
}

}  // namespace weft::runtime
