// Where the blocks of one fetch are received: the extents of replies go from the socket to their place in a segment and are checked
// on the way, while they are in the cache. Private to the transfer of blocks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/rpc/rpc.hpp"
#include "shuffle/segment/segment.hpp"
#include "shuffle/segment/segment_format.hpp"
#include "shuffle/transfer/shared_pages.hpp"

namespace weft::shuffle {

/// The sink of one request after the other; what failed is requested again and overwritten. One thread.
class ReceiveBuffer final : public rpc::BulkSink {
 public:
  /// Index into the request's maps, and extents of that map that are there.
  using Position = std::pair<std::uint32_t, std::uint32_t>;

  /// `owner`: for whom, as the pool has it.
  ReceiveBuffer(std::uint32_t maps, std::shared_ptr<SharedPool> pool, std::uint64_t owner = 0);

  /// Behind the last good extent; when one is damaged or lost, within its map.
  Position position() const { return position_; }
  /// What followed the header of the last reply.
  std::uint64_t reply_bytes() const { return reply_bytes_; }

  void begin(ByteView header, std::uint64_t bytes) override;
  MutableBytes room(std::uint64_t left) override;
  void filled(std::size_t bytes) override;

  /// After a reply and all its bulk: true when all maps are there, position() is where to go on when not. not_found: the map at
  /// position() is lost; corrupt: the reply is damaged there.
  Result<bool> arrived(ByteView header);
  /// All that was received, as a segment for the holders of its descriptor. The last call, once.
  Result<SealedSegment> seal();

 private:
  /// An extent as the reply's header has it.
  struct Announced {
    std::uint32_t map = 0;
    std::uint32_t records = 0;
    std::uint64_t raw = 0;     // bytes
    std::uint64_t stored = 0;  // bytes as they were sent
    std::uint32_t crc32c = 0;
    bool compressed = false;
  };

  Result<void> announce(ByteView header);
  void prepare();
  Result<void> prepare(const Announced& extent);
  Result<void> check(const Announced& extent);
  Result<void> begin_run();
  Result<void> reserve(std::uint64_t end);
  Result<std::uint32_t> decompress(const Announced& extent);
  void finish(const Announced& extent, Result<std::uint32_t> crc);

  const std::shared_ptr<SharedPool> pool_;
  const std::uint64_t owner_;
  std::optional<SharedPages> pages_;
  std::uint64_t end_ = sizeof(format::Header);  // of what was received for good
  std::vector<format::IndexEntry> index_;
  std::vector<PartitionSize> sizes_;
  Position position_{};

  // Of the reply that comes.
  bool begun_ = false;
  std::uint64_t reply_bytes_ = 0;
  std::optional<Error> error_;  // what comes behind it is dropped
  std::vector<Announced> announced_;
  bool complete_ = false;
  Position next_{};
  std::uint64_t left_ = 0;  // bytes of the bulk, from the current extent on
  std::size_t at_ = 0;      // the current extent
  std::uint64_t done_ = 0;  // bytes of it
  std::uint32_t crc_ = 0;   // of them
  Buffer scratch_;          // a compressed extent
  /// Where the bytes that come next belong, all of it reserved: what is left of a run (uncompressed extents that follow each other)
  /// in the pages, or of a compressed extent in the scratch buffer. Empty between them. Nothing else is ever written by a peer.
  MutableBytes room_;
};

}  // namespace weft::shuffle
