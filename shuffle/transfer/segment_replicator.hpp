// Replicas of whole map outputs of other workers in this worker's store, so that they outlive the worker that made them.
//
// Replication gives way: few are under way, each requests small pieces one after the other, so a fetch that a task waits for shares
// the network with two of them at most.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/pull_queue.hpp"

namespace weft::shuffle {

struct ReplicaRequest {
  std::string address;  // "host:port" of the data port of the node that has it
  SegmentKey key;       // there, and here afterwards
  bool to_disk = false;
};
using ReplicaDone = std::function<void(Result<void>)>;

struct ReplicationOptions {
  PullOptions pull{.in_flight = 2, .in_flight_per_node = 1, .backoff = std::chrono::milliseconds(100)};
  std::uint64_t piece_bytes = 1u << 20;
};

/// Reactor thread only (construction and destruction too; after destruction no callback comes).
class SegmentReplicator {
 public:
  /// `background` is where bytes are written to disk and checked; it and the store outlive this object, and `background` ends
  /// before the store does.
  SegmentReplicator(rpc::Reactor& reactor, rpc::Reactor& background, Store& store, ReplicationOptions options = {});

  /// `done` is called at most once, later: when the replica is in the store, every extent of it verified, or with why it is not.
  /// not_found: the node does not have it; unavailable, deadline_exceeded: it cannot be reached; corrupt: its bytes are damaged;
  /// or an error of the store.
  void replicate(ReplicaRequest request, ReplicaDone done);
  /// Ends these replications; their `done` is not called. What is under way does not come into the store, or leaves it at once.
  void drop(JobId job, ShuffleId shuffle);
  void drop(JobId job);
  /// Closes the connection to a node that is gone; replications from it fail at once with this reason.
  void forget(const std::string& address, const Error& why) { queue_.forget(address, why); }

 private:
  Store& store_;
  const ReplicationOptions options_;
  PullQueue queue_;
};

}  // namespace weft::shuffle
