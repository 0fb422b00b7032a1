#include "runtime/executor/worker_shuffle.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "base/timed.hpp"

namespace weft::runtime {
namespace {

constexpr std::size_t kKnown = 256;               // mapped segments that a request names at most
constexpr std::uint64_t kFetchBytes = 32u << 20;  // wanted size of one fetch at most, and so of what a task holds per node

/// Otherwise this process could not map what may be whole.
bool is_damage(Code code) { return code == Code::corrupt || code == Code::version_mismatch; }

}  // namespace

Result<std::unique_ptr<shuffle::SegmentWriter>> WorkerShuffle::create_segment(std::uint32_t partitions) {
  return segment_.bytes == 0 ? shuffle::SegmentWriter::on_disk(segment_.directory, partitions)
                             : shuffle::SegmentWriter::in_memory(partitions, segment_);
}

Result<void> WorkerShuffle::store(shuffle::SealedSegment segment) {
  times_.write += segment.write_time;
  return timed(times_.write, [&] { return worker_.commit(attempt_, std::move(segment)); });
}

Result<void> WorkerShuffle::visit_blocks(ShuffleId shuffle, shuffle::PartitionRange partitions, shuffle::MapRange maps,
                                         const shuffle::BlockVisitor& visit) {
  if (partitions.first >= partitions.end) return {};
  protocol::ReadRequest request{.attempt = attempt_,
                                .read = reads_++,
                                .part = 0,
                                .shuffle = shuffle,
                                .partitions = partitions,
                                .maps = maps,
                                .fetch_bytes = std::min(kFetchBytes, memory_bytes_ / 4)};
  Pendings pending;  // of one partition
  std::uint32_t from_map = maps.first;
  while (true) {
    if (stop_.load(std::memory_order_relaxed)) return fail(Code::cancelled, "the task was asked to stop");
    WEFT_ASSIGN(const shuffle::ReadPart part, timed(times_.read, [&] { return next_part(request, from_map, pending); }));
    times_.read -= part.waited;
    while (!pending.empty() && pending.begin()->first < part.next_map) {
      if (stop_.load(std::memory_order_relaxed)) return fail(Code::cancelled, "the task was asked to stop");
      const auto map = pending.extract(pending.begin());
      WEFT_TRY(visit_map(shuffle, part.partition, map.mapped(), visit));
    }
    if (part.lost) return lost(shuffle, part.lost->output, part.lost->why);
    if (part.end) return {};
    const bool whole = part.next_map == shuffle::kNoMap;
    if (whole) pending.clear();
    from_map = whole ? maps.first : part.next_map;
    ++request.part;
  }
}

Result<shuffle::ReadPart> WorkerShuffle::next_part(protocol::ReadRequest& request, std::uint32_t from_map, Pendings& pending) {
  using Kind = shuffle::BlockSource::Kind;
  // Held until the part is here: what the request names as mapped must stay mapped.
  const auto mapped = worker_.mapped().from(request.shuffle, from_map, kKnown);
  request.known.clear();
  for (const auto& [key, segment] : mapped) request.known.push_back({key.map, key.attempt});
  WEFT_ASSIGN(shuffle::ReadPart part, worker_.read(request));
  auto descriptor = part.descriptors.begin();
  for (const shuffle::BlockSource& source : part.sources) {
    const shuffle::MapOutput& first = source.maps.front();
    if (source.kind == Kind::known) {
      SegmentPtr segment = worker_.mapped().find({request.shuffle, first.map, first.attempt});
      const auto held = std::find_if(mapped.begin(), mapped.end(), [&](const auto& entry) {
        return entry.first.map == first.map && entry.first.attempt == first.attempt;
      });
      if (!segment && held != mapped.end()) segment = held->second;
      if (!segment) return fail(Code::corrupt, "the worker named a mapped segment that the request did not name");
      WEFT_TRY(take_source(request.shuffle, source, from_map, std::move(segment), pending));
      continue;
    }
    auto segment = shuffle::Segment::map(std::move(*descriptor++));
    if (segment) {
      WEFT_TRY(take_source(request.shuffle, source, from_map, *std::move(segment), pending));
    } else if (source.kind == Kind::segment && is_damage(segment.error().code())) {  // as good as lost
      part.lost = shuffle::LostOutput{first, segment.error().to_string()};
      part.next_map = std::min(part.next_map, first.map);
      return part;
    } else {
      return fail(std::move(segment).error());
    }
  }
  return part;
}

/// Maps before `from_map` were read: their records would count twice.
Result<void> WorkerShuffle::take_source(ShuffleId shuffle, const shuffle::BlockSource& source, std::uint32_t from_map,
                                        SegmentPtr blocks, Pendings& pending) {
  using Kind = shuffle::BlockSource::Kind;
  const bool whole = source.kind == Kind::segment || source.kind == Kind::known;
  if (!whole && blocks->partitions() != source.maps.size())
    return fail(Code::corrupt, "the blocks that the worker brought do not fit the maps that it named");
  for (std::uint32_t i = 0; i < source.maps.size(); ++i)
    if (source.maps[i].map != shuffle::kNoMap && source.maps[i].map >= from_map)
      pending[source.maps[i].map] = {source.maps[i], source.kind, blocks, i};
  const shuffle::MapOutput& first = source.maps.front();
  if (source.kind == Kind::segment) worker_.mapped().keep({shuffle, first.map, first.attempt}, std::move(blocks));
  return {};
}

Result<void> WorkerShuffle::visit_map(ShuffleId shuffle, std::uint32_t partition, const Pending& map,
                                      const shuffle::BlockVisitor& visit) {
  using Kind = shuffle::BlockSource::Kind;
  if (map.kind == Kind::prefetched || map.kind == Kind::fetched) {
    const std::uint64_t cost = map.kind == Kind::fetched ? map.blocks->size() : 0;
    for (const shuffle::Extent& extent : map.blocks->extents(map.position))
      WEFT_TRY(visit({map.blocks->bytes(extent), extent.records, map.blocks, cost}));
    return {};
  }
  if (partition >= map.blocks->partitions())
    return fail(Code::internal, fmt::format("shuffle {} has {} partitions, partition {} was requested", shuffle.value(),
                                            map.blocks->partitions(), partition));
  return shuffle::visit_extents(map.blocks, partition, visit,
                                [&](const Error& why) { return lost(shuffle, map.output, why.to_string()); });
}

tl::unexpected<Error> WorkerShuffle::lost(ShuffleId shuffle, const shuffle::MapOutput& map, std::string why) {
  failure_ = shuffle::FetchFailure{shuffle, map.map, map.attempt, map.node};
  return fail(Error(Code::unavailable, std::move(why))
                  .wrap(fmt::format("the output of map {} (attempt {}) of shuffle {} on node {} is lost", map.map, map.attempt,
                                    shuffle.value(), map.node.value())));
}

}  // namespace weft::runtime
