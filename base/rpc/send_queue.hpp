// Frames waiting to be sent, offered to sendmsg as scattered memory. Does no I/O.
#pragma once

#include <array>
#include <deque>
#include <span>

#include <sys/uio.h>

#include "base/rpc/frame.hpp"

namespace weft::rpc {

class SendQueue {
 public:
  /// What one sendmsg should send: many small frames or parts of a large one.
  struct Batch {
    std::span<const iovec> pieces;
    std::span<const Fd> fds;  // to travel with the first byte
  };

  /// The lengths in `head` are filled in from the payload.
  void push(FrameHead head, Payload payload);
  /// Valid until the queue changes.
  Batch batch();
  /// The kernel took `bytes` bytes of the last batch, and its descriptors if any.
  void sent(std::size_t bytes);

  bool empty() const { return items_.empty(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Item {
    FixedPart fixed;
    Payload payload;
    std::size_t size = 0;
  };

  bool append(ByteView piece, std::size_t& skip);
  bool append(const Item& item, std::size_t skip);

  static constexpr std::size_t kMaxPieces = 256;

  std::deque<Item> items_;
  std::size_t front_sent_ = 0;  // of the first item
  std::size_t bytes_ = 0;       // of all items, not yet sent
  std::array<iovec, kMaxPieces> pieces_{};
  std::size_t piece_count_ = 0;
};

std::size_t bulk_size(const Payload& payload);

}  // namespace weft::rpc
