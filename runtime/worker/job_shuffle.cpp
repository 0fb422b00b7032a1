// The questions of a job's executor about the shuffle.
#include <algorithm>
#include <chrono>

#include <fcntl.h>
#include <fmt/core.h>

#include "runtime/worker/job.hpp"

namespace weft::runtime {
namespace {

/// A worker that died is told to be gone, and where its outputs are, as soon as its connection to the master has ended.
constexpr auto kMovedDeadline = std::chrono::seconds(5);

Fd duplicate(int fd) { return Fd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

/// The answer to a request for segments, given when the last one who collects it lets go.
struct OpenedSegments {
  OpenedSegments(rpc::Responder to, std::size_t count)
      : responder(std::move(to)), outcomes(count, protocol::Opened::remote), descriptors(count) {}
  ~OpenedSegments() {
    rpc::Payload payload = protocol::encode_opened(outcomes);
    for (Fd& descriptor : descriptors)
      if (descriptor.valid()) payload.fds.push_back(std::move(descriptor));
    responder.reply(std::move(payload));
  }
  OpenedSegments(const OpenedSegments&) = delete;
  OpenedSegments& operator=(const OpenedSegments&) = delete;

  void open(std::size_t index, Fd descriptor) {
    outcomes[index] = descriptor.valid() ? protocol::Opened::opened : protocol::Opened::lost;
    descriptors[index] = std::move(descriptor);
  }

  rpc::Responder responder;
  std::vector<protocol::Opened> outcomes;
  std::vector<Fd> descriptors;
};

void answer(rpc::Responder responder, Result<rpc::Payload> payload) {
  if (payload)
    responder.reply(std::move(*payload));
  else
    responder.fail(payload.error());
}

}  // namespace

void WorkerJob::on_request(rpc::Message message, rpc::Responder responder) {
  switch (message.type) {
    case protocol::kCommit:
      return commit(std::move(message), std::move(responder));
    case protocol::kLocate:
      return answer(std::move(responder), locate(message));
    case protocol::kOpenSegments:
      return open_segments(message, std::move(responder));
    case protocol::kFetch:
      return fetch(message, std::move(responder));
    case protocol::kLocateMoved:
      return locate_moved(message, std::move(responder));
    case protocol::kTakePrefetched:
      return take_prefetched(message, std::move(responder));
    default:
      return responder.fail(Error(Code::invalid_argument, fmt::format("unknown request {}", message.type)));
  }
}

void WorkerJob::commit(rpc::Message message, rpc::Responder responder) {
  auto commit = protocol::decode_commit(message);
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

Result<rpc::Payload> WorkerJob::locate(const rpc::Message& message) const {
  WEFT_ASSIGN(const ShuffleId shuffle, protocol::decode_locate(message));
  auto found = tables_.find(shuffle);
  if (found == tables_.end())
    return fail(Code::unavailable, fmt::format("the worker has no table of shuffle {} (released, or never sent)", shuffle.value()));
  return protocol::encode_located(found->second);
}

bool WorkerJob::has_moved(const protocol::MovedWanted& wanted) const {
  const auto table = tables_.find(wanted.shuffle);
  return table != tables_.end() && std::any_of(table->second.begin(), table->second.end(), [&](const shuffle::MapOutput& output) {
           return output.map == wanted.output.map && output.attempt == wanted.output.attempt && output.node != wanted.output.node;
         });
}

void WorkerJob::locate_moved(const rpc::Message& message, rpc::Responder responder) {
  const auto wanted = protocol::decode_moved_wanted(message);
  if (!wanted) return responder.fail(wanted.error());
  if (has_moved(*wanted)) return responder.reply(protocol::encode_located(tables_.at(wanted->shuffle)));
  if (worker_.lost.contains(wanted->output.node)) return responder.fail(Error(Code::unavailable, "the output has no copy"));
  const std::uint64_t number = next_moving_++;
  auto timer = worker_.reactor.after(kMovedDeadline, [weak = weak_from_this(), number] {
    const auto self = weak.lock();
    if (!self) return;
    auto late = self->moving_.extract(number);
    if (!late.empty()) late.mapped().responder.fail(Error(Code::deadline_exceeded, "the output has not moved"));
  });
  moving_.emplace(number, Moving{*wanted, std::move(responder), std::move(timer)});
}

/// Those that wait for an output that has moved, or about which there is no hope.
void WorkerJob::answer_moved(const std::function<bool(const protocol::MovedWanted&)>& hopeless) {
  for (auto at = moving_.begin(); at != moving_.end();) {
    auto& [wanted, responder, timer] = at->second;
    if (has_moved(wanted)) {
      responder.reply(protocol::encode_located(tables_.at(wanted.shuffle)));
    } else if (hopeless(wanted)) {
      responder.fail(Error(Code::unavailable, "the output has no copy"));
    } else {
      ++at;
      continue;
    }
    at = moving_.erase(at);
  }
}

void WorkerJob::open_segments(const rpc::Message& message, rpc::Responder responder) {
  const auto wanted = protocol::decode_segments_wanted(message);
  if (!wanted) return responder.fail(wanted.error());
  if (wanted->maps.size() > protocol::kSegmentsPerRequest)
    return responder.fail(Error(Code::invalid_argument, "too many segments at a time"));
  const auto opened = std::make_shared<OpenedSegments>(std::move(responder), wanted->maps.size());
  std::map<NodeId, std::vector<std::size_t>> elsewhere;
  for (std::size_t i = 0; i < wanted->maps.size(); ++i) {
    const shuffle::MapOutput& map = wanted->maps[i];
    if (map.node != worker_.self) {
      elsewhere[map.node].push_back(i);
    } else if (auto segment = worker_.store->get({setup_.job, wanted->shuffle, map.map, map.attempt})) {
      opened->open(i, duplicate((*segment)->fd()));
    } else {
      opened->outcomes[i] = protocol::Opened::lost;
    }
  }
  for (auto& [id, indexes] : elsewhere) {
    const auto node = worker_.nodes.find(id);
    if (node == worker_.nodes.end()) continue;  // fetching will tell
    std::vector<shuffle::MapAttempt> maps;
    for (std::size_t i : indexes) maps.push_back({wanted->maps[i].map, wanted->maps[i].attempt});
    worker_.data->same_host().open(node->second.address, setup_.job, wanted->shuffle, std::move(maps),
                                   [opened, indexes = std::move(indexes)](Result<std::vector<Fd>> descriptors) {
                                     if (!descriptors) return;
                                     for (std::size_t i = 0; i < indexes.size(); ++i)
                                       opened->open(indexes[i], std::move((*descriptors)[i]));
                                   });
  }
}

void WorkerJob::fetch(const rpc::Message& message, rpc::Responder responder) {
  auto wanted = protocol::decode_blocks_wanted(message);
  if (!wanted) return responder.fail(wanted.error());
  if (wanted->maps.empty()) return responder.fail(Error(Code::invalid_argument, "no blocks were asked for"));
  const NodeId holder = wanted->maps.front().node;
  auto node = worker_.nodes.find(holder);
  if (node == worker_.nodes.end()) {
    const auto lost = worker_.lost.find(holder);
    return responder.fail(
        Error(Code::unavailable, lost != worker_.lost.end() ? lost->second : fmt::format("node {} is not known", holder.value())));
  }

  shuffle::FetchRequest request{node->second.address, setup_.job, wanted->shuffle, wanted->partition, {}};
  for (const shuffle::MapOutput& map : wanted->maps) request.maps.push_back({map.map, map.attempt});
  auto shared = std::make_shared<rpc::Responder>(std::move(responder));
  auto maps = request.maps;
  worker_.data->fetcher().fetch(
      std::move(request), [shared, maps = std::move(maps), name = node->second.name](shuffle::FetchOutcome outcome) {
        protocol::FetchedBlocks fetched;
        rpc::Payload payload;
        if (outcome.blocks) {
          payload = protocol::encode(fetched);
          payload.fds.push_back(std::move(outcome.blocks->fd));
        } else {
          const Code code = outcome.blocks.error().code();
          fetched.failed = true;
          fetched.unreachable = code == Code::unavailable || code == Code::deadline_exceeded;
          fetched.error = fmt::format("cannot fetch from {}: {}", name, outcome.blocks.error().to_string());
          while (outcome.lost && fetched.lost + 1 < maps.size() && maps[fetched.lost] != *outcome.lost) ++fetched.lost;
          payload = protocol::encode(fetched);
        }
        shared->reply(std::move(payload));
      });
}

void WorkerJob::take_prefetched(const rpc::Message& message, rpc::Responder responder) {
  const auto wanted = protocol::decode_prefetched_wanted(message);
  if (!wanted) return responder.fail(wanted.error());
  auto shared = std::make_shared<rpc::Responder>(std::move(responder));
  worker_.data->prefetcher().take(setup_.job, wanted->shuffle, wanted->partition, {wanted->from, protocol::kSegmentsPerRequest},
                                  [shared](shuffle::PrefetchedPart part) {
                                    protocol::PrefetchedSegments segments;
                                    rpc::Payload payload;
                                    for (const shuffle::PrefetchedBlocks& blocks : part.blocks) {
                                      auto& maps = segments.maps.emplace_back();
                                      for (const auto& map : blocks.maps) maps.push_back({map.map, map.attempt});
                                    }
                                    segments.more = part.more;
                                    payload = protocol::encode(segments);
                                    for (shuffle::PrefetchedBlocks& blocks : part.blocks)
                                      payload.fds.push_back(std::move(blocks.blocks));
                                    shared->reply(std::move(payload));
                                  });
}

void WorkerJob::copy(const protocol::CopyOutput& copy) {
  if (ended_) return;
  shuffle::ReplicaRequest request{
      copy.source.address, {copy.job, copy.shuffle, copy.map, copy.attempt}, setup_.shuffle_mode == shuffle::Mode::pull};
  protocol::CopyEnded ended{copy.job, copy.shuffle, copy.map, copy.attempt, {}};
  worker_.data->replicator().replicate(std::move(request),
                                       [&worker = worker_, ended = std::move(ended)](const Result<void>& done) mutable {
                                         if (!done) ended.error = done.error().to_string();
                                         worker.report_copy(ended);
                                       });
}

}  // namespace weft::runtime
