// Whole map outputs of other workers, copied into this worker's store, so that they outlive the worker that made them.
//
// Copies give way: few are under way, each asks for small pieces one after the other, so a fetch that a task waits for shares the
// network with two of them at most.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/ids.hpp"
#include "base/result.hpp"
#include "base/rpc/rpc.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/link_cap.hpp"

namespace weft::shuffle {

struct ReplicaRequest {
  std::string address;  // "host:port" of the data port of the node that has it
  SegmentKey key;       // there, and here afterwards
  bool to_disk = false;
};
using ReplicaDone = std::function<void(Result<void>)>;

struct ReplicationOptions {
  std::uint32_t in_flight = 2;           // copies at once; more wait in line
  std::uint32_t in_flight_per_node = 1;  // of them from one
  std::uint64_t piece_bytes = 1u << 20;
  std::uint32_t attempts = 4;                                         // in a row without progress
  std::chrono::nanoseconds backoff = std::chrono::milliseconds(100);  // before the second attempt; doubles
  std::chrono::nanoseconds reply_deadline = std::chrono::seconds(10);
  std::shared_ptr<LinkCap> cap{};  // shared with the fetchers of this reactor; null: as fast as it comes
};

/// Reactor thread only (construction and destruction too; after destruction no callback comes).
class SegmentReplicator {
 public:
  /// `chores` is where bytes are written to disk and checked; it and the store outlive this object, and `chores` ends before the
  /// store does.
  SegmentReplicator(rpc::Reactor& reactor, rpc::Reactor& chores, Store& store, ReplicationOptions options = {});
  ~SegmentReplicator();
  SegmentReplicator(const SegmentReplicator&) = delete;
  SegmentReplicator& operator=(const SegmentReplicator&) = delete;

  /// `done` is called at most once, later: when the copy is in the store, every extent of it verified, or with why it is not.
  /// not_found: the node does not have it; unavailable, deadline_exceeded: it cannot be reached; corrupt: its bytes are damaged;
  /// what else the store says.
  void copy(ReplicaRequest request, ReplicaDone done);
  /// Nobody wants these any more, and nobody is told: what is under way does not come into the store, or leaves it at once.
  void drop(JobId job, ShuffleId shuffle);
  void drop(JobId job);
  /// Closes the connection to a node that is gone; copies from it fail at once with this reason.
  void forget(const std::string& address, const Error& why);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace weft::shuffle
