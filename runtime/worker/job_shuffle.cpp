#include "runtime/worker/job_shuffle.hpp"

#include <algorithm>
#include <thread>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/rpc/descriptors.hpp"
#include "base/unlinked_file.hpp"

namespace weft::runtime {
namespace {

Error was_stopped() { return Error(Code::cancelled, "the task was asked to stop"); }

/// Of the file system that it is on, which is not asked.
std::optional<dev_t> disk_of(int fd) {
  struct statx info {};
  if (::statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &info) != 0) return std::nullopt;
  return ::makedev(info.stx_dev_major, info.stx_dev_minor);
}

}  // namespace

void JobShuffle::set_locations(const protocol::ShuffleLocations& locations) {
  shuffle::KnownOutputs& table = tables_[locations.shuffle];
  table = {*locations.outputs, locations.maps, *locations.written, {}};
  if (table.maps == 0) table.make_index();
  locations_changed();
}

void JobShuffle::extend(const protocol::ShuffleExtended& more) {
  const auto table = tables_.find(more.shuffle);
  if (table == tables_.end()) return;
  table->second.put(more.output, more.written);
  locations_changed();
}

void JobShuffle::forget(NodeId node) {
  for (auto& [shuffle, table] : tables_)
    if (table.maps > 0) table.forget(node);
}

void JobShuffle::stop_waiting(const AttemptId& attempt) {
  const auto running = running_.find(attempt);
  if (running == running_.end()) return;
  running->second.stopped = true;
  for (auto at = readers_.lower_bound({attempt, 0}); at != readers_.end() && at->first.first == attempt;)
    std::shared_ptr(at++->second)->interrupt();
  for (const auto& waiting : std::exchange(running->second.waits_for, {}))
    if (const AnswerPtr answer = waiting.lock()) answer->give(fail(was_stopped()));
  drop_readers(attempt);
}

void JobShuffle::drop_readers(const AttemptId& attempt) {
  std::erase_if(readers_, [&](const auto& reader) { return reader.first.first == attempt; });
}

Duration JobShuffle::waited(const AttemptId& attempt) const {
  const auto running = running_.find(attempt);
  Duration sum = running == running_.end() ? Duration(0) : running->second.waited;
  for (auto at = readers_.lower_bound({attempt, 0}); at != readers_.end() && at->first.first == attempt; ++at)
    sum += at->second->waited();
  return sum;
}

void JobShuffle::locations_changed() {
  std::vector<std::shared_ptr<shuffle::PartitionReader>> readers;  // they may end
  for (const auto& [key, reader] : readers_) readers.push_back(reader);
  for (const auto& reader : readers) reader->locations_changed();
}

void JobShuffle::prefetch(const protocol::PrefetchShuffle& prefetch) {
  if (ended_) return;
  std::vector<shuffle::RemoteOutput> outputs;
  for (const shuffle::MapOutput& output : prefetch.outputs) {
    const auto node = worker_.outputs.nodes.find(output.node);
    if (output.node == worker_.outputs.self || node == worker_.outputs.nodes.end()) continue;
    const std::string& rack = worker_.data->links().rack_of(node->second.address);
    outputs.push_back({node->second.address, {output.map, output.attempt}, !rack.empty() && rack != worker_.racks->rack()});
  }
  if (prefetch.far) worker_.data->prefetcher().limit_far(*prefetch.far);
  if (prefetch.deferred) worker_.data->prefetcher().defer(job_, prefetch.shuffle, *prefetch.deferred);
  if (prefetch.partitions) worker_.data->prefetcher().expect(job_, prefetch.shuffle, *prefetch.partitions);
  worker_.data->prefetcher().offer(job_, prefetch.shuffle, outputs, prefetch.block_bytes, prefetch.complete);
}

void JobShuffle::release(ShuffleId shuffle) {
  worker_.data->prefetcher().drop(job_, shuffle);
  worker_.data->replicator().drop(job_, shuffle);
  tables_.erase(shuffle);
}

void JobShuffle::end_job() {
  ended_ = true;
  readers_.clear();
  worker_.data->prefetcher().drop(job_);
  worker_.data->replicator().drop(job_);
}

void JobShuffle::begin(protocol::Launch& launch) {
  Running& running = running_[launch.attempt];
  if (mode_ == shuffle::Mode::memory) running.room = worker_.store->reserve(job_, ShuffleId(launch.attempt.task.stage.value()));
  launch.segment_memory = running.room.bytes();
  running.partition = launch.spec.partition;
  for (const shuffle::InputSlice& input : launch.spec.inputs) running.inputs[input.shuffle] = input.bytes;
}

/// What was prefetched of a partition is given up with the last attempt that reads it: if that failed, the next one runs on another
/// node.
void JobShuffle::end(const AttemptId& attempt) {
  drop_readers(attempt);
  const auto found = running_.extract(attempt);
  if (found.empty()) return;
  const Running& gone = found.mapped();
  for (const auto& [input, bytes] : gone.inputs) {
    const bool read_still = std::any_of(running_.begin(), running_.end(), [&, input = input](const auto& other) {
      return other.second.partition == gone.partition && other.second.inputs.contains(input);
    });
    if (!read_still) worker_.data->prefetcher().drop(job_, input, gone.partition);
  }
}

void JobShuffle::on_request(rpc::Message message, rpc::Responder responder) {
  switch (message.type) {
    case protocol::kCommit:
      return commit(std::move(message), std::move(responder));
    case protocol::kRead:
      return read(message, std::move(responder));
    default:
      return responder.fail(
          Error(Code::invalid_argument,
                fmt::format("the worker is of a release that does not know request {} of its executor: upgrade the worker",
                            message.type)));
  }
}

void JobShuffle::Answer::give(Result<rpc::Payload> answer) {
  if (given()) return;
  rpc::Responder responder = *std::exchange(responder_, std::nullopt);
  answer ? responder.reply(std::move(*answer)) : responder.fail(answer.error());
}

JobShuffle::AnswerPtr JobShuffle::answer_to(const AttemptId& attempt, rpc::Responder responder) {
  auto answer = std::make_shared<Answer>(std::move(responder));
  const auto running = running_.find(attempt);
  if (running == running_.end()) return answer;
  if (running->second.stopped) {
    answer->give(fail(was_stopped()));
    return nullptr;
  }
  auto& waits_for = running->second.waits_for;
  std::erase_if(waits_for, [](const auto& earlier) { return earlier.expired(); });
  waits_for.push_back(answer);
  return answer;
}

void JobShuffle::commit(rpc::Message message, rpc::Responder responder) {
  auto commit = protocol::decode<protocol::Commit>(message);
  if (!commit) return responder.fail(commit.error());
  if (message.fds.size() != 1 || commit->attempt.task.job != job_ || ended_)
    return responder.fail(Error(Code::invalid_argument, "a commit carries one descriptor, of a segment of its own running job"));
  if (!is_at_hand(message.fds.front().get())) {
    // To close a file may mean to wait for its file system, too.
    std::thread([fd = std::move(message.fds.front())] {}).detach();
    return responder.fail(Error(Code::invalid_argument, "a segment is in sealed memory, or in a file in the worker's directory"));
  }
  AnswerPtr answer = answer_to(commit->attempt, std::move(responder));
  if (!answer) return;
  const TaskId& task = commit->attempt.task;
  const shuffle::SegmentKey key{task.job, ShuffleId(task.stage.value()), task.index, commit->attempt.attempt};
  auto put = [store = worker_.store, key,
              segment = std::make_shared<shuffle::SealedSegment>(
                  shuffle::SealedSegment{std::move(message.fds.front()), commit->size, std::move(commit->partitions), {}})] {
    return store->put(key, std::move(*segment));
  };
  const auto committed = [](const Result<void>& done) { return done.map([] { return rpc::Payload(); }); };
  if (!worker_.store->prefers_disk()) return answer->give(committed(put()));
  // Short of memory: putting one segment may mean writing others to disk. The attempt may be stopped meanwhile, or the job end.
  auto job_ended = [this, alive = std::weak_ptr(alive_)] { return alive.expired() || ended_; };
  // It waited for too long, say: nobody will ask for the segment.
  auto attempt_ended = [this, attempt = commit->attempt, known = running_.contains(commit->attempt)] {
    return known && !running_.contains(attempt);
  };
  worker_.background.post([put, committed, job_ended, attempt_ended, key, &reactor = worker_.reactor, store = worker_.store,
                           answer = std::move(answer)]() mutable {
    const Result<void> done = put();
    reactor.post([done, committed, job_ended, attempt_ended, key, store, answer = std::move(answer)] {
      const bool ended = job_ended();  // then what it had here may have been dropped before this came
      if (done && (ended || attempt_ended() || answer->given())) store->release(key);
      answer->give(committed(done && ended ? Result<void>(fail(Code::cancelled, "the job has ended")) : done));
    });
  });
}

bool JobShuffle::is_at_hand(int segment) {
  if (shuffle::is_sealed_memory(segment)) return true;
  if (disks_.empty())
    for (const std::string& directory : {worker_.store->directory(), worker_.job_directory(job_)})
      if (const auto file = unlinked_file(directory))
        if (const auto disk = disk_of(file->get())) disks_.push_back(*disk);
  const auto disk = disk_of(segment);
  return disk && std::find(disks_.begin(), disks_.end(), *disk) != disks_.end();
}

void JobShuffle::read(const rpc::Message& message, rpc::Responder responder) {
  const auto request = protocol::decode<protocol::ReadRequest>(message);
  if (!request) return responder.fail(request.error());
  const AnswerPtr answer = answer_to(request->attempt, std::move(responder));
  if (!answer) return;
  const auto reader = reader_of(*request);
  if (!reader || reader->makes_part())
    return answer->give(fail(Code::invalid_argument, "a part of a read that is not to come now"));
  const ReadKey key(request->attempt, request->read);
  reader->next(request->known, [this, alive = std::weak_ptr(alive_), key, answer](Result<shuffle::ReadPart> part) {
    if (!alive.expired()) part_read(key, part);
    answer->give(std::move(part).map([](shuffle::ReadPart&& read) { return protocol::encode_part(std::move(read)); }));
  });
}

void JobShuffle::part_read(const ReadKey& key, const Result<shuffle::ReadPart>& part) {
  if (const auto running = running_.find(key.first); part && running != running_.end()) running->second.waited += part->waited;
  if (!part || part->end || part->lost) readers_.erase(key);
}

JobShuffle::ReaderPtr JobShuffle::reader_of(const protocol::ReadRequest& request) {
  const auto found = readers_.find({request.attempt, request.read});
  if (found != readers_.end()) return request.part == 0 ? nullptr : found->second;
  if (request.part != 0 || !running_.contains(request.attempt)) return nullptr;
  DataPlane& data = *worker_.data;
  const shuffle::ReadSources sources{worker_.reactor, *worker_.store,  data.same_host(), data.prefetcher(),
                                     data.fetcher(),  worker_.outputs, tables_};
  auto reader = std::make_shared<shuffle::PartitionReader>(sources, wanted_of(request));
  return readers_[{request.attempt, request.read}] = std::move(reader);
}

shuffle::PartitionRead JobShuffle::wanted_of(const protocol::ReadRequest& request) const {
  shuffle::PartitionRead wanted{job_, request.shuffle, request.partitions, request.maps, request.fetch_bytes};
  const auto running = running_.find(request.attempt);
  const auto table = tables_.find(request.shuffle);
  const bool complete = table != tables_.end() && table->second.maps == 0;  // otherwise it will be more
  if (running != running_.end() && complete)
    if (const auto bytes = running->second.inputs.find(request.shuffle); bytes != running->second.inputs.end())
      wanted.bytes = bytes->second;
  // All tasks of a job together have an eighth of what the worker, and the executor, may open on its way to them.
  const std::uint32_t slots = std::max<std::uint32_t>(task_slots_, 1);
  wanted.descriptors = std::clamp<std::size_t>(rpc::descriptor_limit() / 8 / slots, 2, shuffle::kDescriptorsPerPart);
  return wanted;
}

void JobShuffle::replicate(const protocol::ReplicateOutput& command) {
  if (ended_) return;
  shuffle::ReplicaRequest request{command.source.address,
                                  {command.job, command.shuffle, command.output.map, command.output.attempt},
                                  mode_ == shuffle::Mode::pull};
  protocol::ReplicaEnded ended{{command.node, command.job, command.shuffle, command.output.map, command.output.attempt}, {}};
  if (worker_.store->get(request.key)) return worker_.report_replica(ended);
  worker_.data->replicator().replicate(std::move(request),
                                       [&worker = worker_, ended = std::move(ended)](const Result<void>& done) mutable {
                                         const bool there = done || done.error().code() == Code::already_exists;
                                         if (!there) ended.error = done.error().to_string();
                                         worker.report_replica(ended);
                                       });
}

}  // namespace weft::runtime
