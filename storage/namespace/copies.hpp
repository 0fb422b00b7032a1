// Copies of chunks that were commanded, and replicas that are being read in full. Private to storage/namespace.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "storage/namespace/node_table.hpp"
#include "storage/namespace/types.hpp"

namespace weft::storage {

struct CopyUnderWay {
  NodeId from, to;
  std::uint64_t bytes = 0;
  Time deadline{0};
  bool moves = false;  // the source's replica goes when it is done
};

/// Keeps what nodes send, receive, expect and read up to date.
class Copies {
 public:
  using Key = std::pair<ChunkId, NodeId>;  // the node: the target, or the one that reads

  explicit Copies(NodeTable& nodes) : nodes_(nodes) {}

  /// False when one is on its way there already.
  bool start(const ChunkInfo& chunk, NodeId from, NodeId to, Time deadline, bool moves);
  /// The copy arrived, or is not wanted any more.
  void end(ChunkId chunk, NodeId to);
  /// The copy will not arrive: of one that moves the chunk the move is over.
  void failed(ChunkId chunk, NodeId to);
  const CopyUnderWay* find(ChunkId chunk, NodeId to) const;
  /// Where copies of the chunk are on their way to.
  std::vector<NodeId> targets_of(ChunkId chunk) const;
  /// Whether a copy was ordered there that is under way, or that took so long that it was given up and may arrive yet.
  bool ordered(ChunkId chunk, NodeId to) const { return copies_.contains({chunk, to}) || late_.contains({chunk, to}); }
  const std::map<Key, CopyUnderWay>& all() const { return copies_; }
  std::uint64_t bytes() const { return bytes_; }

  /// No copy of the chunk starts before then.
  void back_off(ChunkId chunk, Time until) { backoff_[chunk] = until; }
  bool backed_off(ChunkId chunk) const { return backoff_.contains(chunk); }
  /// The node from which the chunk was moved: its replica goes first.
  std::optional<NodeId> moved_from(ChunkId chunk) const;
  /// No replica goes for the move any more: one has gone, or none will.
  void moved(ChunkId chunk) { moved_from_.erase(chunk); }
  bool moving() const { return !moved_from_.empty(); }

  /// False when the node was ordered already, or reads enough others.
  bool start_verification(ChunkId chunk, NodeId node, Time deadline);
  void end_verification(ChunkId chunk, NodeId node);

  /// Ends what was not reported in time.
  void expire(Time now);
  /// Ends all copies and verifications of the node, which is still in the table.
  void node_lost(NodeId node);
  void forget(ChunkId chunk);

 private:
  NodeTable& nodes_;
  std::map<Key, CopyUnderWay> copies_;
  std::uint64_t bytes_ = 0;
  std::map<Key, Time> late_;         // given up, and until when they may arrive yet
  std::map<ChunkId, Time> backoff_;  // copies that failed
  std::map<ChunkId, NodeId> moved_from_;
  std::map<Key, Time> verifying_;  // until when an answer is waited for
};

}  // namespace weft::storage
