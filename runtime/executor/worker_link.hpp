// An executor's way to request things of its worker, from task threads: blocking calls on the one socket, and the segments mapped
// so far.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "runtime/executor/segment_cache.hpp"
#include "runtime/protocol/executor.hpp"

namespace weft::runtime {

/// Any thread but the reactor's. Every call is bounded by a deadline.
class WorkerLink {
 public:
  /// `mapped_bytes`: the segments kept mapped for later tasks are no larger together.
  WorkerLink(rpc::Reactor& reactor, rpc::ConnectionPtr connection, std::uint64_t mapped_bytes)
      : reactor_(reactor), connection_(std::move(connection)), mapped_(mapped_bytes, kMappedSegments) {}

  Result<void> commit(const AttemptId& attempt, shuffle::SealedSegment segment);
  /// A part of what an attempt reads of a shuffle.
  Result<shuffle::ReadPart> read(const protocol::ReadRequest& request);

  /// The segments that are kept mapped for the tasks that read them next.
  SegmentCache& mapped() { return mapped_; }

 private:
  static constexpr std::size_t kMappedSegments = 1024;

  rpc::Reactor& reactor_;
  rpc::ConnectionPtr connection_;
  SegmentCache mapped_;
};

}  // namespace weft::runtime
