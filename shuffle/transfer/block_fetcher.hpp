// Fetches blocks of one partition from other workers' stores, and verifies each extent after decompression.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/segment/segment.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/pull_queue.hpp"

namespace weft::shuffle {

/// One partition of some map outputs that are all on one node.
struct FetchRequest {
  std::string address;  // "host:port" of the node's data port
  JobId job;
  ShuffleId shuffle;
  std::uint32_t partition = 0;
  std::vector<MapAttempt> maps;
};

/// `blocks` is itself a segment in a memfd that readers cannot write (pass the descriptor on, or Segment::open() it): its
/// "partition" i holds the extents of request.maps[i], in order, already verified. Its bytes stay while anybody, in whatever
/// process, has the descriptor or a copy of it open or mapped; then the memory is recycled. On failure `lost` is the first map
/// output that could not be had.
struct FetchOutcome {
  Result<SealedSegment> blocks;
  std::optional<MapAttempt> lost;
};
using FetchDone = std::function<void(FetchOutcome)>;

struct FetchOptions {
  PullOptions pull{};
  std::uint64_t reply_bytes = 4u << 20;      // what one reply should hold; bounds the time the reactor is busy
  std::uint64_t recycled_bytes = 64u << 20;  // memory kept to receive into, until nothing was fetched for 1 s
  bool accept_lz4 = true;
  /// Whose a job is, as a number: memory that was received into for one owner is not used for another. Empty: all are the same's.
  std::function<std::uint64_t(JobId)> owner{};
};

class SharedPool;

/// Reactor thread only (construction and destruction too; after destruction no callback comes).
class BlockFetcher {
 public:
  explicit BlockFetcher(rpc::Reactor& reactor, FetchOptions options = {});
  ~BlockFetcher();
  BlockFetcher(const BlockFetcher&) = delete;
  BlockFetcher& operator=(const BlockFetcher&) = delete;

  /// `done` is called exactly once, later, on the reactor's thread. not_found: the node does not have `lost`; unavailable,
  /// deadline_exceeded: it cannot be reached; corrupt: its bytes are damaged.
  void fetch(FetchRequest request, FetchDone done);
  /// Closes the connection to a node that is gone; its fetches fail at once with this reason instead of retrying.
  void forget(const std::string& address, const Error& why) { queue_.forget(address, why); }

 private:
  rpc::Reactor& reactor_;
  const FetchOptions options_;
  const std::shared_ptr<SharedPool> pool_;
  std::unique_ptr<rpc::Timer> idle_;
  PullQueue queue_;
};

}  // namespace weft::shuffle
