// Where a whole segment of another worker is received, reply by reply: in memory when the store has room for it, else in a file.
// Private to the replication of segments.
#pragma once

#include <cstdint>
#include <optional>

#include "base/rpc/rpc.hpp"
#include "shuffle/segment/segment.hpp"
#include "shuffle/store/store.hpp"
#include "shuffle/transfer/shared_pages.hpp"

namespace weft::shuffle {

/// The sink of one request after the other, each for what follows position(). One thread at a time.
class SegmentReceiver final : public rpc::BulkSink {
 public:
  /// `job`: of the segment. `to_disk`: in a file even where there is memory for it. The store outlives it.
  SegmentReceiver(Store& store, JobId job, bool to_disk) : store_(store), job_(job), to_disk_(to_disk) {}

  /// Bytes that are there for good.
  std::uint64_t position() const { return position_; }

  /// A reply comes, to a request for what follows position().
  void expect();
  /// The bytes that came with it.
  std::uint64_t reply_bytes() const { return got_; }
  void begin(ByteView header, std::uint64_t bytes) override;
  MutableBytes room(std::uint64_t left) override;
  void filled(std::size_t bytes) override;

  /// After a reply and all its bulk: true when the segment is whole. not_found: the peer does not have it; corrupt: the reply makes
  /// no sense. What was wasted is overwritten by the next reply.
  Result<bool> arrived(ByteView header);
  /// What arrived last is to be written to the file before the next reply comes: it may take time.
  bool must_write() const { return file_.valid() && got_ != 0; }
  Result<void> write();
  /// The whole segment, each extent of it verified (takes time). Once, last. Its room in the store is kept until this object is
  /// gone.
  Result<SealedSegment> seal();

 private:
  Result<void> announce(ByteView header, std::uint64_t bytes);
  Result<void> make_room();

  Store& store_;
  const JobId job_;
  const bool to_disk_;
  SegmentRoom room_;
  std::optional<SharedPages> pages_;  // in memory, or
  Fd file_;                           // in this file
  Buffer piece_;                      // and the last reply, on its way to it
  std::uint64_t size_ = 0;            // of the segment; 0: not known yet
  std::uint64_t position_ = 0;
  // Of the reply that comes.
  bool begun_ = false;
  std::uint64_t got_ = 0;
  MutableBytes left_;  // where the rest of it belongs, in the pages or in the piece
  std::optional<Error> error_;
};

}  // namespace weft::shuffle
