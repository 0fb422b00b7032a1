#include "runtime/executor/worker_link.hpp"

#include <algorithm>
#include <chrono>

namespace weft::runtime {
namespace {

using namespace std::chrono_literals;
constexpr auto kLocalDeadline = 60s;   // answers out of the worker's memory
constexpr auto kFetchDeadline = 180s;  // the worker's own deadlines towards the other node are shorter

}  // namespace

Result<rpc::Message> WorkerLink::call(protocol::ExecutorMessage type, rpc::Payload payload, Duration deadline) {
  return rpc::call(reactor_, connection_, type, std::move(payload), deadline);
}

Result<void> WorkerLink::commit(const AttemptId& attempt, shuffle::SealedSegment segment) {
  rpc::Payload payload = protocol::encode(protocol::Commit{attempt, segment.size, std::move(segment.partitions)});
  payload.fds.push_back(std::move(segment.fd));
  WEFT_TRY(call(protocol::kCommit, std::move(payload), kLocalDeadline));
  return {};
}

Result<std::vector<shuffle::MapOutput>> WorkerLink::locate(ShuffleId shuffle) {
  WEFT_ASSIGN(rpc::Message answer, call(protocol::kLocate, protocol::encode_locate(shuffle), kLocalDeadline));
  return protocol::decode_located(answer);
}

Result<WorkerLink::Blocks> WorkerLink::fetch(const protocol::BlocksWanted& wanted) {
  WEFT_ASSIGN(rpc::Message answer, call(protocol::kFetch, protocol::encode(wanted), kFetchDeadline));
  WEFT_ASSIGN(protocol::FetchedBlocks fetched, protocol::decode_fetched(answer));
  if (fetched.failed) return Blocks{nullptr, fetched.lost, std::move(fetched.error), fetched.unreachable};
  if (answer.fds.size() != 1) return fail(Code::corrupt, "the worker's answer lacks the fetched blocks");
  WEFT_ASSIGN(auto segment, shuffle::Segment::open(std::move(answer.fds.front())));
  if (segment->partitions() != wanted.maps.size()) return fail(Code::corrupt, "the worker fetched other blocks than asked for");
  return Blocks{std::move(segment), 0, {}};
}

Result<std::vector<shuffle::MapOutput>> WorkerLink::locate_moved(ShuffleId shuffle, const shuffle::MapOutput& output) {
  WEFT_ASSIGN(rpc::Message answer,
              call(protocol::kLocateMoved, protocol::encode(protocol::MovedWanted{shuffle, output}), kLocalDeadline));
  return protocol::decode_located(answer);
}

Result<std::vector<WorkerLink::Prefetched>> WorkerLink::take_prefetched(ShuffleId shuffle, std::uint32_t partition) {
  std::vector<Prefetched> all;
  for (bool more = true; more;) {
    const protocol::PrefetchedWanted wanted{shuffle, partition, static_cast<std::uint32_t>(all.size())};
    WEFT_ASSIGN(rpc::Message answer, call(protocol::kTakePrefetched, protocol::encode(wanted), kFetchDeadline));
    WEFT_ASSIGN(protocol::PrefetchedSegments segments, protocol::decode_prefetched(answer));
    if (segments.maps.size() != answer.fds.size() || (segments.more && segments.maps.empty()))
      return fail(Code::corrupt, "the worker's answer does not fit its prefetched blocks");
    for (std::size_t i = 0; i < answer.fds.size(); ++i) {
      WEFT_ASSIGN(auto segment, shuffle::Segment::open(std::move(answer.fds[i])));
      if (segment->partitions() != segments.maps[i].size()) return fail(Code::corrupt, "prefetched blocks are of other maps");
      all.push_back({std::move(segment), std::move(segments.maps[i])});
    }
    more = segments.more;
  }
  return all;
}

bool WorkerLink::is_far(NodeId node) {
  const std::lock_guard lock(mutex_);
  return far_.contains(node);
}

void WorkerLink::set_far(NodeId node) {
  const std::lock_guard lock(mutex_);
  far_.insert(node);
}

Result<void> WorkerLink::open(ShuffleId shuffle, std::span<const shuffle::MapOutput> maps, std::span<const std::size_t> missing,
                              std::vector<Mapped>& out) {
  protocol::SegmentsWanted wanted{shuffle, {}};
  for (std::size_t index : missing) wanted.maps.push_back(maps[index]);
  WEFT_ASSIGN(rpc::Message answer, call(protocol::kOpenSegments, protocol::encode(wanted), kLocalDeadline));
  WEFT_ASSIGN(const std::vector<protocol::Opened> outcomes, protocol::decode_opened(answer));
  const auto descriptors = static_cast<std::size_t>(std::count(outcomes.begin(), outcomes.end(), protocol::Opened::opened));
  if (outcomes.size() != missing.size() || descriptors != answer.fds.size())
    return fail(Code::corrupt, "the worker's answer does not fit the segments asked for");
  auto next = answer.fds.begin();
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const shuffle::MapOutput& map = maps[missing[i]];
    Mapped& mapped = out[missing[i]];
    mapped.outcome = outcomes[i];
    if (mapped.outcome == protocol::Opened::remote) set_far(map.node);
    if (mapped.outcome != protocol::Opened::opened) continue;
    auto segment = shuffle::Segment::open(std::move(*next++));
    if (segment) {
      mapped.segment = *segment;
      mapped_.keep({shuffle, map.map, map.attempt}, std::move(*segment));
    } else {
      mapped.outcome = protocol::Opened::lost;  // a segment that cannot be read is as good as lost
    }
  }
  return {};
}

Result<std::vector<WorkerLink::Mapped>> WorkerLink::segments(ShuffleId shuffle, std::span<const shuffle::MapOutput> maps) {
  std::vector<Mapped> out(maps.size());
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < maps.size(); ++i) {
    if (is_far(maps[i].node)) {
      out[i].outcome = protocol::Opened::remote;
    } else if (auto segment = mapped_.find({shuffle, maps[i].map, maps[i].attempt})) {
      out[i] = {std::move(segment), protocol::Opened::opened};
    } else {
      missing.push_back(i);
    }
  }
  for (std::size_t from = 0; from < missing.size(); from += protocol::kSegmentsPerRequest) {
    const std::size_t count = std::min(protocol::kSegmentsPerRequest, missing.size() - from);
    WEFT_TRY(open(shuffle, maps, std::span(missing).subspan(from, count), out));
  }
  return out;
}

}  // namespace weft::runtime
