#include "shuffle/transfer/segment_receiver.hpp"

#include <cerrno>
#include <string>
#include <utility>

#include <unistd.h>

#include "base/assert.hpp"
#include "base/rpc/capnp.hpp"
#include "base/unlinked_file.hpp"
#include "shuffle/transfer/transfer.capnp.h"

namespace weft::shuffle {
namespace {

constexpr std::uint64_t kLargestReceivedPiece = 8u << 20;          // servers send smaller ones
constexpr std::uint64_t kLargestSegment = std::uint64_t{1} << 50;  // a longer one is a lie

tl::unexpected<Error> damaged_piece(std::string what) { return fail(Code::corrupt, "damaged piece of a map output: " + what); }

}  // namespace

void SegmentReceiver::expect() {
  begun_ = false;
  got_ = 0;
  left_ = {};
}

void SegmentReceiver::begin(ByteView header, std::uint64_t bytes) {
  expect();
  begun_ = true;
  error_.reset();
  if (auto read = announce(header, bytes); !read) error_ = std::move(read).error();
}

Result<void> SegmentReceiver::announce(ByteView header, std::uint64_t bytes) {
  return rpc::read_message<SegmentPiece>(header, "a piece of a map output", [&](SegmentPiece::Reader piece) -> Result<void> {
    if (piece.getLost()) return fail(Code::not_found, std::string(rpc::text_view(piece.getReason())));
    const std::uint64_t size = piece.getSize();
    if (size_ != 0 && size != size_) return damaged_piece("it has another size than before");
    if (size <= position_ || size > kLargestSegment) return damaged_piece("impossible size");
    if (bytes == 0 || bytes > kLargestReceivedPiece || bytes > size - position_) return damaged_piece("impossible number of bytes");
    size_ = size;
    if (!pages_ && !file_.valid()) WEFT_TRY(make_room());
    if (file_.valid() && piece_.size() < bytes) piece_ = Buffer(bytes);
    left_ = file_.valid() ? piece_.span().first(bytes) : pages_->span(position_, bytes);
    return {};
  });
}

Result<void> SegmentReceiver::make_room() {
  if (!to_disk_) room_ = store_.reserve_exactly(job_, size_);
  if (room_.bytes() == 0) {
    WEFT_ASSIGN(file_, unlinked_file(store_.directory()));
    return {};
  }
  WEFT_ASSIGN(pages_, SharedPages::make());
  return pages_->grow(size_);
}

MutableBytes SegmentReceiver::room(std::uint64_t) { return error_ ? MutableBytes() : left_; }

void SegmentReceiver::filled(std::size_t bytes) {
  WEFT_ASSERT(bytes <= left_.size());
  left_ = left_.subspan(bytes);
  got_ += bytes;
}

Result<bool> SegmentReceiver::arrived(ByteView header) {
  if (!begun_) begin(header, 0);
  if (error_) {
    got_ = 0;
    return fail(*error_);
  }
  position_ += got_;
  return position_ == size_;
}

Result<void> SegmentReceiver::write() {
  const std::uint64_t from = position_ - got_;
  for (std::uint64_t done = 0; done < got_;) {
    const ssize_t written = ::pwrite(file_.get(), piece_.data() + done, got_ - done, static_cast<off_t>(from + done));
    if (written < 0 && errno != EINTR)
      return fail(errno_error("writing a replica of a map output to " + store_.directory(), errno));
    if (written > 0) done += static_cast<std::uint64_t>(written);
  }
  got_ = 0;
  return {};
}

Result<SealedSegment> SegmentReceiver::seal() {
  if (pages_) {
    SharedPages pages = *std::exchange(pages_, std::nullopt);
    WEFT_ASSIGN(file_, std::move(pages).seal());
  }
  WEFT_ASSIGN(std::shared_ptr<const Segment> segment, Segment::open(std::move(file_)));
  for (std::uint32_t partition = 0; partition < segment->partitions(); ++partition) {
    for (const Extent& extent : segment->extents(partition)) {
      WEFT_TRY(verified(*segment, extent));
      if (segment->home() == SegmentHome::file) segment->forget(extent);
    }
  }
  return SealedSegment{Fd(), size_, {}, std::move(segment)};
}

}  // namespace weft::shuffle
