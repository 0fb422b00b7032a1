#include "base/rpc/send_queue.hpp"

#include "base/assert.hpp"

namespace weft::rpc {

std::size_t bulk_size(const Payload& payload) {
  std::size_t size = 0;
  for (const auto& piece : payload.bulk) size += piece.bytes.size();
  return size;
}

void SendQueue::push(FrameHead head, Payload payload) {
  head.header_length = static_cast<std::uint32_t>(payload.header.size());
  head.bulk_length = bulk_size(payload);
  head.fd_count = static_cast<std::uint16_t>(payload.fds.size());
  Item item{encode_head(head, payload.header.view()), std::move(payload), 0};
  item.size = kFixedSize + head.header_length + head.bulk_length;
  bytes_ += item.size;
  items_.push_back(std::move(item));
}

SendQueue::Batch SendQueue::batch() {
  piece_count_ = 0;
  std::size_t skip = front_sent_;
  for (const auto& item : items_) {
    const bool first = &item == &items_.front();
    if (!first && !item.payload.fds.empty()) break;  // descriptors go with the first byte of a sendmsg
    if (!append(item, skip)) break;
    skip = 0;
  }
  Batch batch{{pieces_.data(), piece_count_}, {}};
  if (!items_.empty() && front_sent_ == 0) batch.fds = items_.front().payload.fds;
  return batch;
}

/// False when there is no more room.
bool SendQueue::append(const Item& item, std::size_t skip) {
  if (!append(ByteView(item.fixed), skip) || !append(item.payload.header.view(), skip)) return false;
  for (const auto& piece : item.payload.bulk) {
    if (!append(piece.bytes, skip)) return false;
  }
  return true;
}

bool SendQueue::append(ByteView piece, std::size_t& skip) {
  if (skip >= piece.size()) {
    skip -= piece.size();
    return true;
  }
  if (piece_count_ == kMaxPieces) return false;
  const auto rest = piece.subspan(std::exchange(skip, 0));
  pieces_[piece_count_++] = {const_cast<std::byte*>(rest.data()), rest.size()};  // sendmsg only reads
  return true;
}

void SendQueue::sent(std::size_t bytes) {
  WEFT_ASSERT(bytes <= bytes_);
  bytes_ -= bytes;
  front_sent_ += bytes;
  while (!items_.empty() && front_sent_ >= items_.front().size) {
    front_sent_ -= items_.front().size;
    items_.pop_front();
  }
}

}  // namespace weft::rpc
