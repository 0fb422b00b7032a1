// An executor's way to ask its worker, from task threads: blocking calls on the one socket, and the segments mapped so far.
#pragma once

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "runtime/protocol/executor.hpp"
#include "shuffle/store.hpp"

namespace weft::runtime {

/// Any thread but the reactor's. Every call is bounded by a deadline.
class WorkerLink {
 public:
  WorkerLink(rpc::Reactor& reactor, rpc::ConnectionPtr connection, NodeId node)
      : reactor_(reactor), connection_(std::move(connection)), node_(node) {}

  NodeId node() const { return node_; }
  Result<void> commit(const AttemptId& attempt, shuffle::SealedSegment segment);
  /// The table of a finished shuffle, by map.
  Result<std::vector<shuffle::MapOutput>> locate(ShuffleId shuffle);

  struct Blocks {
    std::shared_ptr<const shuffle::Segment> segment;  // "partition" i: the extents of the i-th map asked for; null when one is lost
    std::uint32_t lost = 0;                           // index of that one
    std::string error;
  };
  /// Blocks of one other node, fetched and verified by the worker.
  Result<Blocks> fetch(const protocol::BlocksWanted& wanted);

  /// Segments of this node's store, mapped; null where the store has none. Mappings are kept for the next tasks that read them.
  Result<std::vector<std::shared_ptr<const shuffle::Segment>>> segments(ShuffleId shuffle,
                                                                        std::span<const shuffle::MapOutput> maps);
  /// Lets go of a released shuffle's mappings.
  void forget(ShuffleId shuffle);

 private:
  struct Key {
    ShuffleId shuffle;
    std::uint32_t map = 0, attempt = 0;
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  struct Entry {
    std::shared_ptr<const shuffle::Segment> segment;
    std::list<Key>::iterator age;
  };
  std::shared_ptr<const shuffle::Segment> cached(const Key& key);
  void keep(const Key& key, std::shared_ptr<const shuffle::Segment> segment);
  Result<rpc::Message> call(protocol::ExecutorMessage type, rpc::Payload payload, Duration deadline);
  Result<void> open(ShuffleId shuffle, std::span<const shuffle::MapOutput> maps, std::span<const std::size_t> missing,
                    std::vector<std::shared_ptr<const shuffle::Segment>>& out);

  rpc::Reactor& reactor_;
  rpc::ConnectionPtr connection_;
  NodeId node_;
  std::mutex mutex_;  // guards the two below
  std::map<Key, Entry> mapped_;
  std::list<Key> by_age_;  // oldest use first
};

}  // namespace weft::runtime
