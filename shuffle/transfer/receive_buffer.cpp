#include "shuffle/transfer/receive_buffer.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include <lz4.h>

#include "base/assert.hpp"
#include "base/crc32c.hpp"
#include "base/rpc/capnp.hpp"
#include "shuffle/transfer/transfer.capnp.h"

namespace weft::shuffle {
namespace {

constexpr std::uint64_t kLargestReceived = 1u << 30;
constexpr std::size_t kMostReceived = 64u << 10;     // of a reply; servers send fewer
constexpr std::uint64_t kPiece = 256u << 10;         // still in the cache when it is checked
constexpr std::uint64_t kWorthKeeping = 256u << 10;  // less is as fast afresh
// Recycled pages may be larger than what is wanted now: by a quarter when that is all, this many times when more will come.
constexpr std::uint64_t kMore = 8;

tl::unexpected<Error> damaged_reply(std::string what) {
  return fail(Code::corrupt, "damaged reply to a request for map output: " + what);
}

}  // namespace

ReceiveBuffer::ReceiveBuffer(std::uint32_t maps, std::shared_ptr<SharedPool> pool, std::uint64_t owner)
    : pool_(std::move(pool)), owner_(owner), sizes_(maps) {}

void ReceiveBuffer::begin(ByteView header, std::uint64_t bytes) {
  begun_ = true;
  error_.reset();
  announced_.clear();
  complete_ = false;
  left_ = reply_bytes_ = bytes;
  at_ = 0;
  done_ = 0;
  crc_ = 0;
  room_ = {};
  if (auto read = announce(header); !read) error_ = std::move(read).error();
  prepare();
}

Result<void> ReceiveBuffer::announce(ByteView header) {
  return rpc::read_message<Blocks>(header, "a reply to a request for map output", [&](Blocks::Reader blocks) -> Result<void> {
    if (blocks.getLost()) {
      if (blocks.getLostMap() < position_.first || blocks.getLostMap() >= sizes_.size()) return damaged_reply("unknown map");
      position_ = {blocks.getLostMap(), 0};
      return fail(Code::not_found, std::string(rpc::text_view(blocks.getReason())));
    }
    const auto extents = blocks.getExtents();
    if (extents.size() > kMostReceived) return damaged_reply("too many extents");
    for (const auto extent : extents)
      announced_.push_back({extent.getMap(), extent.getRecords(), extent.getRawLength(), extent.getStoredLength(),
                            extent.getCrc32c(), extent.getCompressed()});
    complete_ = blocks.getComplete();
    next_ = {blocks.getNextMap(), blocks.getNextExtent()};
    return {};
  });
}

MutableBytes ReceiveBuffer::room(std::uint64_t) {
  if (error_) return {};
  return room_.first(std::min<std::size_t>(room_.size(), kPiece));
}

void ReceiveBuffer::filled(std::size_t bytes) {
  WEFT_ASSERT(bytes <= room_.size());
  while (bytes != 0 && !error_) {
    const Announced& extent = announced_[at_];
    const std::size_t step = std::min<std::uint64_t>(bytes, extent.stored - done_);
    if (!extent.compressed) crc_ = crc32c(room_.first(step), crc_);
    room_ = room_.subspan(step);  // before prepare(): where it is empty then, a run has ended
    done_ += step;
    bytes -= step;
    if (done_ != extent.stored) return;
    finish(extent, extent.compressed ? decompress(extent) : crc_);
    prepare();
  }
}

/// The current extent is whole, with that checksum.
void ReceiveBuffer::finish(const Announced& extent, Result<std::uint32_t> crc) {
  if (crc && *crc != extent.crc32c) crc = damaged_reply("checksum mismatch");
  if (!crc) {
    error_ = std::move(crc).error();
    return;
  }
  if (extent.raw != 0 || extent.records != 0) index_.push_back({extent.map, extent.records, end_, extent.raw, extent.crc32c, 0});
  sizes_[extent.map].bytes += extent.raw;
  sizes_[extent.map].records += extent.records;
  end_ += extent.raw;
  ++position_.second;
  left_ -= extent.stored;
  ++at_;
  done_ = 0;
  crc_ = 0;
}

/// Goes on to the next extent that has bytes, and makes room for it.
void ReceiveBuffer::prepare() {
  while (!error_ && at_ != announced_.size()) {
    const Announced& extent = announced_[at_];
    if (auto ready = prepare(extent); !ready) {
      error_ = std::move(ready).error();
    } else if (extent.stored != 0) {
      return;
    } else {
      finish(extent, extent.compressed ? decompress(extent) : Result<std::uint32_t>(0));
    }
  }
}

Result<void> ReceiveBuffer::prepare(const Announced& extent) {
  WEFT_TRY(check(extent));
  if (extent.stored == 0) return {};
  if (!extent.compressed) return room_.empty() ? begin_run() : Result<void>();
  if (scratch_.size() < extent.stored) scratch_ = Buffer(extent.stored);
  room_ = scratch_.span().first(extent.stored);
  return {};
}

Result<void> ReceiveBuffer::check(const Announced& extent) {
  if (extent.map < position_.first || extent.map >= sizes_.size()) return damaged_reply("unknown map");
  if (extent.map != position_.first) position_ = {extent.map, 0};  // from here on it is this map's fault
  if (extent.stored > left_) return damaged_reply("extents are longer than the bytes that came");
  if (!extent.compressed && extent.raw != extent.stored) return damaged_reply("two lengths of one extent");
  // LZ4 cannot do better than 255 to 1, so a length beyond that is a lie and not worth its memory.
  if (extent.raw > kLargestReceived || (extent.compressed && extent.raw / 255 > extent.stored + 16))
    return damaged_reply("impossible length");
  return {};
}

Result<void> ReceiveBuffer::begin_run() {
  std::uint64_t run = 0;
  for (std::size_t i = at_; i < announced_.size() && !announced_[i].compressed && run < left_; ++i)
    run += std::min(announced_[i].stored, left_);
  run = std::min(run, left_);
  WEFT_TRY(reserve(end_ + run));
  room_ = pages_->span(end_, run);
  return {};
}

/// Pages up to there, and for the index of what was announced.
Result<void> ReceiveBuffer::reserve(std::uint64_t end) {
  const std::uint64_t wanted =
      end + (index_.size() + announced_.size() - at_) * sizeof(format::IndexEntry) + sizeof(format::Footer);
  if (pages_) return pages_->grow(wanted);
  WEFT_ASSIGN(pages_, pool_->take(wanted, complete_ ? wanted + wanted / 4 : wanted * kMore, owner_));
  return {};
}

/// The checksum of the bytes that the current extent became.
Result<std::uint32_t> ReceiveBuffer::decompress(const Announced& extent) {
  WEFT_TRY(reserve(end_ + extent.raw));
  const MutableBytes to = pages_->span(end_, extent.raw);
  const int size = LZ4_decompress_safe(reinterpret_cast<const char*>(scratch_.data()), reinterpret_cast<char*>(to.data()),
                                       static_cast<int>(extent.stored), static_cast<int>(to.size()));
  if (size < 0 || static_cast<std::uint64_t>(size) != to.size()) return damaged_reply("compressed bytes are no LZ4");
  return crc32c(to);
}

Result<bool> ReceiveBuffer::arrived(ByteView header) {
  if (!begun_) begin(header, 0);
  begun_ = false;
  if (error_) return fail(*error_);
  if (left_ != 0) return damaged_reply("bytes without an extent");
  if (complete_) return true;
  if (next_ < position_ || next_.first >= sizes_.size() || announced_.empty()) return damaged_reply("it leads nowhere");
  position_ = next_;
  return false;
}

Result<SealedSegment> ReceiveBuffer::seal() {
  announced_.clear();
  at_ = 0;
  WEFT_TRY(reserve(end_));
  const format::Header header{.partitions = static_cast<std::uint32_t>(sizes_.size())};
  const ByteView index = std::as_bytes(std::span(index_));
  const std::uint64_t index_at = pages_->size() - sizeof(format::Footer) - index.size();
  const auto footer = format::footer_of(header, index_at, index);
  std::memcpy(pages_->span(0, sizeof header).data(), &header, sizeof header);
  std::ranges::copy(index, pages_->span(index_at, index.size()).begin());
  std::memcpy(pages_->span(index_at + index.size(), sizeof footer).data(), &footer, sizeof footer);
  SealedSegment sealed{Fd(), pages_->size(), std::move(sizes_), {}};
  SharedPages pages = *std::exchange(pages_, std::nullopt);
  if (pages.size() >= kWorthKeeping) sealed.fd = pages.reader();
  if (sealed.fd.valid()) {
    pool_->keep(std::move(pages), owner_);
  } else {
    WEFT_ASSIGN(sealed.fd, std::move(pages).seal());
  }
  return sealed;
}

}  // namespace weft::shuffle
