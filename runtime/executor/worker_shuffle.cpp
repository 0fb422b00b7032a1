#include "runtime/executor/worker_shuffle.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/core.h>

namespace weft::runtime {
namespace {

constexpr std::size_t kWindow = 256;              // maps whose local segments are opened together
constexpr std::uint32_t kMostMoves = 3;           // of an output while it is read: then the task fails, and is tried again
constexpr std::uint64_t kFetchBytes = 32u << 20;  // wanted size of one fetch at most, and so of what a task holds per node

/// What `work` gives; its time is added to `sum`.
template <class Work>
auto timed(Duration& sum, Work&& work) {
  const auto began = std::chrono::steady_clock::now();
  auto given = work();
  sum += std::chrono::steady_clock::now() - began;
  return given;
}

/// Another writer, whose time is added to `sum`.
class TimedWriter final : public shuffle::SegmentWriter {
 public:
  TimedWriter(std::unique_ptr<SegmentWriter> writer, Duration& sum) : writer_(std::move(writer)), sum_(sum) {}

  std::size_t good_extent() const override { return writer_->good_extent(); }
  MutableBytes room(std::uint32_t partition, std::size_t bytes) override { return writer_->room(partition, bytes); }
  Result<void> append(std::uint32_t partition, ByteView bytes, std::uint32_t records) override {
    return timed(sum_, [&] { return writer_->append(partition, bytes, records); });
  }
  Result<shuffle::SealedSegment> seal() override {
    return timed(sum_, [&] { return writer_->seal(); });
  }
  std::uint64_t bytes() const override { return writer_->bytes(); }

 private:
  const std::unique_ptr<SegmentWriter> writer_;
  Duration& sum_;
};

}  // namespace

struct WorkerShuffle::Remote {
  std::shared_ptr<const shuffle::Segment> blocks;
  std::vector<shuffle::MapOutput> maps;  // its "partitions"
  std::uint32_t next = 0;                // of these to visit

  /// Outputs come in order, but one that has moved may come before those that were fetched already.
  bool has_next(const shuffle::MapOutput& map) const {
    return next < maps.size() && maps[next].map == map.map && maps[next].attempt == map.attempt;
  }
};

Result<std::unique_ptr<shuffle::SegmentWriter>> WorkerShuffle::create_segment(std::uint32_t partitions) {
  WEFT_ASSIGN(auto writer, segment_.bytes == 0 ? shuffle::SegmentWriter::on_disk(segment_.directory, partitions)
                                               : shuffle::SegmentWriter::in_memory(partitions, segment_));
  return std::make_unique<TimedWriter>(std::move(writer), times_.write);
}

Result<void> WorkerShuffle::commit(shuffle::SealedSegment segment) {
  committed_ = segment.partitions;
  return timed(times_.write, [&] { return worker_.commit(attempt_, std::move(segment)); });
}

Result<void> WorkerShuffle::read(ShuffleId shuffle, std::uint32_t partition, shuffle::MapRange maps,
                                 const shuffle::BlockVisitor& visit) {
  WEFT_ASSIGN(const std::vector<shuffle::MapOutput> all, timed(times_.read, [&] { return worker_.locate(shuffle); }));
  const Window outputs = shuffle::in_range(all, maps);
  maps_per_fetch_ = 1;  // the blocks of another shuffle have other sizes
  took_brought_ = false;
  brought_.clear();
  for (std::size_t from = 0; from < outputs.size(); from += kWindow)
    WEFT_TRY(read_window(shuffle, partition, outputs.subspan(from, std::min(kWindow, outputs.size() - from)), visit));
  return {};
}

Result<void> WorkerShuffle::read_window(ShuffleId shuffle, std::uint32_t partition, Window window,
                                        const shuffle::BlockVisitor& visit) {
  WEFT_ASSIGN(const std::vector<WorkerLink::Mapped> mapped, timed(times_.read, [&] { return worker_.segments(shuffle, window); }));
  std::vector<shuffle::MapOutput> now(window.begin(), window.end());
  Remotes remotes;
  for (std::size_t i = 0; i < window.size(); ++i) {
    if (stop_.load(std::memory_order_relaxed)) return fail(Code::cancelled, "the task was asked to stop");
    if (mapped[i].outcome == protocol::Opened::remote)
      WEFT_TRY(read_remote(shuffle, partition, {window.subspan(i), std::span(now).subspan(i)}, remotes, visit));
    else
      WEFT_TRY(read_local(shuffle, partition, window[i], mapped[i].segment, visit));
  }
  return {};
}

Result<void> WorkerShuffle::read_local(ShuffleId shuffle, std::uint32_t partition, const shuffle::MapOutput& map,
                                       const std::shared_ptr<const shuffle::Segment>& segment, const shuffle::BlockVisitor& visit) {
  if (!segment) return lost(shuffle, map, "the store that had it has it no more");
  if (partition >= segment->partitions())
    return fail(Code::internal, fmt::format("shuffle {} has {} partitions, partition {} was asked for", shuffle.value(),
                                            segment->partitions(), partition));
  return shuffle::visit_extents(segment, partition, visit, [&](const Error& why) { return lost(shuffle, map, why.to_string()); });
}

bool WorkerShuffle::follow(ShuffleId shuffle, Rest rest) {
  const shuffle::MapOutput gone = rest.now.front();
  const NodeId began = rest.began.front().node;
  const auto table = timed(times_.read, [&] { return worker_.locate_moved(shuffle, gone); });
  if (!table) return false;
  for (std::size_t i = 0; i < rest.now.size(); ++i) {
    shuffle::MapOutput& output = rest.now[i];
    if (output.node != gone.node || rest.began[i].node != began) continue;
    const auto found = std::find_if(table->begin(), table->end(), [&](const shuffle::MapOutput& other) {
      return other.map == output.map && other.attempt == output.attempt;
    });
    if (found != table->end()) output.node = found->node;
  }
  return rest.now.front().node != gone.node;
}

Result<void> WorkerShuffle::refill(ShuffleId shuffle, std::uint32_t partition, Rest rest, Remote& remote, bool may_follow) {
  const shuffle::MapOutput first = rest.now.front();
  const NodeId began = rest.began.front().node;
  remote = {};
  protocol::BlocksWanted wanted{shuffle, partition, {}};
  for (std::size_t i = 0; i < rest.now.size() && wanted.maps.size() < maps_per_fetch_; ++i) {
    const shuffle::MapOutput& map = rest.now[i];
    if (map.node == first.node && rest.began[i].node == began && !brought_.contains({map.map, map.attempt}))
      wanted.maps.push_back(map);
  }
  auto blocks = timed(times_.read, [&] { return worker_.fetch(wanted); });
  const bool unreachable = !blocks || blocks->unreachable;
  if (unreachable && may_follow && follow(shuffle, rest)) return {};
  if (!blocks) return lost(shuffle, first, blocks.error().to_string());
  if (!blocks->segment) {
    const std::size_t index = std::min<std::size_t>(blocks->lost, wanted.maps.size() - 1);
    return lost(shuffle, wanted.maps[index], std::move(blocks->error));
  }
  const std::uint64_t bytes_per_map = blocks->segment->size() / wanted.maps.size() + 1;
  const std::uint64_t wanted_bytes = std::min(kFetchBytes, memory_bytes_ / 4);
  maps_per_fetch_ = std::clamp<std::size_t>(wanted_bytes / bytes_per_map, 1, std::min(2 * maps_per_fetch_, kWindow));
  remote.blocks = std::move(blocks->segment);
  remote.maps = std::move(wanted.maps);
  return {};
}

Result<void> WorkerShuffle::read_remote(ShuffleId shuffle, std::uint32_t partition, Rest rest, Remotes& remotes,
                                        const shuffle::BlockVisitor& visit) {
  if (const auto here = brought(shuffle, partition, rest.began.front())) {
    for (const shuffle::Extent& extent : here->blocks->extents(here->position))
      WEFT_TRY(visit({here->blocks->bytes(extent), extent.records, here->blocks, 0}));
    return {};
  }
  for (std::uint32_t moves = 0;; ++moves) {
    Remote& remote = remotes[{rest.began.front().node, rest.now.front().node}];
    if (remote.has_next(rest.now.front())) {
      for (const shuffle::Extent& extent : remote.blocks->extents(remote.next))
        WEFT_TRY(visit({remote.blocks->bytes(extent), extent.records, remote.blocks, remote.blocks->size()}));
      ++remote.next;
      return {};
    }
    WEFT_TRY(refill(shuffle, partition, rest, remote, moves < kMostMoves));
  }
}

std::optional<WorkerShuffle::Brought> WorkerShuffle::brought(ShuffleId shuffle, std::uint32_t partition,
                                                             const shuffle::MapOutput& map) {
  if (!std::exchange(took_brought_, true)) {
    // Without an answer nothing was brought: what is asked for next will tell what is wrong.
    if (const auto all = timed(times_.read, [&] { return worker_.take_prefetched(shuffle, partition); })) {
      for (const WorkerLink::Prefetched& prefetched : *all) {
        for (std::uint32_t i = 0; i < prefetched.maps.size(); ++i)
          brought_[{prefetched.maps[i].map, prefetched.maps[i].attempt}] = {prefetched.segment, i};
      }
    }
  }
  const auto found = brought_.extract({map.map, map.attempt});
  if (found.empty()) return std::nullopt;
  return std::move(found.mapped());
}

Result<void> WorkerShuffle::lost(ShuffleId shuffle, const shuffle::MapOutput& map, std::string why) {
  failure_ = shuffle::FetchFailure{shuffle, map.map, map.attempt, map.node};
  return fail(Error(Code::unavailable, std::move(why))
                  .wrap(fmt::format("the output of map {} (attempt {}) of shuffle {} on node {} is lost", map.map, map.attempt,
                                    shuffle.value(), map.node.value())));
}

}  // namespace weft::runtime
