// An executor's way to ask its worker, from task threads: blocking calls on the one socket, and the segments mapped so far.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "runtime/executor/segment_cache.hpp"
#include "runtime/protocol/executor.hpp"
#include "shuffle/store/store.hpp"

namespace weft::runtime {

/// Any thread but the reactor's. Every call is bounded by a deadline.
class WorkerLink {
 public:
  /// `mapped_bytes`: the segments kept mapped for later tasks are no larger together.
  WorkerLink(rpc::Reactor& reactor, rpc::ConnectionPtr connection, NodeId node, std::uint64_t mapped_bytes)
      : reactor_(reactor), connection_(std::move(connection)), node_(node), mapped_(mapped_bytes, kMappedSegments) {}

  NodeId node() const { return node_; }
  Result<void> commit(const AttemptId& attempt, shuffle::SealedSegment segment);
  /// The table of a finished shuffle, by map.
  Result<std::vector<shuffle::MapOutput>> locate(ShuffleId shuffle);

  struct Blocks {
    std::shared_ptr<const shuffle::Segment> segment;  // "partition" i: the extents of the i-th map asked for; null when one is lost
    std::uint32_t lost = 0;                           // index of that one
    std::string error;
    bool unreachable = false;  // the node is
  };
  /// Blocks of one other node, fetched and verified by the worker.
  Result<Blocks> fetch(const protocol::BlocksWanted& wanted);

  /// Of an output whose node cannot be reached, when it is elsewhere now or is told to be soon: the table that says where.
  Result<std::vector<shuffle::MapOutput>> locate_moved(ShuffleId shuffle, const shuffle::MapOutput& output);

  struct Prefetched {
    std::shared_ptr<const shuffle::Segment> segment;
    std::vector<protocol::MapAttempt> maps;  // whose extents are its "partitions"
  };
  /// What the worker has brought of a partition already.
  Result<std::vector<Prefetched>> take_prefetched(ShuffleId shuffle, std::uint32_t partition);

  struct Mapped {
    std::shared_ptr<const shuffle::Segment> segment;  // null unless opened
    protocol::Opened outcome = protocol::Opened::lost;
  };
  /// Segments of this machine's stores, mapped. Mappings are kept for the next tasks that read them.
  Result<std::vector<Mapped>> segments(ShuffleId shuffle, std::span<const shuffle::MapOutput> maps);
  /// Lets go of a released shuffle's mappings.
  void forget(ShuffleId shuffle) { mapped_.forget(shuffle); }

 private:
  static constexpr std::size_t kMappedSegments = 1024;

  Result<rpc::Message> call(protocol::ExecutorMessage type, rpc::Payload payload, Duration deadline);
  Result<void> open(ShuffleId shuffle, std::span<const shuffle::MapOutput> maps, std::span<const std::size_t> missing,
                    std::vector<Mapped>& out);
  bool is_far(NodeId node);
  void set_far(NodeId node);

  rpc::Reactor& reactor_;
  rpc::ConnectionPtr connection_;
  NodeId node_;
  SegmentCache mapped_;
  std::mutex mutex_;
  std::set<NodeId> far_;  // of other machines, as the worker found
};

}  // namespace weft::runtime
